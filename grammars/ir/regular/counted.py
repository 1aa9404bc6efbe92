"""Members of a finite automaton that have some lengths, written into the intermediate form without the whole product.

A state of the product is a state of the automaton with the number of symbols read. Where whatever may still follow has
an allowed length, the number no longer matters; all such states are shared. The others are rules, made as arrays at
once, for there may be hundreds of thousands.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...errors import LimitExceeded
from ..builder import Builder
from ..charset import Charset
from ..nodes import NodeId, RuleId
from .bulk import append_rules
from .dfa import Dfa, is_empty
from .text_ahead import counted_text_ahead, text_ahead
from .write import to_node

__all__ = ["counted_node", "has_length"]

_ENDLESS = 1 << 40
MAX_PAIRS = 400_000
"""States with a number; beyond this it is refused."""

_Bools = npt.NDArray[np.bool_]
_Ints = npt.NDArray[np.int64]


def counted_node(
    dfa: Dfa,
    minimum: int,
    maximum: int | None,
    builder: Builder,
    *,
    characters: Callable[[Charset], NodeId] | None = None,
) -> NodeId:
    """The members of ``minimum`` to ``maximum`` symbols (``None``: without end), as :func:`to_node` writes them.

    Raises :class:`~grammars.errors.LimitExceeded` where the number of symbols matters in too many states.

    >>> from grammars.ir.regular import TEXT, lengths
    >>> builder = Builder()
    >>> counted_node(lengths(TEXT, 0), 0, None, builder) > 0
    True
    """
    if is_empty(dfa):
        return builder.never
    counting = _Counting(dfa, minimum, maximum)
    if counting.free[0, dfa.start]:
        return to_node(dfa, builder, characters=characters)
    if not counting.alive[0, dfa.start]:
        return builder.never
    return _Writer(counting, builder, builder.charset if characters is None else characters).write()


def has_length(dfa: Dfa, minimum: int, maximum: int | None) -> bool:
    """Whether some member has ``minimum`` to ``maximum`` symbols (``None``: without end).

    >>> from grammars.ir.regular import TEXT, one_of
    >>> has_length(one_of(TEXT, [b"ab"]), 3, None)
    False
    """
    followers = [set(row) - {0} for row in dfa.transitions.tolist()]
    ends = set(np.flatnonzero(dfa.accepting).tolist())
    seen: dict[frozenset[int], frozenset[int]] = {}
    here = frozenset({dfa.start} - {0})
    for number in range(minimum if maximum is None else maximum + 1):
        if not here:
            return False
        if number >= minimum and not here.isdisjoint(ends):
            return True
        after = seen.get(here)
        if after is None:
            after = seen[here] = frozenset().union(*(followers[state] for state in here))
        here = after
    return maximum is None and bool(here)


class _Counting:
    """Which (number, state) pairs can be reached and left, and where the number matters. Shapes (N + 1, S)."""

    def __init__(self, dfa: Dfa, minimum: int, maximum: int | None) -> None:
        self.dfa = dfa
        self.minimum = minimum
        self.last = minimum if maximum is None else maximum
        self.endless = maximum is None
        if (self.last + 1) * len(dfa.accepting) > 200 * MAX_PAIRS:
            raise LimitExceeded("max_states", MAX_PAIRS, "a pattern or format together with minLength or maxLength")
        shortest, longest = _spans(dfa)
        numbers = np.arange(self.last + 1)[:, None]
        self.free: _Bools = shortest[None, :] >= minimum - numbers
        if maximum is not None:
            self.free &= longest[None, :] <= maximum - numbers
        self.free[:, 0] = False
        start = np.zeros(len(dfa.accepting), np.bool_)
        start[dfa.start] = True
        targets = dfa.transitions

        def forward(row: _Bools, number: int) -> _Bools:
            after = np.zeros_like(row)
            after[targets[row].ravel()] = True
            after[0] = False
            return after

        def backward(row: _Bools, number: int) -> _Bools:
            before: _Bools = np.any(row[targets], axis=1)
            return before | dfa.accepting if number >= minimum else before

        ends = dfa.accepting.copy() if maximum is not None else np.arange(len(dfa.accepting)) > 0
        reached = _rows(start, self.last, forward, lambda number: False)
        back = _rows(
            ends,
            self.last,
            lambda row, step: backward(row, self.last - step),
            lambda step: self.last - step >= minimum,
        )
        self.alive: _Bools = reached & back[::-1]
        self.alive[:, 0] = False
        self.counted: _Bools = self.alive & ~self.free
        if self.counted.sum() > MAX_PAIRS:
            raise LimitExceeded("max_states", MAX_PAIRS, "a pattern or format together with minLength or maxLength")


def _spans(dfa: Dfa) -> tuple[_Ints, _Ints]:
    """The lengths of the shortest and the longest text from each state to an end."""
    count = len(dfa.accepting)
    shortest = np.where(dfa.accepting, 0, _ENDLESS)
    for _ in range(count):
        better = np.minimum(shortest, shortest[dfa.transitions].min(axis=1, initial=_ENDLESS) + 1)
        if (better == shortest).all():
            break
        shortest = better
    longest = np.full(count, -1)
    followers = [sorted(set(row) - {0}) for row in dfa.transitions.tolist()]
    left = [len(row) for row in followers]
    before: list[list[int]] = [[] for _ in followers]
    for state, row in enumerate(followers):
        for target in row:
            before[target].append(state)
    todo = [state for state, number in enumerate(left) if not number]
    while todo:  # what is not reached backwards from the ends lies on a cycle, or before one
        state = todo.pop()
        longest[state] = max((longest[target] + 1 for target in followers[state]), default=0)
        for source in before[state]:
            left[source] -= 1
            if not left[source]:
                todo.append(source)
    return shortest, np.where(longest < 0, _ENDLESS, longest)


def _rows(first: _Bools, count: int, step: Callable[[_Bools, int], _Bools], kind: Callable[[int], bool]) -> _Bools:
    """``first`` and the ``count`` rows that follow from it; a step that was made before is not made again."""
    known: dict[tuple[bytes, bool], _Bools] = {}
    rows = [first]
    for number in range(1, count + 1):
        key = (rows[-1].tobytes(), kind(number))
        after = known.get(key)
        if after is None:
            after = known[key] = step(rows[-1], number)
        rows.append(after)
    return np.array(rows)


class _Writer:
    """Writes one rule for each pair whose number matters; those with more symbols read come first."""

    def __init__(self, counting: _Counting, builder: Builder, characters: Callable[[Charset], NodeId]) -> None:
        self.counting = counting
        self.builder = builder
        self.characters = characters
        dfa = counting.dfa
        self.ways = dfa.edges()
        flat = counting.counted[::-1].ravel()  # the last number first, so that what is called is known before
        order = np.cumsum(flat) - 1
        self.number = np.where(flat, order, -1).reshape(counting.counted.shape)[::-1]
        self.num_rules = int(flat.sum())

    def write(self) -> NodeId:
        counting, builder = self.counting, self.builder
        sources: list[_Ints] = []
        letters: list[_Ints] = []
        targets: list[
            _Ints
        ] = []  # numbers of rules; the calls of states whose number does not matter, less one, negated
        free_calls = self._free_calls()
        for state, ways in enumerate(self.ways):
            mine = self.number[:, state]
            numbers = np.flatnonzero(mine >= 0)
            numbers = numbers[numbers < counting.last]
            for target, members in ways:
                here = numbers[counting.alive[numbers + 1, target]]
                if len(here):
                    number = self.number[here + 1, target]
                    sources.append(mine[here])
                    letters.append(np.full(len(here), self.characters(members)))
                    targets.append(np.where(number >= 0, number, -1 - free_calls.get(target, 0)))
        ends = np.zeros(self.num_rules, np.bool_)
        for state in np.flatnonzero(counting.dfa.accepting).tolist():
            mine = self.number[counting.minimum :, state]
            ends[mine[mine >= 0]] = True
        none = np.empty(0, np.int64)
        edges = [np.concatenate([none, *parts]) for parts in (sources, letters, targets)]
        ahead = np.zeros(self.num_rules, np.int64)
        text = counted_text_ahead(counting.dfa, counting.alive, counting.free & counting.alive)
        ahead[self.number[counting.counted]] = text[counting.counted]
        calls = append_rules(builder, edges[0], edges[1], edges[2], ends, ahead)
        return NodeId(int(calls[self.number[0, counting.dfa.start]]))

    def _free_calls(self) -> dict[int, NodeId]:
        """Calls of rules for what may follow in a state whatever the number, where that is asked for."""
        counting, builder = self.counting, self.builder
        rules: dict[int, RuleId] = {}
        todo = np.flatnonzero((counting.free & counting.alive).any(axis=0)).tolist()
        while todo:
            state = todo.pop()
            if state not in rules:
                rules[state] = builder.declare_rule(f"state {state}")
                todo.extend(target for target, _ in self.ways[state])
        for state, rule in rules.items():
            ways = [
                builder.sequence(self.characters(members), builder.call(rules[target]))
                for target, members in self.ways[state]
            ]
            if counting.dfa.accepting[state]:
                ways.append(builder.epsilon)
            promise = builder.text_ahead(text_ahead(counting.dfa)[state])
            builder.define_rule(rule, builder.sequence(promise, builder.alternation(*ways)))
        return {state: builder.call(rule) for state, rule in rules.items()}
