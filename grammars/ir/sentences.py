"""Members of a grammar's language, drawn at random: the walk that samplers and property tests share.

Who draws says how (:class:`Choices`): :func:`sample` by a seeded generator, Hypothesis by its own.
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np

from ..errors import UnsatisfiableGrammar
from .nodes import IR, UNBOUNDED, Kind
from .verbatim import Verbatim, document_of, unit_bounds, written

__all__ = ["Choices", "Shape", "draw_sentence", "sample", "spellings"]

T = TypeVar("T")
Edge = list[int]
"""(from, low, high, to) of a fragment; ``low > high``: nothing is read."""

NEVER = 1 << 60
"""The height of a node that matches nothing."""


class Choices(Protocol):
    """How the free choices of a sentence are made."""

    def integer(self, low: int, high: int) -> int:
        """From ``low`` to ``high``, ends included."""

    def one_of(self, options: Sequence[T]) -> T:
        """One of several options, at least one."""

    def edge(self, edges: Sequence[Edge]) -> Edge:
        """One of several ways through a fragment."""

    def byte(self, low: int, high: int) -> int:
        """A byte of a fragment."""


def sample(ir: IR, *, seed: int = 0, max_depth: int = 40, soft_length: int = 200) -> Iterator[bytes]:
    """Random members of the language, without end; the same for the same seed.

    Down to ``max_depth`` nodes below the start, and up to about ``soft_length`` bytes, every choice is drawn; beyond
    that the least deep way is taken, so that recursion ends. Characters are mostly letters and digits where the grammar
    leaves them open. Guards and registers are not asked: where a grammar has some, a matcher says which are members.
    Special tokens are written by name, and tokens are not counted.
    Raises :class:`~grammars.errors.UnsatisfiableGrammar` where there is none.

    >>> from .builder import Builder
    >>> builder = Builder()
    >>> next(sample(builder.finish(builder.repeat(builder.literal("ab"), 2, 2))))
    b'abab'
    """
    shape = Shape(ir)
    if shape.heights[ir.start] >= NEVER:
        raise UnsatisfiableGrammar("no text at all is in the language, so there is nothing to sample")
    return _samples(shape, _Random(random.Random(seed)), max_depth, soft_length)


def _samples(shape: Shape, choices: Choices, max_depth: int, soft_length: int) -> Iterator[bytes]:
    while True:
        yield draw_sentence(shape, choices, max_depth=max_depth, soft_length=soft_length)


class _Random:
    """Draws that look like text where the grammar lets them."""

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator

    def integer(self, low: int, high: int) -> int:
        return self.generator.randint(low, high)

    def one_of(self, options: Sequence[T]) -> T:
        return self.generator.choice(options)

    def edge(self, edges: Sequence[Edge]) -> Edge:
        plain = [edge for edge in edges if edge[2] < edge[1] or (edge[1] < 0x7F and edge[2] >= 0x20)]
        return self.generator.choice(plain if plain and self.generator.random() < 0.97 else edges)

    def byte(self, low: int, high: int) -> int:
        for members, share in ((_ALPHANUMERIC, 0.9), (_PRINTABLE, 0.9)):
            inside = [byte for byte in members if low <= byte <= high]
            if inside and self.generator.random() < share:
                return self.generator.choice(inside)
        return self.generator.randint(low, high)


_ALPHANUMERIC = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PRINTABLE = bytes(range(0x20, 0x7F))


class Shape:
    """The nodes' children, how deep the least deep text of each node is, and how long its shortest one."""

    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.nodes: list[list[int]] = ir.nodes.tolist()
        listed, rules = ir.children.tolist(), ir.rules.tolist()
        self.children = [_children_of(node, listed, rules) for node in self.nodes]
        self.heights = self._heights()
        self.lengths = self._lengths()
        self._walked: dict[int, dict[int, list[Edge]]] = {}
        self._ways: dict[int, list[int]] = {}

    def ways(self, node: int) -> list[int]:
        """The children of a choice that some text has, those with the shortest first."""
        if node not in self._ways:
            possible = [child for child in self.children[node] if self.heights[child] < NEVER]
            self._ways[node] = sorted(possible, key=lambda child: (self.lengths[child], self.heights[child]))
        return self._ways[node]

    def _least(self, own: Callable[[int], int], joined: Callable[[int], int]) -> list[int]:
        """The least cost of each node, by Knuth's generalisation of Dijkstra's algorithm: costs come in rising order.

        ``own`` is the cost of a node that needs none of its children (``NEVER`` if it does), ``joined`` of one whose
        children are known: of all of them for a sequence, of the first otherwise. It is never less than theirs.
        """
        costs = [NEVER] * len(self.nodes)
        parents: list[list[int]] = [[] for _ in self.nodes]
        missing = [0] * len(self.nodes)
        heap: list[tuple[int, int]] = []
        for node, (kind, *_) in enumerate(self.nodes):
            for child in set(self.children[node]):
                parents[child].append(node)
            missing[node] = len(set(self.children[node])) if kind == Kind.SEQUENCE else 1
            cost = own(node)
            if cost < NEVER:
                heap.append((cost, node))
        heapq.heapify(heap)
        self._costs = costs
        while heap:
            cost, node = heapq.heappop(heap)
            if costs[node] < NEVER:
                continue
            costs[node] = cost
            for parent in parents[node]:
                missing[parent] -= 1
                if missing[parent] == 0:
                    heapq.heappush(heap, (joined(parent), parent))
        return costs

    def _heights(self) -> list[int]:
        def joined(node: int) -> int:
            known = (self._costs[child] for child in self.children[node])
            return 1 + max(cost for cost in known if cost < NEVER)

        return self._least(self._own_height, joined)

    def _own_height(self, node: int) -> int:
        kind, first, second, _ = self.nodes[node]
        if kind == Kind.REPEAT and second == 0:
            return 1
        if kind == Kind.FRAGMENT:
            return 0 if 0 in steps_to_end(self.edges(first)) else NEVER
        return 0 if not self.children[node] and kind != Kind.NEVER else NEVER

    def _lengths(self) -> list[int]:
        def joined(node: int) -> int:
            known = [self._costs[child] for child in self.children[node]]
            kind, _, minimum, _ = self.nodes[node]
            if kind == Kind.SEQUENCE:
                return min(sum(known), NEVER)
            return min(known) * minimum if kind == Kind.REPEAT and minimum else min(known)

        return self._least(self._own_length, joined)

    def _own_length(self, node: int) -> int:
        kind, first, second, third = self.nodes[node]
        match kind:
            case Kind.LITERAL:
                return second
            case Kind.FRAGMENT:
                return steps_to_end(self.edges(first)).get(0, NEVER)
            case Kind.JSON_STRINGS:
                return 2 if third & 2 else 2 + min((len(text) for text in self.given(node)), default=NEVER)
            case Kind.REPEAT:
                return 0 if second == 0 else NEVER
            case Kind.VERBATIM:
                return 1
        return 0 if not self.children[node] and kind != Kind.NEVER else NEVER

    def edges(self, fragment: int) -> list[Edge]:
        """The edges of a fragment."""
        first, end = self.ir.fragments[fragment : fragment + 2].tolist()
        return list(self.ir.fragment_edges[first:end].tolist())

    def walked(self, fragment: int) -> dict[int, list[Edge]]:
        """The edges out of each state of a fragment that lead to its end, those that lead there soonest first."""
        if fragment not in self._walked:
            edges = self.edges(fragment)
            steps = steps_to_end(edges)
            out: dict[int, list[Edge]] = {}
            for edge in sorted((edge for edge in edges if edge[3] in steps), key=lambda edge: steps[edge[3]]):
                out.setdefault(edge[0], []).append(edge)
            self._walked[fragment] = out
        return self._walked[fragment]

    def given(self, node: int) -> list[str]:
        """The texts that a JSON_STRINGS node names."""
        _, first, count, _ = self.nodes[node]
        members = [self.nodes[child] for child in self.ir.children[first : first + count].tolist()]
        data = self.ir.data
        return ["" if kind == Kind.EPSILON else data[a : a + b].tobytes().decode() for kind, a, b, _ in members]


def _children_of(node: list[int], listed: list[int], rules: list[int]) -> list[int]:
    kind, first, second, _ = node
    if kind in (Kind.SEQUENCE, Kind.ALTERNATION, Kind.LITERALS):
        return listed[first : first + second]
    if kind in (Kind.REPEAT, Kind.LIMITED):
        return [first]
    return [rules[first]] if kind == Kind.CALL else []


def draw_sentence(shape: Shape, choices: Choices, *, max_depth: int, soft_length: int) -> bytes:
    """One member of the language; there must be one (``shape.heights[start] < NEVER``)."""
    text = bytearray()
    pending = [(int(shape.ir.start), 0)]  # what is still to be written, the next last
    while pending:
        node, depth = pending.pop()
        kind, first, second, third = shape.nodes[node]
        children = shape.children[node]
        is_deep = depth >= max_depth or len(text) + len(pending) >= soft_length
        match kind:
            case Kind.LITERAL:
                text += shape.ir.data[first : first + second].tobytes()
            case Kind.FRAGMENT:
                text += _walk(choices, shape.walked(first), 0 if is_deep else soft_length - len(text))
            case Kind.SPECIAL:
                text += f"{shape.ir.specials[first]}".encode("utf-8", "replace")
            case Kind.JSON_STRINGS:
                spelling = {"every": bool(third & 1), "only_ascii": bool(third & 4)}
                text += _string(choices, shape.given(node), others=bool(third & 2), **spelling)
            case Kind.VERBATIM:
                text += _verbatim(choices, shape.ir.verbatims[first], is_deep)
            case Kind.SEQUENCE:
                pending += [(child, depth + 1) for child in reversed(children)]
            case Kind.REPEAT:
                possible = shape.heights[first] < NEVER
                count = _turns(choices, second, third, soft_length - len(text)) if possible and not is_deep else second
                pending += [(first, depth + 1)] * count
            case Kind.ALTERNATION | Kind.LITERALS | Kind.CALL | Kind.LIMITED:
                ways = shape.ways(node)
                least = min(ways, key=shape.heights.__getitem__)
                way = least if is_deep or len(ways) == 1 else choices.one_of(ways)
                pending.append((way, depth + 1))
    return bytes(text)


def _turns(choices: Choices, least: int, most: int, room: int) -> int:
    """How often a repeat goes round: a few times, or now and then as often as there is room for."""
    few = least + 3 if most == UNBOUNDED else min(most, least + 3)
    many = max(few, least + room if most == UNBOUNDED else min(most, least + room))
    return choices.integer(least, many if few < many and choices.integer(0, 9) == 9 else few)


# -- leaves -----------------------------------------------------------------------------------------------------


def steps_to_end(edges: Sequence[Sequence[int]]) -> dict[int, int]:
    """How many edges each state of a fragment is from the end, for those that reach it."""
    sources: dict[int, list[int]] = {}
    for source, _, _, target in edges:
        sources.setdefault(target, []).append(source)
    steps, frontier = {1: 0}, [1]
    for state in frontier:  # grows while it runs
        for source in sources.get(state, ()):
            if source not in steps:
                steps[source] = steps[state] + 1
                frontier.append(source)
    return steps


def _walk(choices: Choices, ways_from: dict[int, list[Edge]], room: int) -> bytes:
    """A random way through a fragment; after as many edges as it has states, or without room, the shortest."""
    state, text = 0, bytearray()
    free = min(max(len(ways_from), 8), room)
    while state != 1:
        ways = ways_from[state]
        _, low, high, state = ways[0] if len(ways) == 1 or free <= 0 else choices.edge(ways)
        if low <= high:
            text.append(choices.byte(low, high))
        free -= 1
    return bytes(text)


def _verbatim(choices: Choices, verbatim: Verbatim, is_deep: bool) -> bytes:
    """Neighbouring units of a document, mostly few."""
    document = document_of(verbatim)
    begins, ends = unit_bounds(document, verbatim.by)
    begin = choices.one_of(np.flatnonzero(begins).tolist())
    stops = (begin + 1 + np.flatnonzero(ends[begin:])[:20]).tolist()
    return written(document[begin : stops[0] if is_deep else choices.one_of(stops)], verbatim.spelling)


def _string(choices: Choices, given: list[str], *, every: bool, others: bool, only_ascii: bool) -> bytes:
    """A JSON string that means one of the given texts, or one that means none of them, near ones among them."""
    meant = choices.one_of(sorted(given, key=len)) if not others else _other_text(choices, given)
    if not every:
        return json.dumps(meant, ensure_ascii=only_ascii).encode()
    ways = (spellings(character, only_ascii=only_ascii) for character in meant)
    return b'"' + b"".join(map(choices.one_of, ways)) + b'"'


def _other_text(choices: Choices, given: list[str]) -> str:
    texts = {text + tail for text in ["", *given] for tail in ("x", "é", '"')}
    texts |= {text[:-1] for text in given} | {"", "a", "B 2", "\\\n", "😀"}
    near = choices.one_of(sorted(texts - set(given), key=lambda text: (len(text), text)))
    if choices.integer(0, 3) < 3:
        return near
    text = near + "".join(chr(choices.integer(*choices.one_of(_CHARACTERS))) for _ in range(choices.integer(1, 3)))
    return near if text in given else text


_CHARACTERS = (
    *((0x20, 0x7F), (0x00, 0x1F), (0x80, 0x7FF), (0x800, 0xFFF), (0x1000, 0xCFFF), (0xD000, 0xD7FF), (0xE000, 0xFFFF)),
    *((0x10000, 0x3FFFF), (0x40000, 0xFFFFF), (0x100000, 0x10FFFF)),
)
"""Ranges of characters, by how UTF-8 writes them."""


def spellings(character: str, *, only_ascii: bool = False) -> list[bytes]:
    r"""The ways to write one character inside a JSON string, the canonical one first.

    >>> spellings("/")
    [b'/', b'\\u002f', b'\\u002F', b'\\/']
    """
    canonical = json.dumps(character, ensure_ascii=only_ascii)[1:-1].encode()
    units = character.encode("utf-16-be")
    by_number = [units[place : place + 2].hex() for place in range(0, len(units), 2)]
    forms = [canonical, "".join(f"\\u{unit}" for unit in by_number).encode()]
    forms.append("".join(f"\\u{unit.upper()}" for unit in by_number).encode())
    return [*forms, b"\\/"] if character == "/" else forms
