"""The slow twin of the machine: Earley's recogniser over the nodes of an IR, in plain Python.

Source: J. Earley, "An Efficient Context-Free Parsing Algorithm", CACM 13(2), 1970. Every node is a nonterminal of its
own. An item says how far one node has got since where it began; a column holds all items that a text admits. Items that
can never be finished are not kept, so a column with any item in it is one that some continuation completes: `viable` is
exact, whatever the grammar (left recursion, loops of nullable rules, ambiguity).

>>> from grammars.ir import Builder
>>> builder = Builder()
>>> nested = builder.declare_rule("nested")
>>> builder.define_rule(nested, builder.optional(builder.sequence(builder.call(nested), builder.literal("ab"))))
>>> ir = builder.finish(builder.call(nested))
>>> accepts(ir, b"abab"), accepts(ir, b"aba"), viable(ir, b"aba"), viable(ir, b"aa")
(True, False, True, False)
>>> sorted(mask(ir, [b"a", b"b", b"ba", b"", None], b"a"))
[1, 2]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from grammars.ir import IR, Kind
from grammars.ir.nodes import UNBOUNDED

from .string_automata import expand

__all__ = ["Chart", "Recogniser", "accepts", "mask", "viable"]

Progress = int
"""How far a node has got: bytes of a LITERAL, state of a FRAGMENT, children of a SEQUENCE, turns of a REPEAT, and
0 or 1 (not yet, done) for ALTERNATION, LITERALS and CALL."""


class Item(NamedTuple):
    """``node`` has got as far as ``progress`` since position ``origin``."""

    node: int
    progress: Progress
    origin: int


class Column(NamedTuple):
    """All items of one text, and for each node those of them that await it."""

    items: frozenset[Item]
    waiting: dict[int, list[Item]]


class Recogniser:
    """An IR taken apart once: what each node reads, awaits, and whether it can ever be finished."""

    def __init__(self, ir: IR) -> None:
        if np.isin(ir.nodes[:, 0], (Kind.JSON_STRINGS, Kind.VERBATIM)).any():
            ir = expand(ir)
        if (ir.nodes[:, 0] == Kind.REGISTER).any():
            raise ValueError("no context-free recogniser keeps registers")
        self.start_node = int(ir.start)
        self._kinds = [Kind(kind) for kind in ir.nodes[:, 0].tolist()]
        self._arguments: list[list[int]] = ir.nodes[:, 1:].tolist()
        self._data = ir.data.tobytes()
        listed, rules = ir.children.tolist(), ir.rules.tolist()
        self._children = [self._children_of(node, listed, rules) for node in range(len(self._kinds))]
        edges: list[list[int]] = ir.fragment_edges.tolist()
        offsets: list[int] = ir.fragments.tolist()
        self._edges = [edges[offsets[index] : offsets[index + 1]] for index in range(len(offsets) - 1)]
        self._live_states = [self._states_that_reach_the_end(piece) for piece in self._edges]
        self.productive = self._productive_nodes()

    def chart(self) -> Chart:
        """The chart of the empty text."""
        return Chart(self, ())

    # -- what a node says -----------------------------------------------------------------------------------------

    def kind(self, node: int) -> Kind:
        """What the node is."""
        return self._kinds[node]

    def literal(self, node: int) -> bytes:
        """The text of a LITERAL."""
        first, length, _ = self._arguments[node]
        return self._data[first : first + length]

    def edges(self, node: int) -> list[list[int]]:
        """The edges (from, low, high, to) of a FRAGMENT."""
        return self._edges[self._arguments[node][0]]

    def minimum(self, node: int) -> int:
        """The fewest turns of a REPEAT."""
        return self._arguments[node][1]

    # -- one node -----------------------------------------------------------------------------------------------------

    def children(self, node: int) -> list[int]:
        """The nodes it is made of, in order (of a CALL: the body of its rule)."""
        return self._children[node]

    def _children_of(self, node: int, listed: list[int], rules: list[int]) -> list[int]:
        first, count, _ = self._arguments[node]
        match self._kinds[node]:
            case Kind.SEQUENCE | Kind.ALTERNATION | Kind.LITERALS:
                return listed[first : first + count]
            case Kind.REPEAT:
                return [first]
            case Kind.CALL:
                return [rules[first]]
            case _:
                return []

    def is_finished(self, node: int, progress: Progress) -> bool:
        """Whether this much of the node is the whole of it."""
        _, second, _ = self._arguments[node]
        match self._kinds[node]:
            case Kind.NEVER:
                return False
            case Kind.EPSILON | Kind.GUARD:  # a guard is taken to agree
                return True
            case Kind.LITERAL | Kind.SEQUENCE:
                return progress == second
            case Kind.REPEAT:
                return progress >= second
            case _:  # the end state of a FRAGMENT is 1
                return progress == 1

    def awaited(self, node: int, progress: Progress) -> list[int]:
        """The nodes of which one must come next, for :meth:`after` to be reached."""
        children = self.children(node)
        match self._kinds[node]:
            case Kind.SEQUENCE:
                return children[progress : progress + 1]
            case Kind.REPEAT:
                return children if progress != self._arguments[node][2] else []
            case _:
                return children if progress == 0 else []

    def after(self, node: int, progress: Progress) -> Progress:
        """The progress once an awaited node is finished. An endless REPEAT counts no further than its minimum."""
        _, minimum, maximum = self._arguments[node]
        if self._kinds[node] is Kind.REPEAT and maximum == UNBOUNDED:
            return min(progress + 1, minimum)
        return progress + 1

    def moves(self, node: int, progress: Progress) -> Iterator[Progress]:
        """Where it gets without reading: epsilon edges of a FRAGMENT."""
        if self._kinds[node] is Kind.FRAGMENT:
            for source, low, high, target in self.edges(node):
                if source == progress and low > high:
                    yield target

    def reads(self, node: int, progress: Progress, byte: int) -> Iterator[Progress]:
        """Where it gets by reading ``byte`` itself."""
        if self._kinds[node] is Kind.LITERAL:
            if self.literal(node)[progress : progress + 1] == bytes((byte,)):
                yield progress + 1
        elif self._kinds[node] is Kind.FRAGMENT:
            for source, low, high, target in self.edges(node):
                if source == progress and low <= byte <= high:
                    yield target

    # -- what can be finished -----------------------------------------------------------------------------------------

    def can_finish(self, node: int, progress: Progress) -> bool:
        """Whether some text takes the node from here to its end."""
        match self._kinds[node]:
            case Kind.FRAGMENT:
                return progress in self._live_states[self._arguments[node][0]]
            case Kind.SEQUENCE:
                return all(self.productive[child] for child in self.children(node)[progress:])
            case Kind.LITERAL:
                return True
            case _:
                return self.is_finished(node, progress) or any(
                    self.productive[child] for child in self.awaited(node, progress)
                )

    def _productive_nodes(self) -> list[bool]:
        """Which nodes match any text at all: the least fixed point."""
        self.productive = [False] * len(self._kinds)
        grown = True
        while grown:
            grown = False
            for node, known in enumerate(self.productive):
                if not known and self.can_finish(node, 0):
                    self.productive[node] = grown = True
        return self.productive

    @staticmethod
    def _states_that_reach_the_end(edges: Iterable[Sequence[int]]) -> set[int]:
        live = {1}
        grown = True
        while grown:
            before = len(live)
            live.update(source for source, _, _, target in edges if target in live)
            grown = len(live) > before
        return live


class Chart:
    """All that Earley's recogniser knows of one text; reading a byte gives a new chart and leaves this one."""

    def __init__(self, recogniser: Recogniser, columns: tuple[Column, ...], scanned: Iterable[Item] = ()) -> None:
        self.recogniser = recogniser
        self._after: dict[int, Chart] = {}
        items = [*scanned]
        if not columns and recogniser.productive[recogniser.start_node]:
            items.append(Item(recogniser.start_node, 0, 0))
        self.columns = (*columns, close(recogniser, items, columns))

    def read(self, byte: int) -> Chart:
        """The chart of the text and one more byte (kept, so that texts that begin alike share the work)."""
        if byte not in self._after:
            recogniser = self.recogniser
            scanned = {
                Item(node, progress, origin)
                for node, at, origin in self.columns[-1].items
                for progress in recogniser.reads(node, at, byte)
                if recogniser.can_finish(node, progress)
            }
            self._after[byte] = Chart(recogniser, self.columns, scanned)
        return self._after[byte]

    def read_all(self, data: bytes) -> Chart:
        """The chart of the text and these bytes; stops early where nothing is left."""
        chart = self
        for byte in data:
            chart = chart.read(byte)
            if not chart.is_viable:
                break
        return chart

    @property
    def is_viable(self) -> bool:
        """Whether some continuation (the empty one too) makes the text a member of the language."""
        return bool(self.columns[-1].items)

    @property
    def is_accepting(self) -> bool:
        """Whether the text is a member of the language."""
        recogniser = self.recogniser
        return any(
            node == recogniser.start_node and origin == 0 and recogniser.is_finished(node, progress)
            for node, progress, origin in self.columns[-1].items
        )

    def allowed(self, tokens: Sequence[bytes | None]) -> set[int]:
        """Ids of the tokens that may come next, each tried byte by byte; ``None`` and empty tokens never may."""
        return {token_id for token_id, token in enumerate(tokens) if token and self.read_all(token).is_viable}


def close(recogniser: Recogniser, items: Iterable[Item], columns: tuple[Column, ...]) -> Column:
    """The column behind ``columns`` that holds ``items``: predict and complete until nothing new comes."""
    here = len(columns)
    known: set[Item] = set()
    waiting: dict[int, list[Item]] = defaultdict(list)
    empty: set[int] = set()  # nodes that are finished where they began, in this column
    pending = [*items]

    def advance(item: Item) -> None:
        progress = recogniser.after(item.node, item.progress)
        if recogniser.can_finish(item.node, progress):
            pending.append(item._replace(progress=progress))

    while pending:
        item = pending.pop()
        if item in known:
            continue
        known.add(item)
        node, progress, origin = item
        moved = [target for target in recogniser.moves(node, progress) if recogniser.can_finish(node, target)]
        pending.extend(item._replace(progress=target) for target in moved)
        for child in recogniser.awaited(node, progress):
            if recogniser.productive[child]:
                waiting[child].append(item)
                pending.append(Item(child, 0, here))
            if child in empty:
                advance(item)
        if recogniser.is_finished(node, progress):
            if origin == here:
                empty.add(node)
            for other in waiting[node] if origin == here else columns[origin].waiting[node]:
                advance(other)
    return Column(frozenset(known), waiting)


def accepts(ir: IR, data: bytes) -> bool:
    """Whether ``data`` is in the language."""
    return Recogniser(ir).chart().read_all(data).is_accepting


def viable(ir: IR, prefix: bytes) -> bool:
    """Whether some text of the language begins with ``prefix``."""
    return Recogniser(ir).chart().read_all(prefix).is_viable


def mask(ir: IR, tokens: Sequence[bytes | None], prefix: bytes) -> set[int]:
    """Ids of the tokens that may follow ``prefix``, each tried byte by byte. ``None`` and empty tokens never may."""
    return Recogniser(ir).chart().read_all(prefix).allowed(tokens)
