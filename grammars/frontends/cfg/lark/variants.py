"""A grammar over boundaries: each rule by where it begins (state, boundary) and by the boundary at which it ends.

A rule of the grammar is taken apart into variants, so that every boundary is known where a lexeme is read. Variants
with the same texts in them fall together at the end (partition refinement); a grammar whose lexemes never stand in each
other's way comes out as it went in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from ....ir.regular.budget import Budget
from ....limits import Limits
from .boundaries import Boundaries, Obligations
from .lalr import Tables

__all__ = ["Boundary", "Call", "Place", "Variants"]


class Boundary(NamedTuple):
    """Open obligations, the lexer at work, and the terminals (bits) that a settled conflict forbids to come next."""

    obligations: Obligations
    group: int
    forbidden: int


class Call(NamedTuple):
    """A rule that begins in a state of the parser, at a boundary."""

    state: int
    rule: int
    boundary: Boundary


class Place(NamedTuple):
    """So far in a production that began in a state (``began``; the parser is in ``state`` now), at a boundary."""

    began: int
    production: int
    behind: int
    state: int
    boundary: Boundary


Label: TypeAlias = tuple[Obligations, int, str, frozenset[Obligations]]
"""The texts of a gap: from obligations and lexer, to a terminal and any of several things that it may leave."""

Edge: TypeAlias = tuple[Label | tuple[Call, Boundary], Place]


class Variants:
    """All variants that the start needs, found by a worklist over places and what they can end with."""

    def __init__(
        self, tables: Tables, boundaries: Boundaries, group_of: list[int], names: tuple[str, ...], limits: Limits
    ) -> None:
        self.tables = tables
        self.boundaries = boundaries
        self.group_of = group_of  # of each state of the parser that a terminal leads to
        self.names = names
        self.is_plain = len(set(group_of)) <= 1 and not tables.lost  # then states need not be told apart
        self.budget = Budget(limits, "the rules of a grammar with its lexer", cost=8)
        self.ways: dict[tuple[Obligations, int, int], list[tuple[frozenset[Obligations], Obligations]]] = {}
        self.looked_for_after = self._looked_for_after()
        self.ends: dict[Call, dict[Boundary, None]] = {}
        self.waiting: dict[Call, list[Place]] = {}
        self.finals: dict[Place, dict[Boundary, None]] = {}
        self.edges: dict[Place, list[Edge]] = {}
        self.parents: dict[Place, list[Place]] = {}
        self.openings: dict[Place, list[Call]] = {}
        self.pending: list[tuple[Place, Boundary]] = []
        self.fresh: list[Place] = []
        self.start = Call(0, tables.productions[0][1][0], Boundary(frozenset(), group_of[0], 0))
        self.open(self.start)
        self.run()

    def _looked_for_after(self) -> list[int]:
        """For each terminal all that may be looked for behind it, in any state."""
        result = [0] * self.tables.num_terminals
        for goto in self.tables.goto:
            for symbol, after in goto.items():
                if symbol < self.tables.num_terminals:
                    result[symbol] |= self.tables.looked_for[after]
        return result

    # -- the worklist -------------------------------------------------------------------------------------------

    def run(self) -> None:
        while self.fresh or self.pending:
            if self.fresh:
                self.expand(self.fresh.pop())
            else:
                self.settle(*self.pending.pop())

    def open(self, call: Call) -> None:
        if call in self.ends:
            return
        self.ends[call] = {}
        self.waiting[call] = []
        for production in self.tables.by_origin[call.rule]:
            place = Place(call.state, production, 0, call.state, call.boundary)
            self.reach(place)
            self.openings[place].append(call)
            for final in list(self.finals[place]):
                self.end(call, final)

    def reach(self, place: Place) -> None:
        if place not in self.finals:
            self.finals[place] = {}
            self.edges[place] = []
            self.parents[place] = []
            self.openings[place] = []
            self.fresh.append(place)

    def expand(self, place: Place) -> None:
        """Follow the next symbol of a new place, or end its production."""
        self.budget.spend(1)
        symbols = self.tables.productions[place.production][1]
        if place.behind == len(symbols):
            lost = self.tables.lost.get((place.state, place.production), 0) if not self.is_plain else 0
            boundary = place.boundary
            self.pending.append((place, boundary._replace(forbidden=boundary.forbidden | lost)))
        elif symbols[place.behind] < self.tables.num_terminals:
            self.read(place, symbols[place.behind])
        else:
            call = Call(place.state, symbols[place.behind], place.boundary)
            self.open(call)
            self.waiting[call].append(place)
            for end in list(self.ends[call]):
                self.follow(place, (call, end), end)

    def read(self, place: Place, terminal: int) -> None:
        before = place.boundary
        if before.forbidden >> terminal & 1:
            return
        name = self.names[terminal]
        after_state = 0 if self.is_plain else self.tables.goto[place.state][terminal]
        group = self.group_of[after_state]
        key = (before.obligations, before.group, terminal)
        ways = self.ways.get(key)
        if ways is None:
            gap = self.boundaries.gap(before.obligations, before.group)
            behind = self.looked_for_after[terminal]
            by_next: dict[Obligations, set[Obligations]] = {}
            for left in gap.left_by(name):
                by_next.setdefault(self.boundaries.relevant(left, behind), set()).add(left)
            ways = self.ways[key] = [(frozenset(lefts), still) for still, lefts in by_next.items()]
        for lefts, still in ways:
            self.follow(place, (before.obligations, before.group, name, lefts), Boundary(still, group, 0))

    def follow(self, place: Place, label: Label | tuple[Call, Boundary], boundary: Boundary) -> None:
        """An edge to the place behind the next symbol."""
        symbol = self.tables.productions[place.production][1][place.behind]
        state = 0 if self.is_plain else self.tables.goto[place.state][symbol]
        target = Place(place.began, place.production, place.behind + 1, state, boundary)
        self.reach(target)
        self.budget.spend(1)
        self.edges[place].append((label, target))
        self.parents[target].append(place)
        self.pending += [(place, final) for final in self.finals[target]]

    def settle(self, place: Place, final: Boundary) -> None:
        """The place can end with a boundary: so can those that lead to it."""
        if final in self.finals[place]:
            return
        self.finals[place][final] = None
        self.pending += [(parent, final) for parent in self.parents[place]]
        for call in self.openings[place]:
            self.end(call, final)

    def end(self, call: Call, final: Boundary) -> None:
        if final in self.ends[call]:
            return
        self.ends[call][final] = None
        for place in list(self.waiting[call]):
            self.follow(place, (call, final), final)

    # -- what falls together ------------------------------------------------------------------------------------

    def openings_of(self, call: Call, end: Boundary) -> Iterable[Place]:
        """The places with which a variant begins."""
        for production in self.tables.by_origin[call.rule]:
            place = Place(call.state, production, 0, call.state, call.boundary)
            if end in self.finals[place]:
                yield place
