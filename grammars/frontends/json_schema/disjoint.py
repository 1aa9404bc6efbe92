"""Which nodes and shapes provably share nothing, or allow nothing at all."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import GrammarError
from .combine import both_numbers, both_strings, number_fits, string_fits
from .names import goal_of_name
from .shapes import ANY_GOAL, ArrayShape, Goal, Node, NumberShape, ObjectShape, StringShape
from .string_languages import share_a_text

__all__ = ["Judge"]

MakeNode = Callable[[Goal], Node]
_DEPTH = 3
"""How many properties deep a difference is looked for."""


class Judge:
    """Tells nodes apart. ``make`` gives the nodes of the schemas below; verdicts on nodes are kept."""

    def __init__(self, make: MakeNode, *, pointed_integers: bool) -> None:
        """``pointed_integers``: whether 1.0 and 1e0 are integers."""
        self.make = make
        self.pointed_integers = pointed_integers
        self.depth = _DEPTH
        self.work = 0
        """How many objects were made so far to tell others apart."""
        self._known: dict[tuple[int, int, int], bool] = {}
        self._keep: list[Node] = []

    def nodes_apart(self, left: Node, right: Node) -> bool:
        """Whether the nodes provably share no value at all."""
        key = (id(left), id(right), self.depth)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._nodes_apart(left, right)
            self._keep += (left, right)
        return known

    def _nodes_apart(self, left: Node, right: Node) -> bool:
        return not (
            (left.null and right.null)
            or left.booleans & right.booleans
            or any(not self.numbers_apart(a, b) for a in left.numbers for b in right.numbers)
            or any(not self.strings_apart(a, b) for a in left.strings for b in right.strings)
            or any(not self.arrays_apart(a, b) for a in left.arrays for b in right.arrays)
            or any(not self.objects_apart(a, b) for a in left.objects for b in right.objects)
        )

    def _below(self, left: Goal, right: Goal) -> bool:
        self.depth -= 1
        apart = self.nodes_apart(self.make(left), self.make(right))
        self.depth += 1
        return apart

    def numbers_apart(self, left: NumberShape, right: NumberShape) -> bool:
        """Whether no number is in both."""
        for given, other in ((left, right), (right, left)):
            if given.values is not None:
                return not any(number_fits(value, other) for value, _ in given.values)
        return both_numbers(left, right) is None

    def strings_apart(self, left: StringShape, right: StringShape) -> bool:
        """Whether no string is in both."""
        for given, other in ((left, right), (right, left)):
            if given.values is not None:
                try:
                    return not any(string_fits(value, other) for value in given.values)
                except GrammarError:
                    return False
        if both_strings(left, right) is None:
            return True
        return bool(left.rules and right.rules) and not share_a_text(left, right)

    def arrays_apart(self, left: ArrayShape, right: ArrayShape) -> bool:
        """Whether no array is in both."""
        if left.maximum is not None and right.minimum > left.maximum:
            return True
        if right.maximum is not None and left.minimum > right.maximum:
            return True
        if self.depth == 0:
            return False
        for index in range(max(left.minimum, right.minimum)):
            if self._below(_goal_at(left, index), _goal_at(right, index)):
                return True
            if index >= max(len(left.prefix), len(right.prefix)):
                break  # from here on every position is the same
        return False

    def objects_apart(self, left: ObjectShape, right: ObjectShape) -> bool:
        """Whether no object is in both."""
        if self.depth == 0:
            return False
        for name in left.required | right.required:
            if self._below(_goal_of_name(left, name), _goal_of_name(right, name)):
                return True
        return False

    def no_object(self, shape: ObjectShape) -> bool:
        """Whether some required property can have no value."""
        return any(
            self.make(goal).is_empty
            for name in shape.required
            if (goal := _goal_of_name(shape, name)) is None or len(goal) > 1
        )

    def no_array(self, shape: ArrayShape) -> bool:
        """Whether some item that there must be can have no value, or there are too few."""
        if shape.maximum is not None and shape.minimum > shape.maximum:
            return True
        for index in range(min(shape.minimum, len(shape.prefix) + 1)):
            goal = _goal_at(shape, index)
            if goal is None or (len(goal) > 1 and self.make(goal).is_empty):
                return True
        return False


def _goal_at(shape: ArrayShape, index: int) -> Goal:
    return shape.prefix[index] if index < len(shape.prefix) else shape.items


def _goal_of_name(shape: ObjectShape, name: str) -> Goal:
    try:
        return goal_of_name(shape, name)
    except GrammarError:  # it will be refused; here anything may be
        return ANY_GOAL
