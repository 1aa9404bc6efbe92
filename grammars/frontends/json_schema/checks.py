"""Checks: what no automaton settles is asked of the finished value, by a guard behind it.

A node that would have to be refused becomes one that allows more, with a check on each of its shapes; null, true and
false, and given numbers and strings, are checked at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import TypeVar

from ...errors import Problem
from ...guards import ValidValue
from .shapes import ArrayShape, Node, NumberShape, NumberValue, ObjectShape, StringShape

__all__ = ["PARADOX", "all_problems", "is_open", "numbers_that_pass", "relaxed", "strings_that_pass", "with_problem"]

Shape = TypeVar("Shape", NumberShape, StringShape, ArrayShape, ObjectShape)

PARADOX = "what is negated refers to the negation itself"


def _shapes(node: Node) -> tuple[NumberShape | StringShape | ArrayShape | ObjectShape, ...]:
    return (*node.numbers, *node.strings, *node.arrays, *node.objects)


def all_problems(node: Node) -> list[Problem]:
    """Those of the node and of its shapes."""
    return [*node.problems, *(problem for shape in _shapes(node) for problem in shape.problems)]


def is_open(node: Node) -> bool:
    """Whether something at this level is not settled, and a check can tell."""
    problems = all_problems(node)
    return bool(problems) and all(problem.reason != PARADOX for problem in problems)


def with_problem(shape: Shape, problem: Problem) -> Shape:
    """The shape, not linked yet, with a problem: some of its values may have to go."""
    fresh = replace(shape, problems=(*shape.problems, problem))
    if isinstance(fresh, ArrayShape):
        fresh.prefix_nodes, fresh.items_node, fresh.hits = [], None, []
        fresh.linked = fresh.productive = False
    elif isinstance(fresh, ObjectShape):
        fresh.members, fresh.extras, fresh.some_extras = [], [], []
        fresh.linked = fresh.productive = False
    return fresh


def relaxed(node: Node, check: ValidValue) -> Node:
    """The values of the node that pass the check, which stands for all of the node's problems."""
    booleans = sum(bit for bit, value in ((1, False), (2, True)) if node.booleans & bit and check.check(value))
    numbers = [_number(shape, check) for shape in node.numbers]
    strings = [_string(shape, check) for shape in node.strings]
    return Node(
        node.null and check.check(None),
        booleans,
        tuple(shape for shape in numbers if shape.values != ()),
        tuple(shape for shape in strings if shape.values != ()),
        tuple(_array(shape, check) for shape in node.arrays),
        tuple(_object(shape, check) for shape in node.objects),
        (),
        node.pointer,
        node.reason,
    )


def numbers_that_pass(values: Iterable[NumberValue], checks: Iterable[ValidValue]) -> tuple[NumberValue, ...]:
    """Those of the given numbers that pass all checks."""

    def value_of(number: NumberValue) -> int | Decimal:
        return int(number[0]) if number[1].lstrip("-").isdigit() else number[0]

    checks = tuple(checks)
    return tuple(value for value in values if all(check.check(value_of(value)) for check in checks))


def strings_that_pass(values: Iterable[str], checks: Iterable[ValidValue]) -> tuple[str, ...]:
    """Those of the given strings that pass all checks."""
    checks = tuple(checks)
    return tuple(value for value in values if all(check.check(value) for check in checks))


def _number(shape: NumberShape, check: ValidValue) -> NumberShape:
    if shape.values is None:
        return replace(shape, problems=(), checks=(*shape.checks, check))
    return replace(shape, problems=(), values=numbers_that_pass(shape.values, (check,)))


def _string(shape: StringShape, check: ValidValue) -> StringShape:
    if shape.values is None:
        return replace(shape, problems=(), checks=(*shape.checks, check))
    return replace(shape, problems=(), values=strings_that_pass(shape.values, (check,)))


def _array(shape: ArrayShape, check: ValidValue) -> ArrayShape:
    """A shape that is not linked yet, like this one."""
    return replace(
        shape, problems=(), checks=(*shape.checks, check), prefix_nodes=[], items_node=None, hits=[], linked=False,
        productive=False,
    )  # fmt: skip


def _object(shape: ObjectShape, check: ValidValue) -> ObjectShape:
    return replace(
        shape, problems=(), checks=(*shape.checks, check), members=[], extras=[], some_extras=[], linked=False,
        productive=False,
    )  # fmt: skip
