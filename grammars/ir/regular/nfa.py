"""Nondeterministic finite automata, to be made deterministic by the subset construction."""

from __future__ import annotations

from ...limits import DEFAULT_LIMITS, Limits
from ..charset import Charset, intersection
from .alphabet import Alphabet, partition
from .budget import Budget
from .dfa import Dfa, from_rows

__all__ = ["Nfa", "meet"]


class Nfa:
    """States with edges on sets of symbols and edges on nothing; texts are read from ``starts`` to ``finals``.

    >>> nfa = Nfa(((0, 255),))
    >>> start, end = nfa.add_state(), nfa.add_state()
    >>> nfa.add_edge(start, ((97, 98),), end)
    >>> nfa.add_epsilon(end, start)
    >>> nfa.starts.append(start)
    >>> nfa.finals.add(end)
    >>> nfa.determinise().accepts(b"abba")
    True
    """

    def __init__(self, universe: Charset) -> None:
        self.universe = universe
        self.charsets: dict[Charset, int] = {}
        self.edges: list[list[tuple[int, int]]] = []  # of each state: (number of the charset, target)
        self.epsilons: list[list[int]] = []
        self.starts: list[int] = []
        self.finals: set[int] = set()

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

    def determinise(self, *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
        """The deterministic automaton of the same language, over the coarsest alphabet that fits.

        Raises :class:`~grammars.errors.LimitExceeded` when that takes too many steps (edges of the members of states).
        """
        alphabet, members = partition(self.universe, list(self.charsets))
        return _Subsets(self, alphabet, members, limits).dfa()


class _Subsets:
    """The subset construction: a state of the new automaton is a set of those states of the old that matter."""

    def __init__(self, nfa: Nfa, alphabet: Alphabet, members: list[list[int]], limits: Limits) -> None:
        self.nfa = nfa
        self.alphabet = alphabet
        self.members = members
        self.budget = Budget(limits, "making a finite automaton deterministic", cost=8)
        self.closures: dict[int, frozenset[int]] = {}
        self.moves: dict[int, dict[int, frozenset[int]]] = {}
        self.numbers: dict[frozenset[int], int] = {frozenset(): 0}
        self.order: list[frozenset[int]] = [frozenset()]
        self.universal = frozenset(state for state in range(len(nfa.edges)) if self.takes_everything(state))

    def closed(self, state: int) -> frozenset[int]:
        """What the state reaches on nothing, as far as it reads or ends a text."""
        found = self.closures.get(state)
        if found is None:
            nfa = self.nfa
            found = frozenset(other for other in nfa.closure(state) if nfa.edges[other] or other in nfa.finals)
            self.closures[state] = found
            self.budget.spend(len(found))
        return found

    def moved(self, state: int) -> dict[int, frozenset[int]]:
        """What the state reaches on one symbol, by class."""
        found = self.moves.get(state)
        if found is None:
            targets: dict[int, list[frozenset[int]]] = {}
            for number, target in self.nfa.edges[state]:
                for index in self.members[number]:
                    targets.setdefault(index, []).append(self.closed(target))
            found = self.moves[state] = {index: _joined(some) for index, some in targets.items()}
        return found

    def takes_everything(self, state: int) -> bool:
        """Whether any text may follow: the state ends a text, and stays itself on every symbol."""
        if not self.nfa.edges[state] or self.nfa.finals.isdisjoint(self.closed(state)):
            return False
        moves = self.moved(state)
        return len(moves) == len(self.alphabet.classes) and all(state in some for some in moves.values())

    def number(self, subset: frozenset[int]) -> int:
        """The new state of a subset. One member that takes everything says it all: without this, a search for many
        words would remember which of them it has found."""
        if not self.universal.isdisjoint(subset):
            subset = self.universal
        found = self.numbers.get(subset)
        if found is None:
            found = self.numbers[subset] = len(self.order)
            self.order.append(subset)
        return found

    def row(self, subset: frozenset[int]) -> list[int]:
        """Where the new state leads, by class."""
        pieces: dict[int, list[frozenset[int]]] = {}
        for state in subset:
            moves = self.moved(state)
            self.budget.spend(len(moves))
            for index, targets in moves.items():
                pieces.setdefault(index, []).append(targets)
        row = [0] * len(self.alphabet.classes)
        for index, some in pieces.items():
            targets = _joined(some)
            self.budget.spend(len(targets))
            row[index] = self.number(targets)
        return row

    def dfa(self) -> Dfa:
        """Every new state that can be reached."""
        start = self.number(_joined([self.closed(state) for state in self.nfa.starts]))
        rows = [[0] * len(self.alphabet.classes)]
        while len(rows) < len(self.order):
            rows.append(self.row(self.order[len(rows)]))
        ends = [subset is self.universal or not self.nfa.finals.isdisjoint(subset) for subset in self.order]
        ends[0] = False
        return from_rows(self.alphabet, rows, ends, start)


def _joined(subsets: list[frozenset[int]]) -> frozenset[int]:
    return subsets[0] if len(subsets) == 1 else frozenset().union(*subsets)


def meet(nfa: Nfa, dfa: Dfa, *, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether some text is a member of both: no subset is made, so the first may be one that cannot be determinised."""
    if nfa.universe != dfa.alphabet.universe:
        raise ValueError("expected automata over the same universe, got one over text and one over bytes")
    touched = [
        [index for index, members in enumerate(dfa.alphabet.classes) if intersection(charset, members)]
        for charset in nfa.charsets
    ]
    rows, ends = dfa.transitions.tolist(), dfa.accepting.tolist()
    budget = Budget(limits, "texts that two finite automata share", cost=4)
    todo = [(state, dfa.start) for start in nfa.starts for state in nfa.closure(start)] if dfa.start else []
    seen = set(todo)
    while todo:
        state, other = todo.pop()
        if state in nfa.finals and ends[other]:
            return True
        for charset, target in nfa.edges[state]:
            budget.spend(len(touched[charset]))
            for after in {rows[other][index] for index in touched[charset]} - {0}:
                for reached in nfa.closure(target):
                    if (reached, after) not in seen:
                        seen.add((reached, after))
                        todo.append((reached, after))
    return False
