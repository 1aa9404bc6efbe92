"""From a set of code points to a small automaton over UTF-8 bytes.

The ranges are cut where the number of bytes or a continuation byte changes (the method of Thompson's and Cox's RE2
and of the crate `utf8-ranges`), put into a trie keyed by byte range, and equal subtrees are shared.
"""

from __future__ import annotations

from functools import lru_cache

from .charset import Charset

__all__ = ["Fragment", "trim_fragment", "utf8_fragment"]

Fragment = tuple[int, tuple[tuple[int, int, int, int], ...]]
"""(number of states, edges (from, low byte, high byte, to)); state 0 starts and has no edge into it, state 1 ends
and has no edge out of it. ``low > high`` marks an epsilon edge."""


@lru_cache(maxsize=4096)
def trim_fragment(fragment: Fragment) -> tuple[Fragment, bool]:
    """The fragment without edges that lead nowhere (none left: it matches nothing), and whether it may be empty.

    >>> trim_fragment((4, ((0, 97, 97, 2), (0, 98, 98, 3), (2, 1, 0, 1))))
    ((4, ((0, 97, 97, 2), (2, 1, 0, 1))), False)
    """
    num_states, edges = fragment
    sources: dict[int, list[tuple[int, bool]]] = {}
    for source, low, high, target in edges:
        sources.setdefault(target, []).append((source, low > high))
    live, empty = {1}, {1}
    for reached, only_silent in ((live, False), (empty, True)):
        pending = [1]
        while pending:
            for source, silent in sources.get(pending.pop(), ()):
                if source not in reached and (silent or not only_silent):
                    reached.add(source)
                    pending.append(source)
    kept = edges if len(live) == num_states else tuple(edge for edge in edges if edge[3] in live)
    return (num_states, kept if 0 in live else ()), 0 in empty


_LAST_OF_LENGTH = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)


def _byte_sequences(low: int, high: int) -> list[tuple[tuple[int, int], ...]]:
    """Split one range of code points into sequences of byte ranges, in order."""
    pending = [(low, high)]
    result: list[tuple[tuple[int, int], ...]] = []
    while pending:
        first, last = pending.pop()
        cut = next((end for end in _LAST_OF_LENGTH if first <= end < last), None)
        if cut is None and last > 0x7F:
            for bits in (6, 12, 18):
                mask = (1 << bits) - 1
                if first & ~mask == last & ~mask:
                    break
                if first & mask:
                    cut = first | mask
                elif last & mask != mask:
                    cut = (last & ~mask) - 1
                if cut is not None:
                    break
        if cut is not None:
            pending.append((cut + 1, last))
            pending.append((first, cut))
            continue
        result.append(tuple(zip(chr(first).encode(), chr(last).encode(), strict=True)))
    return result


@lru_cache(maxsize=4096)
def utf8_fragment(charset: Charset) -> Fragment:
    """The automaton of the UTF-8 forms of the members of ``charset`` (not empty).

    >>> utf8_fragment(((97, 99),))
    (2, ((0, 97, 99, 1),))
    """
    trie: dict[tuple[int, int], dict[tuple[int, int], dict]] = {}  # type: ignore[type-arg]
    for low, high in charset:
        for sequence in _byte_sequences(low, high):
            node = trie
            for piece in sequence:
                node = node.setdefault(piece, {})
    shared: dict[tuple[tuple[int, int, int], ...], int] = {(): 1}
    edges: list[tuple[int, int, int, int]] = []
    count = 2

    def place(node: dict[tuple[int, int], dict], *, root: bool = False) -> int:  # type: ignore[type-arg]
        nonlocal count  # depth is at most four bytes
        outgoing: list[tuple[int, int, int]] = []
        for (low, high), child in sorted(node.items()):
            target = place(child)
            if outgoing and outgoing[-1][2] == target and outgoing[-1][1] + 1 == low:
                outgoing[-1] = (outgoing[-1][0], high, target)
            else:
                outgoing.append((low, high, target))
        key = tuple(outgoing)
        if not root and key in shared:
            return shared[key]
        state = 0 if root else count
        if not root:
            count += 1
            shared[key] = state
        edges.extend((state, *edge) for edge in key)
        return state

    place(trie, root=True)
    return count, tuple(edges)
