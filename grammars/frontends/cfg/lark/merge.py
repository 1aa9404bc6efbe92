"""Variants of rules that say the same, made one: what is left of a grammar over boundaries is as small as it was.

First a partition refinement: places with the same ways on fall together. Then sets of places: where it makes no
difference with which boundary a rule ends, one rule takes all of them, so that nobody has to know beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from ....ir.regular.budget import Budget
from ....limits import Limits
from .variants import Boundary, Call, Label, Place, Variants

__all__ = ["Merged", "State", "Way", "merge"]

State: TypeAlias = frozenset[int]
"""Classes of places, any of which it may be."""

Way: TypeAlias = tuple[State | int, State]
"""(the state that a rule begins with, or the number of a language; the state behind)."""

Variant = tuple[Call, Boundary]
Node = tuple[Place, Boundary]


@dataclass(slots=True)
class Merged:
    """The states of all rules, those behind first; ``finals`` may end their rule, ``rules`` are the rules' numbers."""

    ways: dict[State, list[Way]] = field(default_factory=dict)
    finals: set[State] = field(default_factory=set)
    rules: dict[State, int] = field(default_factory=dict)


def merge(
    variants: Variants, ends: list[list[Boundary]], language: Callable[[Label], int], limits: Limits
) -> tuple[Merged, list[State]]:
    """The states that the start needs; for each list of ends of the start, the state that it begins with."""
    budget = Budget(limits, "the rules of a grammar with its lexer", cost=1)
    classes = _Classes(variants, [(variants.start, end) for some in ends for end in some], language, budget)
    starts = [frozenset(classes.opening(variants.start, end) for end in some) for some in ends]
    return _merge_sets(classes, starts, budget), starts


class _Classes:
    """The partition refinement of places, each with the boundary that its rule is to end with.

    Nodes and variants are told by their numbers: a large grammar has a hundred thousand, looked at again and again.
    """

    def __init__(
        self, variants: Variants, starts: list[Variant], language: Callable[[Label], int], budget: Budget
    ) -> None:
        self.variants = variants
        self.budget = budget
        self.language = language
        self.variant_numbers: dict[Variant, int] = {}
        self.node_numbers: dict[Node, int] = {}
        self.nodes: list[Node] = []
        self.edges: list[list[tuple[int, int]]] = []  # of each node: a variant, or -1 - a language; the node behind
        self.reach(starts)
        self.of_node = [0] * len(self.nodes)
        self.of_variant = [0] * len(self.variant_numbers)
        self.openings_of = [self.node_numbers[variants.opening(call), end] for call, end in self.variant_numbers]
        self.refine()
        self.ways: list[set[tuple[bool, int, int]]] = []
        self.finals: list[bool] = []
        self.heights: list[int] = []
        self.rules: list[int] = []
        self.openings: dict[int, int] = {}
        self.describe()

    def opening(self, call: Call, end: Boundary) -> int:
        """The class of the place with which a variant begins."""
        return self.of_node[self.openings_of[self.variant_numbers[call, end]]]

    def reach(self, starts: list[Variant]) -> None:
        """Number all variants and nodes that are needed."""
        self.variant_numbers = {variant: number for number, variant in enumerate(dict.fromkeys(starts))}
        todo = list(self.variant_numbers)
        while todo:
            call, end = todo.pop()
            pending = [self.number(self.variants.opening(call), end)]
            while pending:
                number = pending.pop()
                if number < len(self.edges) and self.edges[number] is not _UNKNOWN:
                    continue
                self.edges[number] = edges = []
                for label, target in self.variants.edges[self.nodes[number][0]]:
                    if end not in self.variants.finals[target]:
                        continue
                    after = self.number(target, end)
                    edges.append((self.numbered(label, todo), after))
                    pending.append(after)

    def number(self, place: Place, end: Boundary) -> int:
        """The number of a node."""
        node = (place, end)
        number = self.node_numbers.get(node)
        if number is None:
            number = self.node_numbers[node] = len(self.nodes)
            self.nodes.append(node)
            self.edges.append(_UNKNOWN)
        return number

    def numbered(self, label: Label | Variant, todo: list[Variant]) -> int:
        """A label as edges have it; a variant that is new is to be reached as well."""
        if not isinstance(label[0], Call):
            return -1 - self.language(label)
        number = self.variant_numbers.get(label)
        if number is None:
            number = self.variant_numbers[label] = len(self.variant_numbers)
            todo.append(label)
        return number

    def height(self, node: int) -> int:
        """The most symbols that may still come."""
        return self.variants.steps[self.nodes[node][0].step].height

    def is_final(self, node: int) -> bool:
        """Whether the rule may be over here, with the wanted end."""
        place, end = self.nodes[node]
        return self.variants.own_final.get(place) == end

    def refine(self) -> None:
        """Split classes until all members of each have the same ways on."""
        of_node, of_variant, edges, shift = self.of_node, self.of_variant, self.edges, len(self.nodes) + 1
        order = sorted(range(len(self.nodes)), key=self.height)
        finals = list(map(self.is_final, range(len(self.nodes))))
        rules = [call.rule for call, _ in self.variant_numbers]
        count = 0
        while True:
            self.budget.spend(len(self.nodes))
            known: dict[object, int] = {}
            for node in order:  # those behind come first, so one pass tells apart whole productions
                ways = [
                    (label if label < 0 else of_variant[label]) * shift + of_node[after] for label, after in edges[node]
                ]
                of_node[node] = known.setdefault((finals[node], frozenset(ways)), len(known))
            variants: dict[object, int] = {}
            for number, rule in enumerate(rules):
                of_variant[number] = variants.setdefault((rule, of_node[self.openings_of[number]]), len(variants))
            if len(known) + len(variants) == count:
                break
            count = len(known) + len(variants)
        self.order = order

    def describe(self) -> None:
        """What each class does, told by one of its nodes."""
        for node in self.order:
            if self.of_node[node] < len(self.ways):
                continue
            assert self.of_node[node] == len(self.ways)
            self.ways.append(
                {
                    (label >= 0, self.of_variant[label] if label >= 0 else -1 - label, self.of_node[after])
                    for label, after in self.edges[node]
                }
            )
            self.finals.append(self.is_final(node))
            self.heights.append(self.height(node))
            self.rules.append(self.variants.rule_of_step[self.nodes[node][0].step])
        for number, opening in enumerate(self.openings_of):
            self.openings[self.of_variant[number]] = self.of_node[opening]


_UNKNOWN: list[tuple[int, int]] = []
"""In the place of the edges of a node that was not looked at yet."""


def _merge_sets(classes: _Classes, starts: list[State], budget: Budget) -> Merged:
    """The subset construction on classes; variants behind which all goes on alike are called as one."""
    found: dict[State, list[Way]] = {}
    pending = list(starts)
    while pending:
        state = pending.pop()
        if state in found:
            continue
        behind: dict[tuple[bool, int], set[int]] = {}
        for one in state:
            for is_call, read, after in classes.ways[one]:
                behind.setdefault((is_call, read), set()).add(after)
        budget.spend(32 * (len(behind) + 1))
        calls: dict[tuple[int, State], set[int]] = {}
        ways: list[Way] = []
        for (is_call, read), afters in behind.items():
            if is_call:
                opening = classes.openings[read]
                calls.setdefault((classes.rules[opening], frozenset(afters)), set()).add(opening)
            else:
                ways.append((read, frozenset(afters)))
        ways += [(frozenset(openings), target) for (_, target), openings in calls.items()]
        found[state] = ways
        for begins, target in ways:
            pending.append(target)
            if not isinstance(begins, int):
                pending.append(begins)
    merged = Merged()
    for state in sorted(found, key=lambda state: max(classes.heights[one] for one in state)):
        merged.ways[state] = found[state]
        merged.rules[state] = classes.rules[min(state)]
        if any(classes.finals[one] for one in state):
            merged.finals.add(state)
    return merged
