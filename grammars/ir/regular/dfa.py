"""Deterministic finite automata as arrays: the Boolean operations and the questions that decide.

State 0 is dead: it accepts nothing and is never left. Every other state can be reached and can reach an accepting one,
so a language is empty if and only if its automaton starts dead.

>>> from grammars.ir.regular import TEXT
>>> short = lengths(TEXT, 0, 2)
>>> shortest_member(complement(short))
(0, 0, 0)
>>> includes(lengths(TEXT, 0, 5), short)
True
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...limits import DEFAULT_LIMITS, Limits
from ..charset import Charset
from ..nodes import Int32Array
from .alphabet import Alphabet, partition, refine
from .budget import Budget

__all__ = [
    "Dfa",
    "complement",
    "difference",
    "equivalent",
    "from_rows",
    "includes",
    "intersection",
    "is_empty",
    "length_range",
    "lengths",
    "one_of",
    "shortest_member",
    "symmetric_difference",
    "union",
]


@dataclass(frozen=True, slots=True, eq=False)
class Dfa:
    """An automaton of S states over an alphabet of K classes, frozen.

    ``transitions`` (S, K) holds the next state, ``accepting`` (S,) whether a text may end in the state.
    """

    alphabet: Alphabet
    transitions: Int32Array
    accepting: npt.NDArray[np.bool_]
    start: int

    def accepts(self, symbols: Iterable[int]) -> bool:
        """Whether the text (code points, or bytes) is a member. A symbol outside the universe never is."""
        intervals = self.alphabet.intervals()
        lows = [low for low, _, _ in intervals]
        state = self.start
        for symbol in symbols:
            index = bisect_right(lows, symbol) - 1
            if index < 0 or symbol > intervals[index][1]:
                return False
            state = int(self.transitions[state, intervals[index][2]])
        return bool(self.accepting[state])

    def edges(self) -> list[list[tuple[int, Charset]]]:
        """For each state: (next state, symbols that lead there), the dead state left out. Equal sets are one object."""
        known: dict[tuple[int, ...], Charset] = {}
        result: list[list[tuple[int, Charset]]] = []
        for row in self.transitions.tolist():
            classes: dict[int, list[int]] = {}
            for index, target in enumerate(row):
                if target:
                    classes.setdefault(target, []).append(index)
            edges: list[tuple[int, Charset]] = []
            for target, indices in classes.items():
                key = tuple(indices)
                members = known.get(key)
                if members is None:
                    members = known[key] = _merged(piece for index in indices for piece in self.alphabet.classes[index])
                edges.append((target, members))
            result.append(edges)
        return result


def _merged(pieces: Iterable[tuple[int, int]]) -> Charset:
    result: list[tuple[int, int]] = []
    for low, high in sorted(pieces):
        if result and result[-1][1] == low - 1:
            result[-1] = (result[-1][0], high)
        else:
            result.append((low, high))
    return tuple(result)


# -- making -----------------------------------------------------------------------------------------------------


def from_rows(alphabet: Alphabet, rows: list[list[int]], accepting: list[bool], start: int) -> Dfa:
    """The automaton of a table whose state 0 is dead, without states that do not matter; like classes are joined."""
    before: list[list[int]] = [[] for _ in rows]
    for state, row in enumerate(rows):
        for target in set(row):
            before[target].append(state)
    alive = accepting.copy()
    todo = [state for state, accepts in enumerate(accepting) if accepts]
    while todo:
        for state in before[todo.pop()]:
            if not alive[state]:
                alive[state] = True
                todo.append(state)
    number = {0: 0}
    order = [0]
    if alive[start]:
        number[start] = 1
        order.append(start)
        for state in order:  # grows while it runs
            for target in rows[state]:
                if alive[target] and target not in number:
                    number[target] = len(order)
                    order.append(target)
    table = [[number.get(target, 0) for target in rows[state]] for state in order]
    columns: dict[tuple[int, ...], list[int]] = {}
    for index, column in enumerate(zip(*table, strict=True)):
        columns.setdefault(column, []).append(index)
    if len(columns) < len(alphabet.classes):
        joined = ([piece for index in same for piece in alphabet.classes[index]] for same in columns.values())
        alphabet = Alphabet(alphabet.universe, tuple(map(_merged, joined)))
    transitions = np.array(list(columns), np.int32).reshape(len(columns), len(order)).T.copy()
    return Dfa(alphabet, transitions, np.array([accepting[state] for state in order]), number.get(start, 0))


def lengths(universe: Charset, minimum: int, maximum: int | None = None) -> Dfa:
    """All texts of ``minimum`` to ``maximum`` symbols, ``None``: without end."""
    alphabet, _ = partition(universe, [])
    if maximum is None:
        rows = [[0], *([state + 1] for state in range(1, minimum + 1)), [minimum + 1]]
    else:
        rows = [[0], *([state + 1] for state in range(1, maximum + 1)), [0]]
    accepting = [False] + [index >= minimum for index in range(len(rows) - 1)]
    return from_rows(alphabet, rows, accepting, 1)


def one_of(universe: Charset, texts: Iterable[Iterable[int]]) -> Dfa:
    """Exactly these texts, as sequences of symbols; thousands are fine.

    >>> one_of(((0, 255),), [b"ab", b"a"]).accepts(b"ab")
    True
    """
    trie: list[dict[int, int]] = [{}, {}]
    ends: set[int] = set()
    for text in texts:
        state = 1
        for symbol in text:
            after = trie[state].get(symbol)
            if after is None:
                after = trie[state][symbol] = len(trie)
                trie.append({})
            state = after
        ends.add(state)
    symbols = sorted({symbol for edges in trie for symbol in edges})
    alphabet, members = partition(universe, [((symbol, symbol),) for symbol in symbols])
    classes = {symbol: owned[0] for symbol, owned in zip(symbols, members, strict=True) if owned}
    rows = [[0] * len(alphabet.classes) for _ in trie]
    for state, edges in enumerate(trie):
        for symbol, target in edges.items():
            if symbol in classes:
                rows[state][classes[symbol]] = target
    return from_rows(alphabet, rows, [state in ends for state in range(len(trie))], 1)


# -- Boolean operations -----------------------------------------------------------------------------------------


def _product(left: Dfa, right: Dfa, accept: Callable[[bool, bool], bool], limits: Limits) -> Dfa:
    """The pairs of states that can be reached together; ``accept(False, False)`` is False."""
    alphabet, left_classes, right_classes = refine(left.alphabet, right.alphabet)
    left_rows = left.transitions[:, left_classes].tolist()
    right_rows = right.transitions[:, right_classes].tolist()
    left_accepts, right_accepts = left.accepting.tolist(), right.accepting.tolist()
    needs_left, needs_right = not accept(False, True), not accept(True, False)
    width = len(right_rows)
    budget = Budget(limits, "a product of finite automata", cost=4)
    number = {0: 0}
    order: list[tuple[int, int]] = [(0, 0)]
    rows: list[list[int]] = [[0] * len(alphabet.classes)]

    def numbered(first: int, second: int) -> int:
        if (needs_left and not first) or (needs_right and not second):
            return 0
        key = first * width + second
        index = number.get(key)
        if index is None:
            index = number[key] = len(order)
            order.append((first, second))
        return index

    start = numbered(left.start, right.start)
    done = 1
    while done < len(order):
        first, second = order[done]
        done += 1
        rows.append([numbered(*pair) for pair in zip(left_rows[first], right_rows[second], strict=True)])
        budget.spend(len(alphabet.classes))
    accepting = [accept(left_accepts[first], right_accepts[second]) for first, second in order]
    return from_rows(alphabet, rows, accepting, start)


def intersection(left: Dfa, right: Dfa, *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """The texts that are members of both. Raises :class:`~grammars.errors.LimitExceeded`, as do the others below."""
    return _product(left, right, lambda first, second: first and second, limits)


def union(left: Dfa, right: Dfa, *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """The texts that are members of either."""
    return _product(left, right, lambda first, second: first or second, limits)


def difference(left: Dfa, right: Dfa, *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """The members of ``left`` that are not in ``right``."""
    return _product(left, right, lambda first, second: first and not second, limits)


def symmetric_difference(left: Dfa, right: Dfa, *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """The texts that are members of one of the two only."""
    return _product(left, right, lambda first, second: first != second, limits)


def complement(dfa: Dfa) -> Dfa:
    """The texts over the same universe that are not members."""
    shifted = (dfa.transitions + 1).tolist()  # the dead state becomes state 1, which accepts now
    rows = [[0] * len(dfa.alphabet.classes), *shifted]
    return from_rows(dfa.alphabet, rows, [False, *(~dfa.accepting).tolist()], dfa.start + 1)


# -- questions --------------------------------------------------------------------------------------------------


def is_empty(dfa: Dfa) -> bool:
    """Whether no text at all is a member."""
    return dfa.start == 0


def includes(outer: Dfa, inner: Dfa, *, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether every member of ``inner`` is one of ``outer``."""
    return is_empty(difference(inner, outer, limits=limits))


def equivalent(left: Dfa, right: Dfa, *, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether the two have the same members."""
    return is_empty(symmetric_difference(left, right, limits=limits))


def length_range(dfa: Dfa) -> tuple[int, int | None] | None:
    """The lengths of the shortest and the longest member (None: there is none), or None for an empty language.

    >>> length_range(lengths(((0, 255),), 2))
    (2, None)
    """
    shortest = shortest_member(dfa)
    if shortest is None:
        return None
    followers = [sorted(set(row) - {0}) for row in dfa.transitions.tolist()]
    entries = [0] * len(followers)
    for targets in followers:
        for target in targets:
            entries[target] += 1
    todo = [dfa.start] if not entries[dfa.start] else []
    longest = [0] * len(followers)
    done = 0
    while todo:  # in topological order; states on a cycle are never reached, and every state leads to a member
        state = todo.pop()
        done += 1
        for target in followers[state]:
            longest[target] = max(longest[target], longest[state] + 1)
            entries[target] -= 1
            if not entries[target]:
                todo.append(target)
    return len(shortest), max(longest) if done == len(followers) - 1 else None


def shortest_member(dfa: Dfa) -> tuple[int, ...] | None:
    """A shortest member, of the lowest symbols among those found first; None if there is none."""
    if is_empty(dfa):
        return None
    rows = dfa.transitions.tolist()
    lowest = sorted((members[0][0], index) for index, members in enumerate(dfa.alphabet.classes))
    came_from: dict[int, tuple[int, int]] = {dfa.start: (-1, -1)}
    todo = deque([dfa.start])
    while todo:
        state = todo.popleft()
        if dfa.accepting[state]:
            break
        for symbol, index in lowest:
            target = rows[state][index]
            if target and target not in came_from:
                came_from[target] = (state, symbol)
                todo.append(target)
    path: list[int] = []
    while state != dfa.start:
        state, symbol = came_from[state]
        path.append(symbol)
    return tuple(reversed(path))
