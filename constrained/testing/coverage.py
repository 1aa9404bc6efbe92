"""Which transitions of a grammar's network some texts take: what a generator of sentences should reach.

A plain simulation of the network that the machine runs: all ways at once, each with its stack of returns. Of a text's
ways those count that end well.
"""

from __future__ import annotations

from collections import defaultdict

from grammars.automaton.memory import (
    END_CALL,
    END_EDGE,
    END_EPSILON,
    FINAL,
    FIRST_CALL,
    FIRST_EDGE,
    FIRST_EPSILON,
    STATE_FLAGS,
)
from grammars.automaton.network import build_network
from grammars.ir import IR

__all__ = ["TransitionCoverage"]

_Place = tuple[int, tuple[int, ...]]
"""A state, and where the calls that are open return to, the innermost last."""
_Step = tuple[tuple[int, _Place], int]
"""Where from, and the byte edge taken, or -1."""
_DEEPEST = 200


class TransitionCoverage:
    """The byte edges of a network, and which of them texts of the language have taken.

    >>> import grammars
    >>> from constrained.testing.subjects import byte_vocabulary
    >>> coverage = TransitionCoverage(grammars.compile_regex("ab|cd", byte_vocabulary()).ir)
    >>> coverage.add(b"ab"), coverage.add(b"ax")
    (True, False)
    >>> print(coverage)
    2 of 4 transitions (50 %)
    """

    def __init__(self, ir: IR) -> None:
        network = build_network(ir)
        self._states: list[list[int]] = network.states.tolist()
        self._edges: list[list[int]] = network.byte_edges.tolist()
        self._epsilons: list[int] = network.epsilon_edges.tolist()
        self._calls: list[list[int]] = network.call_edges.tolist()
        self._start = network.start
        self._reachable = self._reachable_edges()
        self._taken: set[int] = set()

    @property
    def total(self) -> int:
        """How many transitions there are."""
        return len(self._reachable)

    @property
    def covered(self) -> int:
        """How many were taken."""
        return len(self._taken)

    @property
    def is_whole(self) -> bool:
        """Whether all were."""
        return self._taken == self._reachable

    def __str__(self) -> str:
        share = 100 * self.covered / max(self.total, 1)
        return f"{self.covered} of {self.total} transitions ({share:.0f} %)"

    def add(self, text: bytes) -> bool:
        """Count the transitions of a text; False, and nothing changes, if it is not in the language.

        What guards and registers would say is not asked.
        """
        came: dict[tuple[int, _Place], list[_Step]] = defaultdict(list)
        here: set[_Place] = self._closed({(self._start, ())}, 0, came)
        for position, byte in enumerate(text):
            after: set[_Place] = set()
            for place in here:
                state, stack = place
                for edge in range(self._states[state][FIRST_EDGE], self._states[state][END_EDGE]):
                    bounds, target = self._edges[edge]
                    if bounds & 0xFF <= byte <= bounds >> 8:
                        after.add((target, stack))
                        came[position + 1, (target, stack)].append(((position, place), edge))
            here = self._closed(after, position + 1, came)
        ends = [(len(text), place) for place in here if not place[1] and self._states[place[0]][STATE_FLAGS] & FINAL]
        self._mark(ends, came)
        return bool(ends)

    def _closed(self, places: set[_Place], position: int, came: dict[tuple[int, _Place], list[_Step]]) -> set[_Place]:
        """The places, and all that are reached from them without reading."""
        known, pending = set(places), list(places)
        while pending:
            place = pending.pop()
            for target in self._silent(place):
                came[position, target].append(((position, place), -1))
                if target not in known and len(target[1]) < _DEEPEST:
                    known.add(target)
                    pending.append(target)
        return known

    def _silent(self, place: _Place) -> list[_Place]:
        state, stack = place
        row = self._states[state]
        targets = [(self._epsilons[edge], stack) for edge in range(row[FIRST_EPSILON], row[END_EPSILON])]
        for call in range(row[FIRST_CALL], row[END_CALL]):
            rule, back = self._calls[call]
            if rule < 0:  # a guard, or work on a register: taken to agree
                targets.append((back, stack))
            else:
                targets.append((rule, stack if back < 0 else (*stack, back)))
        if row[STATE_FLAGS] & FINAL and stack:
            targets.append((stack[-1], stack[:-1]))
        return targets

    def _mark(self, ends: list[tuple[int, _Place]], came: dict[tuple[int, _Place], list[_Step]]) -> None:
        known, pending = set(ends), list(ends)
        while pending:
            for source, edge in came[pending.pop()]:
                if edge >= 0:
                    self._taken.add(edge)
                if source not in known:
                    known.add(source)
                    pending.append(source)

    def _reachable_edges(self) -> set[int]:
        known, pending, edges = {self._start}, [self._start], set[int]()
        while pending:
            row = self._states[pending.pop()]
            targets = [self._epsilons[edge] for edge in range(row[FIRST_EPSILON], row[END_EPSILON])]
            for edge in range(row[FIRST_EDGE], row[END_EDGE]):
                edges.add(edge)
                targets.append(self._edges[edge][1])
            for call in range(row[FIRST_CALL], row[END_CALL]):
                targets += [state for state in self._calls[call] if state >= 0]
            pending += [state for state in set(targets) if state not in known]
            known.update(targets)
        return edges
