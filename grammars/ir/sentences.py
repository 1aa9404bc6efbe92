"""Members of a grammar's language, drawn at random: the walk that samplers and property tests share.

Who draws says how (:class:`Choices`): :func:`sample` by a seeded generator, Hypothesis by its own.
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from ..errors import UnsatisfiableGrammar
from .nodes import IR, UNBOUNDED, Kind

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
    """The nodes' children, and how deep the least deep text of each node is."""

    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.nodes: list[list[int]] = ir.nodes.tolist()
        listed, rules = ir.children.tolist(), ir.rules.tolist()
        self.children = [_children_of(node, listed, rules) for node in self.nodes]
        self.heights = self._heights()

    def _heights(self) -> list[int]:
        """Knuth's generalisation of Dijkstra's algorithm: heights become known in rising order."""
        heights = [NEVER] * len(self.nodes)
        parents: list[list[int]] = [[] for _ in self.nodes]
        missing = [0] * len(self.nodes)
        heap: list[tuple[int, int]] = []
        for node, (kind, first, second, _) in enumerate(self.nodes):
            for child in set(self.children[node]):
                parents[child].append(node)
            missing[node] = len(set(self.children[node])) if kind == Kind.SEQUENCE else 1
            if kind == Kind.REPEAT and second == 0:
                heap.append((1, node))
            elif kind == Kind.FRAGMENT:
                if 0 in steps_to_end(self.edges(first)):
                    heap.append((0, node))
            elif not self.children[node] and kind != Kind.NEVER:
                heap.append((0, node))
        heapq.heapify(heap)
        while heap:
            height, node = heapq.heappop(heap)
            if heights[node] < NEVER:
                continue
            heights[node] = height
            for parent in parents[node]:
                missing[parent] -= 1
                if missing[parent] == 0:
                    heapq.heappush(heap, (height + 1, parent))
        return heights

    def edges(self, fragment: int) -> list[Edge]:
        """The edges of a fragment."""
        first, end = self.ir.fragments[fragment : fragment + 2].tolist()
        return list(self.ir.fragment_edges[first:end].tolist())

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
    if kind == Kind.REPEAT:
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
                text += _walk(choices, shape.edges(first), is_deep)
            case Kind.JSON_STRINGS:
                text += _string(choices, shape.given(node), every=bool(third & 1), others=bool(third & 2))
            case Kind.SEQUENCE:
                pending += [(child, depth + 1) for child in reversed(children)]
            case Kind.REPEAT:
                possible = shape.heights[first] < NEVER
                most = second + 3 if third == UNBOUNDED else min(third, second + 3)
                count = choices.integer(second, most) if possible and not is_deep else second
                pending += [(first, depth + 1)] * count
            case Kind.ALTERNATION | Kind.LITERALS | Kind.CALL:
                ways = [child for child in children if shape.heights[child] < NEVER]
                least = min(ways, key=shape.heights.__getitem__)
                way = least if is_deep or len(ways) == 1 else choices.one_of(ways)
                pending.append((way, depth + 1))
    return bytes(text)


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


def _walk(choices: Choices, edges: list[Edge], is_deep: bool) -> bytes:
    """A random way through a fragment; after eight edges, or if deep, the shortest."""
    steps, state, text = steps_to_end(edges), 0, bytearray()
    taken = 0
    while state != 1:
        ways = [edge for edge in edges if edge[0] == state and edge[3] in steps]
        if is_deep or taken >= 8:
            ways = [min(ways, key=lambda edge: steps[edge[3]])]
        _, low, high, state = ways[0] if len(ways) == 1 else choices.edge(ways)
        if low <= high:
            text.append(choices.byte(low, high))
        taken += 1
    return bytes(text)


def _string(choices: Choices, given: list[str], *, every: bool, others: bool) -> bytes:
    """A JSON string that means one of the given texts, or one that means none of them, near ones among them."""
    meant = choices.one_of(given) if not others else _other_text(choices, given)
    if not every:
        return json.dumps(meant, ensure_ascii=False).encode()
    return b'"' + b"".join(choices.one_of(spellings(character)) for character in meant) + b'"'


def _other_text(choices: Choices, given: list[str]) -> str:
    texts = {text + tail for text in ["", *given] for tail in ("x", "é", '"')}
    texts |= {text[:-1] for text in given} | {"", "a", "B 2", "\\\n", "😀"}
    return choices.one_of(sorted(texts - set(given)))


def spellings(character: str) -> list[bytes]:
    r"""The ways to write one character inside a JSON string, the canonical one first.

    >>> spellings("/")
    [b'/', b'\\u002f', b'\\u002F', b'\\/']
    """
    canonical = json.dumps(character, ensure_ascii=False)[1:-1].encode()
    units = character.encode("utf-16-be")
    by_number = [units[place : place + 2].hex() for place in range(0, len(units), 2)]
    forms = [canonical, "".join(f"\\u{unit}" for unit in by_number).encode()]
    forms.append("".join(f"\\u{unit.upper()}" for unit in by_number).encode())
    return [*forms, b"\\/"] if character == "/" else forms
