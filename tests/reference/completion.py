"""From a viable text to a member of the language: shows that `viable` promises nothing false.

Each item of the last column is finished by the shortest text of what it still needs; that finishes its node, and lets
the items that awaited the node go on, until the start node is finished.
"""

from __future__ import annotations

from collections.abc import Callable

from grammars.ir import Kind

from .recogniser import Chart, Item, Recogniser

__all__ = ["completion"]


def completion(chart: Chart) -> bytes | None:
    """Some text that makes the chart's text a member; ``None`` if there is none to be found."""
    recogniser, columns = chart.recogniser, chart.columns
    rest_of = _rests(recogniser)
    pending = [(item, rest_of(item)) for item in columns[-1].items]
    seen: set[tuple[int, int]] = set()
    while pending:
        (node, _, origin), text = pending.pop(0)
        if (node, origin) == (recogniser.start_node, 0):
            return text
        if (node, origin) not in seen:
            seen.add((node, origin))
            for waiting in columns[origin].waiting[node]:
                item = waiting._replace(progress=recogniser.after(waiting.node, waiting.progress))
                if recogniser.can_finish(item.node, item.progress):
                    pending.append((item, text + rest_of(item)))
    return None


def _rests(recogniser: Recogniser) -> Callable[[Item], bytes]:
    """The shortest text that finishes an item."""
    shortest: dict[int, bytes] = {}

    def rest(node: int, progress: int) -> bytes | None:
        """With what ``shortest`` knows so far; ``None``: not known to have any."""
        if recogniser.is_finished(node, progress):
            return b""
        kind = recogniser.kind(node)
        if kind is Kind.LITERAL:
            return recogniser.literal(node)[progress:]
        if kind is Kind.FRAGMENT:
            return _walk_to_end(recogniser, node, progress)
        children = recogniser.children(node)
        if kind is Kind.SEQUENCE or kind is Kind.REPEAT:
            needed = children[progress:] if kind is Kind.SEQUENCE else children * (recogniser.minimum(node) - progress)
            return b"".join(shortest[child] for child in needed) if shortest.keys() >= set(needed) else None
        return min((shortest[child] for child in children if child in shortest), key=len, default=None)

    changed = True
    while changed:
        changed = False
        for node in range(len(recogniser.productive)):
            text = rest(node, 0)
            if text is not None and (node not in shortest or len(text) < len(shortest[node])):
                shortest[node] = text
                changed = True

    def known_rest(item: Item) -> bytes:
        text = rest(item.node, item.progress)
        assert text is not None, "an item that can never be finished was kept"
        return text

    return known_rest


def _walk_to_end(recogniser: Recogniser, node: int, state: int) -> bytes | None:
    pending, seen = [(state, b"")], {state}
    while pending:
        state, text = pending.pop(0)
        if state == 1:
            return text
        for source, low, high, target in recogniser.edges(node):
            if source == state and target not in seen:
                seen.add(target)
                pending.append((target, text if low > high else text + bytes((low,))))
    return None
