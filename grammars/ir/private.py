"""Special tokens and limits on tokens, said in bytes that no text has, for one vocabulary.

Neither is a matter of text: a special token writes none, and how many tokens a text takes depends on how it is cut.
Both are brought down to bytes all the same, so that networks, masks, stacks and roll-back need to know nothing of them.
UTF-8 never holds the bytes C0, C1 and F5 to FF. Hence

- a special token is *spelled* FF, its id in digits, FF. The tables of the vocabulary hold it under this spelling, and
  no other token with a private byte (:mod:`grammars.vocabulary.private`), so nothing else writes it and it writes
  nothing else;
- a limited automaton gets, beside each state inside it, a twin from which only the shortest way out is left, and an
  edge from the state to its twin on a byte that no token has. Whoever counts tokens takes that edge at the limit
  (:mod:`grammars.masks.limited`). Which byte it is tells how many tokens may end inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import GrammarError
from .nodes import IR, Kind
from .utf8 import Fragment

__all__ = ["LIMIT_BYTES", "PRIVATE_BYTES", "SPECIAL_MARK", "is_private", "limits_of", "make_private", "spelling_of"]

SPECIAL_MARK = 0xFF
"""Begins and ends the spelling of a special token."""
LIMIT_BYTES = (0xC0, 0xC1, *range(0xF5, 0xFF))
"""Each stands for a number of tokens."""
PRIVATE_BYTES = bytes((*LIMIT_BYTES, SPECIAL_MARK))
"""Bytes that are in no UTF-8 text."""


def spelling_of(token_id: int) -> bytes:
    r"""How a special token is spelled.

    >>> spelling_of(7)
    b'\xff7\xff'
    """
    return b"\xff%d\xff" % token_id


def is_private(ir: IR) -> bool:
    """Whether a grammar has special tokens, or limits on tokens: then it needs :func:`make_private`."""
    return bool(ir.specials) or bool((ir.nodes[:, 0] == Kind.LIMITED).any())


def limits_of(ir: IR) -> tuple[int, ...]:
    """The different limits, ascending: the first of them is told by the first of LIMIT_BYTES, and so on."""
    nodes = ir.nodes[ir.nodes[:, 0] == Kind.LIMITED]
    return tuple(np.unique(nodes[:, 2]).tolist())


def make_private(ir: IR, ids: Sequence[int]) -> IR:
    """The grammar without SPECIAL and LIMITED nodes; ``ids`` of its ``specials``, in order.

    Raises :class:`~grammars.errors.GrammarError` for a grammar that reads private bytes itself, and for more different
    limits than there are bytes.
    """
    _refuse_private_bytes(ir)
    limits = limits_of(ir)
    if len(limits) > len(LIMIT_BYTES):
        raise GrammarError(
            f"expected at most {len(LIMIT_BYTES)} different values of max_tokens in one grammar, got {len(limits)}"
        )
    nodes = ir.nodes.copy()
    data = bytearray(ir.data.tobytes())
    fragments: list[Fragment] = []
    for node in np.flatnonzero(nodes[:, 0] == Kind.SPECIAL).tolist():
        spelling = spelling_of(ids[int(nodes[node, 1])])
        nodes[node] = (Kind.LITERAL, len(data), len(spelling), 0)
        data += spelling
    for node in np.flatnonzero(nodes[:, 0] == Kind.LIMITED).tolist():
        _, fragment_node, limit, may_be_empty = nodes[node].tolist()
        nodes[node] = (Kind.FRAGMENT, len(ir.fragment_states) + len(fragments), 0, may_be_empty)
        fragments.append(_with_ways_out(_fragment(ir, int(nodes[fragment_node, 1])), LIMIT_BYTES[limits.index(limit)]))
    edges = [ir.fragment_edges, *(np.array(edges, np.int32).reshape(-1, 4) for _, edges in fragments)]
    ends = int(ir.fragments[-1]) + np.cumsum([len(edges) for _, edges in fragments], dtype=np.int32)
    return replace(
        ir,
        nodes=nodes,
        data=np.frombuffer(data, np.uint8),
        fragments=np.concatenate((ir.fragments, ends)).astype(np.int32),
        fragment_states=np.concatenate((ir.fragment_states, np.array([count for count, _ in fragments], np.int32))),
        fragment_edges=np.concatenate(edges),
        specials=(),
    )


def _fragment(ir: IR, index: int) -> Fragment:
    begin, end = ir.fragments[index : index + 2].tolist()
    edges = tuple((source, low, high, to) for source, low, high, to in ir.fragment_edges[begin:end].tolist())
    return int(ir.fragment_states[index]), edges


def _refuse_private_bytes(ir: IR) -> None:
    literals = ir.nodes[ir.nodes[:, 0] == Kind.LITERAL]
    texts = (ir.data[first : first + length] for _, first, length, _ in literals.tolist())
    private = np.frombuffer(PRIVATE_BYTES, np.uint8)
    edges = ir.fragment_edges
    found = any(np.isin(text, private).any() for text in texts)
    if found or any(((edges[:, 1] <= byte) & (byte <= edges[:, 2])).any() for byte in PRIVATE_BYTES):
        raise GrammarError(
            "a grammar with special tokens or max_tokens reads the bytes C0, C1 or F5 to FF, which are in no text; "
            "expected UTF-8 only"
        )


def _distances(fragment: Fragment) -> dict[int, int]:
    """How many bytes each state is from the end, at least."""
    sources: dict[int, list[tuple[int, int]]] = {}
    for source, low, high, target in fragment[1]:
        sources.setdefault(target, []).append((source, 0 if low > high else 1))
    distance = {1: 0}
    here: list[int] = [1]
    next_layer: list[int] = []
    while here or next_layer:
        if not here:
            here, next_layer = next_layer, []
        state = here.pop()
        for source, cost in sources.get(state, ()):
            known = distance.get(source)
            if known is None or known > distance[state] + cost:
                distance[source] = distance[state] + cost
                (next_layer if cost else here).append(source)
    return distance


def _with_ways_out(fragment: Fragment, byte: int) -> Fragment:
    """The fragment with a twin for each state inside it, and an edge on ``byte`` from the state to the twin.

    Inside are the states behind the first byte that some byte leads on from. A twin has the edges that come nearer to
    the end, and no others.
    """
    count, edges = fragment
    distance = _distances(fragment)
    inside = sorted({source for source, low, high, _ in edges if source and low <= high})
    behind = {source: source for source in range(count)} | {state: count + index for index, state in enumerate(inside)}
    added = [(state, byte, byte, behind[state]) for state in inside]
    for source, low, high, target in edges:
        if source in inside and distance[target] < distance[source] + (low > high):
            added.append((behind[source], low, high, behind[target]))
    return count + len(inside), (*edges, *added)
