"""Hypothesis strategy: members of a grammar's language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from grammars.ir import IR, Kind
from grammars.ir.nodes import UNBOUNDED

from .spellings import json_spellings

__all__ = ["sentences"]

_NEVER = 1 << 60
"""The height of a node that matches nothing."""


def sentences(ir: IR, *, max_depth: int = 12, soft_length: int = 40) -> st.SearchStrategy[bytes]:
    """Random texts of the language of ``ir``; nothing at all if it has none.

    Down to ``max_depth`` nodes below the start, and up to about ``soft_length`` bytes, every choice is drawn; beyond
    that the least deep way is taken, so that recursion ends.
    """
    shape = _Shape(ir)
    if shape.heights[ir.start] >= _NEVER:
        return st.nothing()
    return _sentences(shape, max_depth, soft_length)


@dataclass(slots=True)
class _Shape:
    """The nodes' children, and how deep the least deep text of each node is (found by rounds, not recursion)."""

    ir: IR
    children: list[list[int]] = field(init=False)
    heights: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.children = [self._children_of(node) for node in range(len(self.ir.nodes))]
        self.heights = [_NEVER] * len(self.ir.nodes)
        changed = True
        while changed:
            changed = False
            for node in range(len(self.heights)):
                height = self._height_of(node)
                if height < self.heights[node]:
                    self.heights[node] = height
                    changed = True

    def _children_of(self, node: int) -> list[int]:
        kind, first, second, _ = self.ir.nodes[node].tolist()
        if kind in (Kind.SEQUENCE, Kind.ALTERNATION, Kind.LITERALS):
            return list(self.ir.children[first : first + second].tolist())
        if kind == Kind.REPEAT:
            return [first]
        return [int(self.ir.rules[first])] if kind == Kind.CALL else []

    def _height_of(self, node: int) -> int:
        kind, first, second, _ = self.ir.nodes[node].tolist()
        below = [self.heights[child] for child in self.children[node]]
        if kind == Kind.NEVER or (kind == Kind.FRAGMENT and 0 not in _steps_to_end(self.edges(first))):
            return _NEVER
        if kind == Kind.REPEAT:
            return 1 if second == 0 else min(1 + below[0], _NEVER)
        if kind == Kind.SEQUENCE:
            return min(1 + max(below), _NEVER)
        return min(1 + min(below), _NEVER) if below else 0

    def edges(self, fragment: int) -> list[list[int]]:
        """The edges (from, low, high, to) of a fragment."""
        first, end = self.ir.fragments[fragment : fragment + 2].tolist()
        return list(self.ir.fragment_edges[first:end].tolist())

    def given(self, node: int) -> list[str]:
        """The texts that a JSON_STRINGS node names."""
        _, first, count, _ = self.ir.nodes[node].tolist()
        members = self.ir.nodes[self.ir.children[first : first + count]].tolist()
        data = self.ir.data
        return ["" if kind == Kind.EPSILON else data[a : a + b].tobytes().decode() for kind, a, b, _ in members]


@st.composite
def _sentences(draw: st.DrawFn, shape: _Shape, max_depth: int, soft_length: int) -> bytes:
    text = bytearray()
    pending = [(int(shape.ir.start), 0)]  # what is still to be written, the next last
    while pending:
        node, depth = pending.pop()
        kind, first, second, third = shape.ir.nodes[node].tolist()
        children = shape.children[node]
        is_deep = depth >= max_depth or len(text) + len(pending) >= soft_length
        match kind:
            case Kind.LITERAL:
                text += shape.ir.data[first : first + second].tobytes()
            case Kind.FRAGMENT:
                text += _walk(draw, shape.edges(first), is_deep)
            case Kind.JSON_STRINGS:
                text += _string(draw, shape.given(node), every=bool(third & 1), others=bool(third & 2))
            case Kind.SEQUENCE:
                pending += [(child, depth + 1) for child in reversed(children)]
            case Kind.REPEAT:
                possible = shape.heights[first] < _NEVER
                most = second + 3 if third == UNBOUNDED else min(third, second + 3)
                count = draw(st.integers(second, most)) if possible and not is_deep else second
                pending += [(first, depth + 1)] * count
            case Kind.ALTERNATION | Kind.LITERALS | Kind.CALL:
                ways = [child for child in children if shape.heights[child] < _NEVER]
                least = min(ways, key=shape.heights.__getitem__)
                way = least if is_deep or len(ways) == 1 else draw(st.sampled_from(ways))
                pending.append((way, depth + 1))
    return bytes(text)


def _string(draw: st.DrawFn, given: list[str], *, every: bool, others: bool) -> bytes:
    """A JSON string that means one of the given texts, or one that means none of them, near ones among them."""
    near = st.sampled_from(["", *given]).flatmap(lambda text: st.sampled_from([text + "x", text[:-1], "é" + text]))
    other = (near | st.text(max_size=5)).filter(lambda text: text not in given)
    return draw(json_spellings(draw(other if others else st.sampled_from(given)), every=every))


def _steps_to_end(edges: Sequence[Sequence[int]]) -> dict[int, int]:
    """How many edges each state of a fragment is from the end, for those that reach it."""
    steps, frontier = {1: 0}, {1}
    while frontier:
        sources = {source for source, _, _, target in edges if target in frontier} - steps.keys()
        steps.update(dict.fromkeys(sources, 1 + max(steps.values())))
        frontier = sources
    return steps


def _walk(draw: st.DrawFn, edges: list[list[int]], is_deep: bool) -> bytes:
    """A random way through a fragment; after eight edges, or if deep, the shortest."""
    steps, state, text = _steps_to_end(edges), 0, bytearray()
    taken = 0
    while state != 1:
        ways = [edge for edge in edges if edge[0] == state and edge[3] in steps]
        if is_deep or taken >= 8:
            ways = [min(ways, key=lambda edge: steps[edge[3]])]
        _, low, high, state = ways[0] if len(ways) == 1 else draw(st.sampled_from(ways))
        if low <= high:
            text.append(draw(st.integers(low, high)))
        taken += 1
    return bytes(text)
