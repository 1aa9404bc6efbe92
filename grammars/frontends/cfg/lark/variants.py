"""A grammar over boundaries: each rule by where it begins (state, boundary) and by the boundary at which it ends.

A rule of the grammar is taken apart into variants, so that every boundary is known where a lexeme is read. Variants
with the same texts in them fall together at the end (partition refinement); a grammar whose lexemes never stand in each
other's way comes out as it went in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ....ir.regular.budget import Budget
from ....limits import Limits
from .boundaries import Boundaries
from .lalr import Tables
from .obligations import ObligationStates

__all__ = ["Boundary", "Call", "Place", "Variants"]


class Boundary(NamedTuple):
    """Open obligations, the lexer at work, and the terminals (bits) that a settled conflict forbids to come next."""

    obligations: ObligationStates
    group: int
    forbidden: int


class Call(NamedTuple):
    """A rule that begins in a state of the parser, at a boundary."""

    state: int
    rule: int
    boundary: Boundary


class Place(NamedTuple):
    """So far in a rule that began in a state (``began``; the parser is in ``state`` now), at a boundary.

    ``step`` says which symbols are behind: productions that begin alike share their first steps.
    """

    began: int
    step: int
    state: int
    boundary: Boundary


@dataclass(slots=True)
class Step:
    """Where the symbols read so far may go on, and the production that they are (-1: none)."""

    after: dict[int, int] = field(default_factory=dict)
    production: int = -1
    height: int = 0
    """The most symbols that may still come."""


Label: TypeAlias = tuple[ObligationStates, int, str, frozenset[ObligationStates]]
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
        self.budget = Budget(limits, "the rules of a grammar with its lexer", cost=32)
        self.ways: dict[
            tuple[ObligationStates, int, int], list[tuple[frozenset[ObligationStates], ObligationStates]]
        ] = {}
        self.looked_for_after = tables.looked_for_after()
        self.steps: list[Step] = []
        self.rule_of_step: list[int] = []
        self.first_step = {rule: self.prefix_tree(rule, productions) for rule, productions in tables.by_origin.items()}
        self.ends: dict[Call, dict[Boundary, None]] = {}
        self.waiting: dict[Call, list[Place]] = {}
        self.finals: dict[Place, dict[Boundary, None]] = {}
        self.own_final: dict[Place, Boundary] = {}
        self.edges: dict[Place, list[Edge]] = {}
        self.parents: dict[Place, list[Place]] = {}
        self.openings: dict[Place, list[Call]] = {}
        self.pending: list[tuple[Place, Boundary]] = []
        self.fresh: list[Place] = []
        self.start = Call(0, tables.productions[0][1][0], Boundary(frozenset(), group_of[0], 0))
        self.open(self.start)
        self.run()

    def prefix_tree(self, rule: int, productions: Iterable[int]) -> int:
        """The steps of a rule's productions; the first of them."""
        first = len(self.steps)
        self.steps.append(Step())
        for production in productions:
            symbols = self.tables.productions[production][1]
            here = first
            for count, symbol in enumerate(symbols):
                self.steps[here].height = max(self.steps[here].height, len(symbols) - count)
                after = self.steps[here].after.get(symbol)
                if after is None:
                    after = self.steps[here].after[symbol] = len(self.steps)
                    self.steps.append(Step())
                here = after
            self.steps[here].production = production
        self.rule_of_step += [rule] * (len(self.steps) - first)
        return first

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
        place = self.opening(call)
        self.reach(place)
        self.openings[place].append(call)
        for final in list(self.finals[place]):
            self.end(call, final)

    def opening(self, call: Call) -> Place:
        """Where a rule begins."""
        return Place(call.state, self.first_step[call.rule], call.state, call.boundary)

    def reach(self, place: Place) -> None:
        if place not in self.finals:
            self.finals[place] = {}
            self.edges[place] = []
            self.parents[place] = []
            self.openings[place] = []
            self.fresh.append(place)

    def expand(self, place: Place) -> None:
        """Follow the next symbols of a new place, and end its production."""
        self.budget.spend(1)
        step = self.steps[place.step]
        if step.production >= 0:
            lost = 0 if self.is_plain else self.tables.lost.get((place.state, step.production), 0)
            final = place.boundary._replace(forbidden=place.boundary.forbidden | lost)
            self.own_final[place] = final
            self.pending.append((place, final))
        for symbol in step.after:
            if symbol < self.tables.num_terminals:
                self.read(place, symbol)
            else:
                call = Call(place.state, symbol, place.boundary)
                self.open(call)
                self.waiting[call].append(place)
                for end in list(self.ends[call]):
                    self.follow(place, symbol, (call, end), end)

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
            by_next: dict[ObligationStates, set[ObligationStates]] = {}
            for left in gap.left_by(name):
                by_next.setdefault(self.boundaries.relevant(left, behind), set()).add(left)
            ways = self.ways[key] = [(frozenset(lefts), still) for still, lefts in by_next.items()]
        for lefts, still in ways:
            label = (before.obligations, before.group, name, lefts)
            self.follow(place, terminal, label, Boundary(still, group, 0))

    def follow(self, place: Place, symbol: int, label: Label | tuple[Call, Boundary], boundary: Boundary) -> None:
        """An edge to the place behind a symbol."""
        state = 0 if self.is_plain else self.tables.goto[place.state][symbol]
        target = Place(place.began, self.steps[place.step].after[symbol], state, boundary)
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
            self.follow(place, call.rule, (call, final), final)
