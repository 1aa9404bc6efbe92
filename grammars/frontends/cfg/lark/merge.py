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
    """The partition refinement of places, each with the boundary that its rule is to end with."""

    def __init__(
        self, variants: Variants, starts: list[Variant], language: Callable[[Label], int], budget: Budget
    ) -> None:
        self.variants = variants
        self.budget = budget
        self.language = language
        self.of_variant: dict[Variant, int] = {}
        self.of_node: dict[Node, int] = {}
        self.nodes: list[Node] = []
        self.reach(starts)
        self.refine()
        self.ways: list[set[tuple[bool, int, int]]] = []
        self.finals: list[bool] = []
        self.heights: list[int] = []
        self.rules: list[int] = []
        self.openings: dict[int, int] = {}
        self.describe()

    def opening(self, call: Call, end: Boundary) -> int:
        """The class of the place with which a variant begins."""
        return self.of_node[self.variants.opening(call), end]

    def reach(self, starts: list[Variant]) -> None:
        """All variants and nodes that are needed."""
        self.of_variant = dict.fromkeys(starts, 0)
        todo = list(starts)
        while todo:
            call, end = todo.pop()
            pending = [(self.variants.opening(call), end)]
            while pending:
                node = pending.pop()
                if node in self.of_node:
                    continue
                self.of_node[node] = 0
                for label, target in self.edges(node):
                    pending.append((target, end))
                    if isinstance(label[0], Call) and label not in self.of_variant:
                        self.of_variant[label] = 0
                        todo.append(label)
        self.nodes = sorted(self.of_node, key=self.height)

    def height(self, node: Node) -> int:
        """The most symbols that may still come."""
        return self.variants.steps[node[0].step].height

    def edges(self, node: Node) -> list[tuple[Label | Variant, Place]]:
        """The ways on from a node that can still come to its end."""
        place, end = node
        return [(label, target) for label, target in self.variants.edges[place] if end in self.variants.finals[target]]

    def is_final(self, node: Node) -> bool:
        """Whether the rule may be over here, with the wanted end."""
        place, end = node
        return self.variants.own_final.get(place) == end

    def refine(self) -> None:
        """Split classes until all members of each have the same ways on."""
        steps: dict[Node, list[tuple[int | Variant, Node]]] = {}
        for node in self.nodes:
            steps[node] = [
                (label if isinstance(label[0], Call) else self.language(label), (target, node[1]))
                for label, target in self.edges(node)
            ]
        finals = {node: self.is_final(node) for node in self.nodes}
        openings = {(call, end): (self.variants.opening(call), end) for call, end in self.of_variant}
        count = 0
        while True:
            self.budget.spend(len(self.nodes))
            known: dict[object, int] = {}
            for node in self.nodes:  # those behind come first, so one pass tells apart whole productions
                ways = frozenset(
                    (-1 - label if isinstance(label, int) else self.of_variant[label], self.of_node[target])
                    for label, target in steps[node]
                )
                self.of_node[node] = known.setdefault((finals[node], ways), len(known))
            variants: dict[object, int] = {}
            for variant in self.of_variant:
                key = (variant[0].rule, self.of_node[openings[variant]])
                self.of_variant[variant] = variants.setdefault(key, len(variants))
            if len(known) + len(variants) == count:
                return
            count = len(known) + len(variants)

    def describe(self) -> None:
        """What each class does, told by one of its nodes."""
        for node in self.nodes:
            if self.of_node[node] < len(self.ways):
                continue
            assert self.of_node[node] == len(self.ways)
            ways = set()
            for label, target in self.edges(node):
                after = self.of_node[target, node[1]]
                if isinstance(label[0], Call):
                    ways.add((True, self.of_variant[label], after))
                else:
                    ways.add((False, self.language(label), after))
            self.ways.append(ways)
            self.finals.append(self.is_final(node))
            self.heights.append(self.height(node))
            self.rules.append(self.variants.rule_of_step[node[0].step])
        for (call, end), number in self.of_variant.items():
            self.openings[number] = self.opening(call, end)


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
