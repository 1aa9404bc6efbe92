"""Left recursion becomes loops.

A rule that calls itself before reading a byte would push for ever. Since texts are recognised and no tree is built,
it can be run bottom-up instead, the left-corner transform (Rosenkrantz and Lewis, 1970) on automata: to read an A,
first read what any rule B of A's recursive set can begin with; whenever some B is complete, go on behind every place
where a rule of the set calls B at its left edge; when A itself is complete, that may be the end.

Calls hidden behind empty parts count too. So the states of a rule that are reached with nothing read are kept apart
(``unread_states``), the others copied, and the new rule, its *goal*, matches all but the empty text, which its callers
get as an epsilon edge beside the call.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ..errors import GrammarError
from ..ir.analyze import BoolArray, strong_components
from ..ir.nodes import Int32Array
from ..ir.regular.budget import Budget
from ..limits import Limits
from .memory import FINAL

__all__ = ["remove_left_recursion"]


class _Rewriter:
    """Builds the new rules; states and rules are appended, the old ones stay where nobody calls them."""

    def __init__(
        self, edges: Int32Array, calls: Int32Array, rule_starts: Int32Array, flags: Int32Array, capacities: Int32Array,
        nullable: BoolArray, limits: Limits,
    ) -> None:  # fmt: skip
        self.budget = Budget(limits, "rules that begin with each other", cost=16)
        self.edges = edges.tolist()
        self.calls = calls.tolist()
        self.rule_starts: list[int] = rule_starts.tolist()
        self.flags: list[int] = flags.tolist()
        self.capacities: list[int] = capacities.tolist()
        self.nullable = nullable
        self.edges_of: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.calls_of: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for source, span, target in self.edges:
            self.edges_of[source].append((span, target))
        for source, rule, target in self.calls:
            self.calls_of[source].append((rule, target))
        self.components = self.left_recursive_rules()
        self.component_of = {rule: number for number, rules in enumerate(self.components) for rule in rules}
        self.goals: dict[int, int] = {}  # rule -> new rule that matches its texts but the empty one
        self.todo: list[int] = []

    def run(self) -> None:
        """Point every call of a left-recursive rule to its goal, and build the goals."""
        for row in range(len(self.calls)):
            source, rule, target = self.calls[row]
            if rule in self.component_of:
                self.calls[row][1] = self.goal(rule)
                if self.is_nullable(rule):
                    self.edges.append([source, -1, target])
        while self.todo:
            self.build(self.todo.pop())

    def left_recursive_rules(self) -> list[list[int]]:
        """Sets of rules that call each other at their left edge; bodies of repeats that became rules among them."""
        offsets, targets = [0], []
        for start in self.rule_starts:
            calls = {callee for state in self.unread_states(start) for callee, _ in self.calls_of[state] if callee >= 0}
            targets += sorted(calls)
            offsets.append(len(targets))
        return strong_components(np.array(offsets), np.array(targets, np.int32), range(len(self.rule_starts)))

    def is_nullable(self, rule: int) -> bool:
        return rule < 0 or bool(self.nullable[rule])

    def goal(self, rule: int) -> int:
        """The new rule for the non-empty texts of ``rule``."""
        if rule not in self.goals:
            self.goals[rule] = len(self.rule_starts)
            self.rule_starts.append(self.new_state(-1))
            self.todo.append(rule)
        return self.goals[rule]

    def new_state(self, like: int) -> int:
        """A fresh state; ``like``: the state whose capacity it takes over."""
        self.flags.append(self.flags[like] & ~FINAL if like >= 0 else 0)
        self.capacities.append(self.capacities[like] if like >= 0 else 0)
        return len(self.flags) - 1

    def build(self, rule: int) -> None:
        """Write the automaton of ``goal(rule)``."""
        members = self.components[self.component_of[rule]] if rule in self.component_of else [rule]
        is_member = frozenset(members)
        self.budget.spend(len(members))
        copies: dict[int, int] = {}  # state -> its copy with something read
        pending: list[int] = []
        behind: dict[int, list[int]] = defaultdict(list)  # member -> where to go on once it is complete
        ends: dict[int, list[int]] = defaultdict(list)  # member -> copies of the states where it is complete

        def copy(state: int) -> int:
            if state not in copies:
                copies[state] = self.new_state(state)
                pending.append(state)
            return copies[state]

        start = self.rule_starts[self.goals[rule]]
        first_edge, first_call = len(self.edges), len(self.calls)
        for member in members:
            for state in self.unread_states(self.rule_starts[member]):
                for span, target in self.edges_of[state]:
                    if span >= 0:
                        self.edges.append([start, span, copy(target)])
                for callee, target in self.calls_of[state]:
                    if callee < 0:
                        raise GrammarError("a guard before anything was read, in a rule that begins with itself")
                    if callee in is_member and rule in self.component_of:
                        behind[callee].append(copy(target))
                    else:
                        self.call_non_empty(start, callee, copy(target))
        while pending:
            self.budget.spend(1)
            state = pending.pop()
            here = copies[state]
            for span, target in self.edges_of[state]:
                self.edges.append([here, span, copy(target)])
            for callee, target in self.calls_of[state]:
                self.call_non_empty(here, callee, copy(target))
                if callee >= 0 and self.is_nullable(callee):
                    self.edges.append([here, -1, copy(target)])
        for member in members:
            for state in self.states_of(self.rule_starts[member]):
                if self.flags[state] & FINAL and state in copies:
                    ends[member].append(copies[state])
        for member, final_copies in ends.items():
            for end in final_copies:
                self.edges.extend([end, -1, target] for target in behind[member])
                if member == rule:
                    self.flags[end] |= FINAL
        self.call_last_in_place(first_call, first_edge, self.goals[rule], ends[rule])

    def call_last_in_place(self, first_call: int, first_edge: int, goal: int, ends: list[int]) -> None:
        """Spare the push where a goal calls itself and what follows is just what may follow its own end.

        In ``e = e "+" e`` the second e is followed by nothing or by more of ``"+" e``, which the called e reads as
        well: returning would only nest, once for every operator. Such a call is made in tail position.
        """
        loops: dict[int, list[int]] = defaultdict(list)
        for source, span, target in self.edges[first_edge:]:
            if span < 0:
                loops[source].append(target)
        busy = {source for source, span, _ in self.edges[first_edge:] if span >= 0}
        busy.update(source for source, _, _ in self.calls[first_call:])

        def ways_on(state: int) -> set[int]:
            """The states behind ``state`` that read or call something; -1 stands for the end of the rule."""
            seen, todo = {state}, [state]
            while todo:
                fresh = [target for target in loops[todo.pop()] if target not in seen]
                seen.update(fresh)
                todo.extend(fresh)
            return {one for one in seen if one in busy} | (
                {-1} if any(self.flags[one] & FINAL for one in seen) else set()
            )

        if not ends:
            return
        after_end = ways_on(ends[0])
        last = -1
        for row in range(first_call, len(self.calls)):
            if self.calls[row][1] == goal and ways_on(self.calls[row][2]) == after_end:
                if last < 0:
                    last = self.new_state(-1)
                    self.flags[last] |= FINAL
                self.calls[row][2] = last

    def call_non_empty(self, source: int, callee: int, target: int) -> None:
        """Call a rule for its non-empty texts only."""
        plain = callee < 0 or (callee not in self.component_of and not self.is_nullable(callee))
        self.calls.append([source, callee if plain else self.goal(callee), target])

    def unread_states(self, start: int) -> list[int]:
        """The states reached from ``start`` with nothing read: over epsilon edges and rules that may be empty."""
        seen = {start}
        todo = [start]
        while todo:
            state = todo.pop()
            targets = [target for span, target in self.edges_of[state] if span < 0]
            targets += [target for callee, target in self.calls_of[state] if self.is_nullable(callee)]
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return sorted(seen)

    def states_of(self, start: int) -> list[int]:
        """All states of the rule that begins at ``start``."""
        seen = {start}
        todo = [start]
        while todo:
            state = todo.pop()
            for _, target in self.edges_of[state] + self.calls_of[state]:
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return sorted(seen)


def remove_left_recursion(
    edges: Int32Array, calls: Int32Array, rule_starts: Int32Array, flags: Int32Array, capacities: Int32Array,
    nullable: BoolArray, limits: Limits,
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array, Int32Array]:  # fmt: skip
    """Rewrite so that no rule calls itself at its left edge; the language stays the same.

    ``nullable`` (rules,) says which rules match the empty text. Returns edges, calls, rule starts, flags, capacities.
    Raises :class:`~grammars.errors.LimitExceeded`: each of n rules that begin with each other may need all n again.
    """
    rewriter = _Rewriter(edges, calls, rule_starts, flags, capacities, nullable, limits)
    rewriter.run()
    return (
        np.array(rewriter.edges, np.int32).reshape(-1, 3),
        np.array(rewriter.calls, np.int32).reshape(-1, 3),
        np.array(rewriter.rule_starts, np.int32),
        np.array(rewriter.flags, np.int32),
        np.array(rewriter.capacities, np.int32),
    )
