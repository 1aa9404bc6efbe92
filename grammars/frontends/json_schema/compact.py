"""A finite part of a grammar as one small deterministic automaton, to be kept and spliced in again.

Subsets of states (Rabin and Scott, 1959), then states that cannot be told apart are merged (Moore, 1956).
"""

from __future__ import annotations

from collections import defaultdict

from ...ir import IR, Kind
from ...ir.nodes import UNBOUNDED
from ...ir.utf8 import Fragment

__all__ = ["as_fragment"]


def as_fragment(ir: IR) -> Fragment:
    """The whole grammar ``ir`` (without rules, small, and matching something) as one automaton."""
    automaton = _Automaton(ir)
    automaton.add(int(ir.start), 0, 1)
    table, accepting, cuts = automaton.determine()
    return _fragment(*_merge(table, accepting), cuts)


class _Automaton:
    """The nodes as an automaton with silent moves; state 0 starts and state 1 ends."""

    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.nodes = ir.nodes.tolist()
        self.children = ir.children.tolist()
        self.moves: list[list[tuple[int, int, int]]] = [[], []]
        self.silent: list[list[int]] = [[], []]

    def state(self) -> int:
        self.moves.append([])
        self.silent.append([])
        return len(self.moves) - 1

    def add(self, node: int, start: int, end: int) -> None:
        """Ways from ``start`` to ``end`` for all texts of the node; its nesting is what our own formats have."""
        kind, first, second, third = self.nodes[node]
        listed = self.children[first : first + second]
        match Kind(kind):
            case Kind.EPSILON:
                self.silent[start].append(end)
            case Kind.LITERAL:
                data = self.ir.data[first : first + second].tolist()
                for place, byte in enumerate(data):
                    after = end if place == len(data) - 1 else self.state()
                    self.moves[start].append((byte, byte, after))
                    start = after
            case Kind.FRAGMENT:
                self._splice(first, start, end)
            case Kind.SEQUENCE:
                for place, child in enumerate(listed):
                    after = end if place == len(listed) - 1 else self.state()
                    self.add(child, start, after)
                    start = after
            case Kind.ALTERNATION | Kind.LITERALS:
                for child in listed:
                    self.add(child, start, end)
            case Kind.REPEAT:
                self._repeat(first, second, third, start, end)
            case other:
                raise ValueError(f"as_fragment: expected a finite part without rules, got {other.name}")

    def _splice(self, index: int, start: int, end: int) -> None:
        first, last = self.ir.fragments[index : index + 2].tolist()
        own = {0: start, 1: end}
        for source, low, high, target in self.ir.fragment_edges[first:last].tolist():
            for state in (source, target):
                if state not in own:
                    own[state] = self.state()
            if low > high:
                self.silent[own[source]].append(own[target])
            else:
                self.moves[own[source]].append((low, high, own[target]))

    def _repeat(self, node: int, minimum: int, maximum: int, start: int, end: int) -> None:
        for _ in range(minimum):
            after = self.state()
            self.add(node, start, after)
            start = after
        if maximum == UNBOUNDED:
            loop = self.state()
            self.silent[start].append(loop)
            self.add(node, loop, loop)
            self.silent[loop].append(end)
            return
        self.silent[start].append(end)
        for _ in range(maximum - minimum):
            after = self.state()
            self.add(node, start, after)
            self.silent[after].append(end)
            start = after

    def determine(self) -> tuple[list[list[int]], list[bool], list[int]]:
        """For each subset of states the next one by class of bytes (-1: none), whether it may end, and where the
        classes begin (the last entry is 256)."""
        cuts = sorted({0, 256}.union(*({low, high + 1} for moves in self.moves for low, high, _ in moves)))
        class_of = {cut: index for index, cut in enumerate(cuts)}
        classes = len(cuts) - 1
        moves = [
            [(class_of[low], class_of[high + 1], target) for low, high, target in outgoing] for outgoing in self.moves
        ]
        start = self._closure(frozenset({0}))
        numbers = {start: 0}
        order = [start]
        table: list[list[int]] = []
        known: dict[frozenset[int], int] = {frozenset(): -1}
        for subset in order:
            targets: list[set[int]] = [set() for _ in range(classes)]
            for state in subset:
                for first, last, target in moves[state]:
                    for index in range(first, last):
                        targets[index].add(target)
            row = []
            for reached in map(frozenset, targets):
                number = known.get(reached)
                if number is None:
                    closed = self._closure(reached)
                    number = numbers.get(closed)
                    if number is None:
                        number = numbers[closed] = len(order)
                        order.append(closed)
                    known[reached] = number
                row.append(number)
            table.append(row)
        return table, [1 in subset for subset in order], cuts

    def _closure(self, states: frozenset[int]) -> frozenset[int]:
        found = set(states)
        pending = list(states)
        while pending:
            for after in self.silent[pending.pop()]:
                if after not in found:
                    found.add(after)
                    pending.append(after)
        return frozenset(found)


def _merge(table: list[list[int]], accepting: list[bool]) -> tuple[list[list[int]], list[bool]]:
    """The same automaton with one state for all that cannot be told apart; state 0 still starts."""
    classes = [int(accepts) for accepts in accepting]
    count = 0
    while True:
        signatures: dict[tuple[int, ...], int] = {}
        refined = []
        for state, row in enumerate(table):
            signature = (classes[state], *(classes[target] if target >= 0 else -1 for target in row))
            refined.append(signatures.setdefault(signature, len(signatures)))
        classes = refined
        if len(signatures) == count:
            break
        count = len(signatures)
    merged: dict[int, int] = {}
    for state, number in enumerate(classes):
        merged.setdefault(number, state)
    rows = [table[merged[number]] for number in range(count)]
    return (
        [[classes[target] if target >= 0 else -1 for target in row] for row in rows],
        [accepting[merged[number]] for number in range(count)],
    )


def _fragment(table: list[list[int]], accepting: list[bool], cuts: list[int]) -> Fragment:
    """As a fragment: nothing leads back to its start, nothing leaves its end."""
    edges: list[tuple[int, int, int, int]] = []
    leaf = [accepting[state] and all(target < 0 for target in row) for state, row in enumerate(table)]
    place = {state: number + 2 for number, state in enumerate(state for state in range(len(table)) if not leaf[state])}
    for state, row in enumerate(table):
        if leaf[state]:
            continue
        runs: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for index, target in enumerate(row):
            if target < 0:
                continue
            low, high = cuts[index], cuts[index + 1] - 1
            spans = runs[1 if leaf[target] else place[target]]
            if spans and spans[-1][1] == low - 1:
                spans[-1] = (spans[-1][0], high)
            else:
                spans.append((low, high))
        edges += [(place[state], low, high, target) for target, spans in runs.items() for low, high in spans]
        if accepting[state]:
            edges.append((place[state], 1, 0, 1))
    edges.insert(0, (0, 1, 0, place[0]))
    return len(place) + 2, tuple(edges)
