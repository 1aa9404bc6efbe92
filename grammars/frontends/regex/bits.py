"""Automata that ask, between two characters, what stands before or behind: made into plain ones.

A :class:`Probe` puts one bit on every place of a text. :func:`resolve` keeps a *course*: an automaton of all texts,
whose states carry the bits of their place; each text has exactly one way through it. A probe from the left refines the
course forwards by a deterministic automaton, one from the right does so backwards; a probe whose own body asks for bits
finds those of the earlier probes in the course. At last the expression runs along the course.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from ...ir.charset import Charset
from ...ir.regular import TEXT, Nfa
from ...ir.regular.alphabet import partition
from ...ir.regular.budget import Budget
from ...limits import Limits

__all__ = ["Condition", "Probe", "Thread", "resolve"]

Condition: TypeAlias = tuple[int, bool]
"""(number of a probe, what its bit must be)"""

_Set: TypeAlias = frozenset[int]


@dataclass(slots=True)
class Thread:
    """A nondeterministic automaton over text, some of whose epsilon edges have conditions."""

    start: int = 0
    final: int = 0
    edges: list[list[tuple[Charset, int]]] = field(default_factory=list)
    epsilons: list[list[tuple[tuple[Condition, ...], int]]] = field(default_factory=list)

    def add_state(self) -> int:
        """A new state without edges."""
        self.edges.append([])
        self.epsilons.append([])
        return len(self.edges) - 1

    def add_edge(self, source: int, members: Charset, target: int) -> None:
        """From ``source`` to ``target`` on any character of the set."""
        if members:
            self.edges[source].append((members, target))

    def add_epsilon(self, source: int, target: int, conditions: tuple[Condition, ...] = ()) -> None:
        """From ``source`` to ``target`` on nothing, where all conditions hold."""
        self.epsilons[source].append((conditions, target))


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether the body matches a text that begins (``ahead``) or ends at the place.

    On its other side there may be more text if ``anywhere``; otherwise the edge of the text must be there. The body may
    only ask for probes with lower numbers.
    """

    body: Thread
    ahead: bool
    anywhere: bool


@dataclass(slots=True)
class _Course:
    """The automaton of the bits. ``bits[state]`` has bit n for probe n; ``edges[state]`` are (class, next state)."""

    bits: list[int]
    edges: list[list[tuple[int, int]]]
    starts: list[int]
    finals: list[int]


def resolve(thread: Thread, probes: list[Probe], limits: Limits) -> Nfa:
    """The plain automaton of ``thread``. Raises :class:`~grammars.errors.LimitExceeded`."""
    threads = [thread, *(probe.body for probe in probes)]
    charsets = list({members: None for one in threads for edges in one.edges for members, _ in edges})
    alphabet, classes = partition(TEXT, charsets)
    numbers = dict(zip(charsets, classes, strict=True))
    every = range(len(alphabet.classes))
    course = _Course([0], [[(index, 0) for index in every]], [0], [0])
    budget = Budget(limits, "the assertions of a regular expression", cost=8)
    for number, probe in enumerate(probes):
        walk = _Walk(probe, numbers, budget)
        course = _backward(course, walk, number, budget) if probe.ahead else _forward(course, walk, number, budget)
    return _along(thread, course, numbers, alphabet.classes, limits)


MEMBERS_A_STEP = 4
"""Members of a set of states that cost as much as a step."""


class _Walk:
    """Sets of states of a probe's body, read in the direction of the probe, under given bits."""

    def __init__(self, probe: Probe, numbers: dict[Charset, list[int]], budget: Budget) -> None:
        self.budget = budget
        body = probe.body
        count = len(body.edges)
        self.moves: list[dict[int, list[int]]] = [{} for _ in range(count)]
        self.epsilons: list[list[tuple[tuple[Condition, ...], int]]] = [[] for _ in range(count)]
        self.first, self.last = (body.final, body.start) if probe.ahead else (body.start, body.final)
        for source in range(count):
            for members, target in body.edges[source]:
                origin, goal = (target, source) if probe.ahead else (source, target)
                for index in numbers[members]:
                    self.moves[origin].setdefault(index, []).append(goal)
            for conditions, target in body.epsilons[source]:
                origin, goal = (target, source) if probe.ahead else (source, target)
                self.epsilons[origin].append((conditions, goal))
        self.anywhere = probe.anywhere
        self.asked = 0  # the bits that matter to the body
        for epsilons in body.epsilons:
            for conditions, _ in epsilons:
                for number, _ in conditions:
                    self.asked |= 1 << number
        self.closures: dict[tuple[_Set, int], _Set] = {}
        self.steps: dict[tuple[_Set, int], _Set] = {}

    def edge(self, bits: int) -> _Set:
        """The states at the edge of the text."""
        return self.closed(frozenset([self.first]), bits)

    def step(self, states: _Set, index: int, bits: int) -> _Set:
        """The states behind one more character of the class, at a place with these bits."""
        moved = self.steps.get((states, index))
        if moved is None:
            self.budget.spend(len(states) // MEMBERS_A_STEP)
            moved = frozenset(goal for state in states for goal in self.moves[state].get(index, ()))
            if self.anywhere:
                moved |= {self.first}
            self.steps[states, index] = moved
        return self.closed(moved, bits)

    def closed(self, states: _Set, bits: int) -> _Set:
        key = (states, bits & self.asked)
        found = self.closures.get(key)
        if found is None:
            found = self.closures[key] = _closure(self.epsilons, states, bits)
            self.budget.spend(len(found) // MEMBERS_A_STEP)
        return found


def _closure(epsilons: list[list[tuple[tuple[Condition, ...], int]]], states: Iterable[int], bits: int) -> _Set:
    reached = set(states)
    todo = list(reached)
    while todo:
        for conditions, target in epsilons[todo.pop()]:
            if target not in reached and all(bool(bits >> number & 1) == value for number, value in conditions):
                reached.add(target)
                todo.append(target)
    return frozenset(reached)


class _Refining:
    """Numbers the pairs of a state of the old course and a set of a probe's states."""

    def __init__(self, course: _Course, walk: _Walk, number: int, budget: Budget) -> None:
        self.course, self.walk, self.number, self.budget = course, walk, number, budget
        self.numbers: dict[tuple[int, _Set], int] = {}
        self.pairs: list[tuple[int, _Set]] = []
        self.bits: list[int] = []

    def state(self, old: int, states: _Set) -> int:
        index = self.numbers.get((old, states))
        if index is None:
            index = self.numbers[old, states] = len(self.pairs)
            self.pairs.append((old, states))
            self.bits.append(self.course.bits[old] | (self.walk.last in states) << self.number)
        return index


def _forward(course: _Course, walk: _Walk, number: int, budget: Budget) -> _Course:
    """The course with the bits of a probe that looks at what stands before."""
    new = _Refining(course, walk, number, budget)
    starts = [new.state(old, walk.edge(course.bits[old])) for old in course.starts]
    edges: list[list[tuple[int, int]]] = []
    while len(edges) < len(new.pairs):
        old, states = new.pairs[len(edges)]
        budget.spend(len(course.edges[old]))
        ways = ((index, after, walk.step(states, index, course.bits[after])) for index, after in course.edges[old])
        edges.append([(index, new.state(after, reached)) for index, after, reached in ways])
    final = set(course.finals)
    finals = [index for index, (old, _) in enumerate(new.pairs) if old in final]
    return _Course(new.bits, edges, starts, finals)


def _backward(course: _Course, walk: _Walk, number: int, budget: Budget) -> _Course:
    """The course with the bits of a probe that looks at what stands behind."""
    before: list[list[tuple[int, int]]] = [[] for _ in course.edges]
    for old, out in enumerate(course.edges):
        for index, after in out:
            before[after].append((index, old))
    new = _Refining(course, walk, number, budget)
    finals = [new.state(old, walk.edge(course.bits[old])) for old in course.finals]
    arriving: list[list[tuple[int, int]]] = []
    while len(arriving) < len(new.pairs):
        old, states = new.pairs[len(arriving)]
        budget.spend(len(before[old]))
        ways = ((index, prior, walk.step(states, index, course.bits[prior])) for index, prior in before[old])
        arriving.append([(index, new.state(prior, reached)) for index, prior, reached in ways])
    edges: list[list[tuple[int, int]]] = [[] for _ in new.pairs]
    for after, arrivals in enumerate(arriving):
        for index, prior in arrivals:
            edges[prior].append((index, after))
    start = set(course.starts)
    starts = [index for index, (old, _) in enumerate(new.pairs) if old in start]
    return _Course(new.bits, edges, starts, finals)


def _along(
    thread: Thread, course: _Course, numbers: dict[Charset, list[int]], classes: tuple[Charset, ...], limits: Limits
) -> Nfa:
    """The thread and the course side by side."""
    moves: list[dict[int, list[int]]] = [{} for _ in thread.edges]
    for source, edges in enumerate(thread.edges):
        for members, target in edges:
            for index in numbers[members]:
                moves[source].setdefault(index, []).append(target)
    budget = Budget(limits, "the assertions of a regular expression", cost=8)
    nfa = Nfa(TEXT)
    known: dict[tuple[int, int], int] = {}
    todo: list[tuple[int, int]] = []

    def state(own: int, place: int) -> int:
        number = known.get((own, place))
        if number is None:
            number = known[own, place] = nfa.add_state()
            todo.append((own, place))
        return number

    nfa.starts.extend([state(thread.start, place) for place in course.starts])
    while todo:
        own, place = todo.pop()
        number, bits = known[own, place], course.bits[place]
        for conditions, target in thread.epsilons[own]:
            if all(bool(bits >> probe & 1) == value for probe, value in conditions):
                nfa.add_epsilon(number, state(target, place))
        if moves[own]:
            budget.spend(len(course.edges[place]))
            for index, after in course.edges[place]:
                for target in moves[own].get(index, ()):
                    nfa.add_edge(number, classes[index], state(target, after))
    nfa.finals.update(known[thread.final, place] for place in course.finals if (thread.final, place) in known)
    return nfa
