"""Nondeterministic finite automata, to be made deterministic by the subset construction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...limits import DEFAULT_LIMITS, Limits
from ..charset import Charset
from .alphabet import partition
from .budget import Budget
from .dfa import Dfa, from_rows

__all__ = ["Nfa"]


class Nfa:
    """States with edges on sets of symbols and edges on nothing.

    >>> nfa = Nfa(((0, 255),))
    >>> start, end = nfa.add_state(), nfa.add_state()
    >>> nfa.add_edge(start, ((97, 98),), end)
    >>> nfa.add_epsilon(end, start)
    >>> nfa.determinise([start], [end]).accepts(b"abba")
    True
    """

    def __init__(self, universe: Charset) -> None:
        self.universe = universe
        self.charsets: dict[Charset, int] = {}
        self.edges: list[list[tuple[int, int]]] = []  # of each state: (number of the charset, target)
        self.epsilons: list[list[int]] = []

    def add_state(self) -> int:
        """A new state without edges."""
        self.edges.append([])
        self.epsilons.append([])
        return len(self.edges) - 1

    def add_edge(self, source: int, charset: Charset, target: int) -> None:
        """From ``source`` to ``target`` on any symbol of the set."""
        if charset:
            self.edges[source].append((self.charsets.setdefault(charset, len(self.charsets)), target))

    def add_epsilon(self, source: int, target: int) -> None:
        """From ``source`` to ``target`` on nothing."""
        self.epsilons[source].append(target)

    def closure(self, state: int) -> list[int]:
        """The states that ``state`` reaches on nothing, itself included."""
        reached = {state}
        todo = [state]
        while todo:
            for target in self.epsilons[todo.pop()]:
                if target not in reached:
                    reached.add(target)
                    todo.append(target)
        return list(reached)

    def determinise(self, starts: Iterable[int], finals: Iterable[int], *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
        """The deterministic automaton of the same language, over the coarsest alphabet that fits.

        Raises :class:`~grammars.errors.LimitExceeded` when that takes too many steps (edges of the members of states).
        """
        alphabet, members = partition(self.universe, list(self.charsets))
        final = set(finals)
        closures: dict[int, frozenset[int]] = {}
        moves: dict[int, dict[int, set[int]]] = {}  # of each state, by class: closed, and only states that matter

        def closed(state: int) -> frozenset[int]:
            found = closures.get(state)
            if found is None:
                reached = (other for other in self.closure(state) if self.edges[other] or other in final)
                found = closures[state] = frozenset(reached)
            return found

        def moved(state: int) -> dict[int, set[int]]:
            found = moves.get(state)
            if found is None:
                found = moves[state] = {}
                for number, target in self.edges[state]:
                    for index in members[number]:
                        found.setdefault(index, set()).update(closed(target))
            return found

        first: frozenset[int] = frozenset().union(*map(closed, starts))
        number_of: dict[frozenset[int], int] = {frozenset(): 0}
        order: list[frozenset[int]] = [frozenset()]
        if first:
            number_of[first] = 1
            order.append(first)
        rows: list[list[int]] = [[0] * len(alphabet.classes)]
        budget = Budget(limits, "making a finite automaton deterministic", cost=8)
        for subset in _growing(order):
            reached: dict[int, set[int]] = {}
            for state in subset:
                for index, targets in moved(state).items():
                    budget.spend(len(targets))
                    known = reached.get(index)
                    reached[index] = targets if known is None else known | targets
            row = [0] * len(alphabet.classes)
            budget.spend(len(row))
            for index, targets in reached.items():
                key = frozenset(targets)
                number = number_of.get(key)
                if number is None:
                    number = number_of[key] = len(order)
                    order.append(key)
                row[index] = number
            rows.append(row)
        accepting = [not final.isdisjoint(subset) for subset in order]
        return from_rows(alphabet, rows, accepting, 1 if first else 0)


def _growing(order: list[frozenset[int]]) -> Iterator[frozenset[int]]:
    """The subsets behind the first, with those that are added meanwhile."""
    index = 1
    while index < len(order):
        yield order[index]
        index += 1
