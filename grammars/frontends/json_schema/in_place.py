"""What applies in place: ``$ref``, ``allOf``, ``anyOf`` and ``oneOf`` multiplied out into one node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import Problem
from .checks import PARADOX
from .choices import in_place_choices
from .combine import both, either
from .complement import minus
from .keywords import Draft, Group
from .one_of import exactly_one
from .shapes import ANY, Goal, Node, goal_key
from .unevaluated import is_active

if TYPE_CHECKING:
    from .normalise import Normaliser

__all__ = ["PendingNode"]

_MAX_ALTERNATIVES = 128
"""Shapes of one node: the product of several ``anyOf`` beyond this is refused."""
_MAX_WORK = 10_000
"""Alternatives that were made for the whole schema; beyond this what combines schemas is left to checks."""
_REFERENCE, _IN_PLACE = int(Group.REFERENCE), int(Group.IN_PLACE)
_UNEVALUATED = int(Group.UNEVALUATED)
_OWN = int(Group.VALUES | Group.TYPE | Group.NUMBERS | Group.STRINGS | Group.ARRAYS | Group.OBJECTS)


class PendingNode:
    """A node in the making: the part that is sure, and the factors (lists of branches) still to be multiplied in."""

    def __init__(self, normaliser: Normaliser, goal: Goal, key: object) -> None:
        self.normaliser = normaliser
        self.goal = goal
        self.key = key
        self.base = ANY
        self.factors: list[tuple[str, str, list[Goal]]] = []  # keyword, pointer, branches
        self.negations: set[int] = set()
        """Which factors are negated."""
        self.chosen: dict[int, int] = {}
        """Of some ``oneOf`` factors: the only branch that counts."""
        self.received: list[list[Node]] = []
        self._expand(goal)
        self.received = [[] for _ in self.factors]
        self.factor = 0

    def _expand(self, goal: Goal) -> None:
        """Take in all schemas that must hold: those of the goal, and what ``$ref`` and ``allOf`` bring."""
        normaliser, document = self.normaliser, self.normaliser.document
        assert goal is not None
        pending: list[tuple[Any, tuple[Any, Any] | None]] = [(schema, None) for schema in reversed(goal)]
        seen: set[int] = set()
        while pending:
            schema, origin = pending.pop()
            if type(schema) is not dict:
                if not schema:
                    self.base = Node(reason="the schema is false", pointer=self.base.pointer)
                continue
            if id(schema) in seen:
                if _among(schema, origin):
                    self.base = Node(
                        reason="the schema refers only to itself", pointer=document.pointers.get(id(schema), "")
                    )
                continue
            seen.add(id(schema))
            here = (schema, origin)
            groups = document.groups[id(schema)]
            pointer = document.pointers[id(schema)]
            targets: list[Any] = []
            if groups & _UNEVALUATED and is_active(schema) and self._add_ways(schema, pointer):
                continue
            if groups & _REFERENCE:
                targets = normaliser.targets(schema)
            if not (groups & _REFERENCE and document.dialect(schema).draft <= Draft.DRAFT7):
                if groups & _OWN:
                    self.base = both(self.base, normaliser.own_node(schema))
                if groups & _IN_PLACE:
                    pending.extend((inner, here) for inner in reversed(schema.get("allOf", ())))
                    self._add_factors(schema, pointer)
            pending.extend((target, here) for target in targets)

    def _add_factors(self, schema: dict[str, Any], pointer: str) -> None:
        """What one schema's keywords multiply in."""
        normaliser = self.normaliser
        table = normaliser.document.dialect(schema).table
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                branches = [normaliser.goal(branch) for branch in schema[keyword]]
                if keyword == "oneOf" and id(schema) in normaliser.chosen:
                    self.chosen[len(self.factors)] = normaliser.chosen[id(schema)]
                self.factors.append((keyword, pointer, branches))
        if "not" in schema:
            asked_by = normaliser.asked_by.get(id(schema), "not")
            self.factors.append((asked_by, pointer, [normaliser.goal(schema["not"])]))
            self.negations.add(len(self.factors) - 1)
        for keyword, choices in in_place_choices(schema, pointer, table, normaliser):
            self.factors.append((keyword, pointer, choices))

    def _add_ways(self, schema: dict[str, Any], pointer: str) -> bool:
        """A schema with ``unevaluated...`` as the ways in which it can hold; False if they are too many: then its
        other keywords still count."""
        keyword = "unevaluatedProperties" if "unevaluatedProperties" in schema else "unevaluatedItems"
        goals = self.normaliser.unevaluated.goals(schema)
        if isinstance(goals, Problem):
            self.base = replace(self.base, problems=(*self.base.problems, goals))
            return False
        self.factors.append((keyword, pointer, goals))
        return True

    def note_left_out(self) -> None:
        """A branch met itself, and was left out: under a negation that has no meaning."""
        if self.factor in self.negations:
            keyword, pointer, _ = self.factors[self.factor]
            problem = Problem(pointer, keyword, PARADOX)
            self.base = replace(self.base, problems=(*self.base.problems, problem))

    def next_branch(self) -> tuple[Goal, object] | None:
        """The next branch whose node is needed."""
        while self.factor < len(self.factors):
            branches = self.factors[self.factor][2]
            done = len(self.received[self.factor])
            if done < len(branches):
                branch = branches[done]
                return branch, goal_key(branch)
            self.factor += 1
        return None

    def receive(self, node: Node) -> None:
        """Take the node of the branch that was asked for."""
        self.received[self.factor].append(node)

    def finish(self) -> Node:
        """The product of everything; what it cannot settle is checked."""
        return self.normaliser.settled(self._product(), self.goal)

    def _product(self) -> Node:
        node = self.base
        if self.factors and self.normaliser.work > _MAX_WORK:
            keyword, pointer, _ = self.factors[0]
            problem = Problem(pointer, keyword, f"more than {_MAX_WORK:,} alternatives in the whole schema")
            return replace(node, problems=(*node.problems, problem))
        judge = self.normaliser.judge
        negate = self.normaliser.negate
        order = sorted(range(len(self.factors)), key=self.negations.__contains__)  # less is left to negate then
        for index in order:
            (keyword, pointer, _), branches = self.factors[index], self.received[index]
            if index in self.negations:
                node = minus(node, branches[0], pointer, judge, negate, keyword=keyword)
                if node.is_empty and not node.reason:
                    node = replace(node, reason="everything else is negated", pointer=pointer)
                continue
            if _size(node) * sum(map(_size, branches)) > 8 * _MAX_ALTERNATIVES:
                problem = Problem(pointer, keyword, f"more than {_MAX_ALTERNATIVES} combinations of alternatives")
                return replace(node, problems=(*node.problems, problem))
            products = [both(node, branch) for branch in branches]
            if keyword == "oneOf":
                node = exactly_one(products, branches, pointer, judge, negate, only=self.chosen.get(index))
            else:
                node = either(products, f"{pointer}/{keyword}")
            if node.is_empty and not node.reason:
                node = replace(node, reason=f"no branch of {keyword} allows anything", pointer=pointer)
        return node


def _among(schema: dict[str, Any], origin: tuple[Any, Any] | None) -> bool:
    """Whether the schema is one of those that led here."""
    while origin is not None:
        if origin[0] is schema:
            return True
        origin = origin[1]
    return False


def _size(node: Node) -> int:
    return max(1, len(node.objects), len(node.arrays), len(node.strings), len(node.numbers))
