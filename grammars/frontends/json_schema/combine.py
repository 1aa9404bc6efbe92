"""Both at once and either one: the laws of nodes, type by type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import TypeVar

from ...errors import GrammarError, Problem
from ...guards import ValidValue
from .checks import numbers_that_pass, strings_that_pass
from .formats import ALL_FORMATS
from .names import goal_of_name
from .shapes import (
    ANY,
    ANY_GOAL,
    FREE_ARRAY,
    FREE_INTEGER,
    FREE_NUMBER,
    FREE_OBJECT,
    FREE_STRING,
    MOST_CONTAINS,
    ArrayShape,
    Goal,
    Node,
    NumberShape,
    NumberValue,
    ObjectShape,
    StringShape,
    join_goals,
)
from .string_languages import follows

Shape = TypeVar("Shape")
AnyShape = NumberShape | StringShape | ArrayShape | ObjectShape

__all__ = [
    "both",
    "both_arrays",
    "both_numbers",
    "both_objects",
    "both_strings",
    "distinct_numbers",
    "either",
    "is_integral",
    "is_possible",
    "no_string",
    "number_fits",
    "string_fits",
]


def is_integral(value: Decimal) -> bool:
    """Whether the number is an integer."""
    return not value or int(value.normalize().as_tuple().exponent) >= 0


def number_fits(value: Decimal, shape: NumberShape) -> bool:
    """Whether the number satisfies the shape."""
    if shape.values is not None:
        return any(value == other for other, _ in shape.values)
    if shape.integer and not is_integral(value):
        return False
    if shape.low is not None and (value < shape.low or (shape.low_open and value == shape.low)):
        return False
    if shape.high is not None and (value > shape.high or (shape.high_open and value == shape.high)):
        return False
    return all(_divides(multiple, value) for multiple in shape.multiples) and not any(
        _divides(step, value) for step in shape.avoided
    )


def _divides(step: Decimal, value: Decimal) -> bool:
    return (Fraction(value) / Fraction(step)).denominator == 1


def string_fits(value: str, shape: StringShape) -> bool:
    """Whether the string satisfies the shape. Raises :class:`~grammars.errors.GrammarError` where that is too large."""
    if shape.values is not None:
        return value in shape.values
    if shape.verbatim:
        raise GrammarError("whether a string is in the source (x-verbatim) is not told by its value alone")
    if len(value) < shape.minimum or (shape.maximum is not None and len(value) > shape.maximum):
        return False
    return value not in shape.excluded and follows(value, shape.rules)


def both_numbers(left: NumberShape, right: NumberShape) -> NumberShape | None:
    """The numbers of both, ``None`` if there are none."""
    if left is right or right is FREE_NUMBER:
        return left
    if left is FREE_NUMBER:
        return right
    problems = left.problems + right.problems
    pointer = left.pointer or right.pointer
    if left.values is not None or right.values is not None:
        given, other = (left, right) if left.values is not None else (right, left)
        assert given.values is not None
        values = tuple(value for value in given.values if number_fits(value[0], other))
        if other.pointed:
            values = tuple(value for value in values if not is_integral(value[0]))
        if other.integer:
            values = tuple((value, text if text.lstrip("-").isdigit() else str(int(value))) for value, text in values)
        values = numbers_that_pass(values, _checks(left, right))
        return NumberShape(values=values, problems=problems, pointer=pointer) if values else None
    if (left.pointed and right.integer) or (left.integer and right.pointed):
        return None
    if left is FREE_INTEGER and right.integer:
        return right
    if left.avoided or right.avoided:
        steps = (*left.multiples, *right.multiples, *((Decimal(1),) if left.integer or right.integer else ()))
        if any(_divides(avoided, step) for avoided in (*left.avoided, *right.avoided) for step in steps):
            return None
    low, low_open = _tighter(left.low, left.low_open, right.low, right.low_open, upper=False)
    high, high_open = _tighter(left.high, left.high_open, right.high, right.high_open, upper=True)
    merged = NumberShape(
        left.integer or right.integer,
        low,
        low_open,
        high,
        high_open,
        left.multiples + tuple(multiple for multiple in right.multiples if multiple not in left.multiples),
        None,
        problems,
        pointer,
        left.avoided + tuple(step for step in right.avoided if step not in left.avoided),
        _checks(left, right),
        left.pointed or right.pointed,
    )
    return None if _no_number(merged) else merged


def _tighter(
    left: Decimal | None, left_open: bool, right: Decimal | None, right_open: bool, *, upper: bool
) -> tuple[Decimal | None, bool]:
    if left is None or right is None:
        return (right, right_open) if left is None else (left, left_open)
    if left == right:
        return left, left_open or right_open
    return (left, left_open) if (left < right) == upper else (right, right_open)


def _no_number(shape: NumberShape) -> bool:
    low, high = shape.low, shape.high
    if low is None or high is None:
        return False
    if low > high or (low == high and (shape.low_open or shape.high_open)):
        return True
    steps = [Fraction(multiple) for multiple in shape.multiples]
    if shape.integer:
        steps.append(Fraction(1))
    if not steps:
        return False
    step = steps[0]
    for other in steps[1:]:  # the least common multiple of two fractions
        product = step * other
        shared = Fraction(_gcd(step, other))
        step = product / shared
    first, last = Fraction(low) / step, Fraction(high) / step
    lowest = floor(first) + 1 if shape.low_open else ceil(first)
    highest = ceil(last) - 1 if shape.high_open else floor(last)
    return lowest > highest


def _gcd(left: Fraction, right: Fraction) -> Fraction:
    while right:
        left, right = right, left % right
    return left


def both_strings(left: StringShape, right: StringShape) -> StringShape | None:
    """The strings of both, ``None`` if there are none."""
    if left is right or right is FREE_STRING:
        return left
    if left is FREE_STRING:
        return right
    problems = left.problems + right.problems
    pointer = left.pointer or right.pointer
    if left.values is not None or right.values is not None:
        given, other = (left, right) if left.values is not None else (right, left)
        assert given.values is not None
        if other.verbatim:
            reason = "given values (enum, const) that must be in the source as well"
            return replace(given, problems=(*problems, Problem(other.pointer, "x-verbatim", reason)))
        try:
            values = tuple(value for value in given.values if string_fits(value, other))
        except GrammarError as error:
            return replace(given, problems=(*problems, Problem(other.pointer, other.rules[0].kind, str(error))))
        values = strings_that_pass(values, _checks(left, right))
        return StringShape(values=values, problems=problems, pointer=pointer) if values else None
    ends = [end for end in (left.maximum, right.maximum) if end is not None]
    merged = StringShape(
        max(left.minimum, right.minimum),
        min(ends) if ends else None,
        left.rules + tuple(rule for rule in right.rules if rule not in left.rules),
        left.excluded + tuple(text for text in right.excluded if text not in left.excluded),
        None,
        problems,
        pointer,
        _checks(left, right),
        "words" if "words" in (left.verbatim, right.verbatim) else left.verbatim or right.verbatim,
    )
    return None if no_string(merged) else merged


def _checks(left: AnyShape, right: AnyShape) -> tuple[ValidValue, ...]:
    return left.checks + tuple(check for check in right.checks if check not in left.checks)


def no_string(shape: StringShape) -> bool:
    """Whether the lengths, those of the formats included, leave nothing."""
    lengths = [ALL_FORMATS[rule.text] for rule in shape.rules if rule.kind == "format" and rule.holds]
    least = max([shape.minimum, *(known.shortest for known in lengths)])
    ends = [shape.maximum, *(known.longest for known in lengths)]
    return any(end is not None and end < least for end in ends)


def both_arrays(left: ArrayShape, right: ArrayShape) -> ArrayShape:
    """The arrays of both (perhaps none: that shows once it is linked)."""
    if left is right or right is FREE_ARRAY:
        return left
    if left is FREE_ARRAY:
        return right
    length = max(len(left.prefix), len(right.prefix))

    def at(shape: ArrayShape, index: int) -> Goal:
        return shape.prefix[index] if index < len(shape.prefix) else shape.items

    ends = [end for end in (left.maximum, right.maximum) if end is not None]
    contains = left.contains + tuple(one for one in right.contains if one not in left.contains)
    problems = left.problems + right.problems
    if len(contains) > MOST_CONTAINS:
        reason = f"more than {MOST_CONTAINS} contains at once"
        problems += (Problem(left.pointer or right.pointer, "contains", reason),)
    return ArrayShape(
        tuple(join_goals(at(left, index), at(right, index)) for index in range(length)),
        join_goals(left.items, right.items),
        max(left.minimum, right.minimum),
        min(ends) if ends else None,
        problems,
        left.pointer or right.pointer,
        contains[:MOST_CONTAINS],
        left.distinct or right.distinct,
        _checks(left, right),
    )


def both_objects(left: ObjectShape, right: ObjectShape) -> ObjectShape:
    """The objects of both (perhaps none); the properties of the first come first."""
    if left is right or right is FREE_OBJECT:
        return left
    if left is FREE_OBJECT:
        return right
    problems = left.problems + right.problems
    try:
        properties = {name: join_goals(goal, goal_of_name(right, name)) for name, goal in left.properties.items()}
        for name, goal in right.properties.items():
            if name not in properties:
                properties[name] = join_goals(goal_of_name(left, name), goal)
    except GrammarError as error:
        pointer = left.pointer or right.pointer
        problems += (Problem(pointer, "patternProperties", str(error)),)
        return ObjectShape(problems=problems, pointer=pointer, checks=_checks(left, right))
    ends = [end for end in (left.maximum, right.maximum) if end is not None]
    return ObjectShape(
        properties,
        left.required | right.required,
        join_goals(left.additional, right.additional),
        max(left.minimum, right.minimum),
        min(ends) if ends else None,
        problems,
        left.count_pointer or right.count_pointer,
        left.pointer or right.pointer,
        left.layers + right.layers,
        join_goals(left.names, right.names),
        left.witnesses + right.witnesses,
        checks=_checks(left, right),
    )


def is_possible(shape: ObjectShape) -> bool:
    """Whether no name is both required and forbidden (other reasons show once the shape is linked)."""
    properties = shape.properties
    return all(properties.get(name, ANY_GOAL) is not None for name in shape.required)


def both(left: Node, right: Node) -> Node:
    """What both allow."""
    if left is right or right is ANY:
        return left
    if left is ANY:
        return right
    numbers = [both_numbers(a, b) for a in left.numbers for b in right.numbers]
    strings = [both_strings(a, b) for a in left.strings for b in right.strings]
    return Node(
        left.null and right.null,
        left.booleans & right.booleans,
        tuple(shape for shape in numbers if shape is not None),
        tuple(shape for shape in strings if shape is not None),
        tuple(both_arrays(a, b) for a in left.arrays for b in right.arrays),
        tuple(filter(is_possible, (both_objects(a, b) for a in left.objects for b in right.objects))),
        left.problems + right.problems,
        left.pointer or right.pointer,
        left.reason or right.reason,
    )


def either(nodes: Sequence[Node], pointer: str) -> Node:
    """What any of the nodes allows."""
    nodes = [node for node in nodes if not node.is_empty]
    if len(nodes) == 1:
        return nodes[0]
    if any(node is ANY for node in nodes):
        return ANY
    booleans = 0
    for node in nodes:
        booleans |= node.booleans
    strings = _free_only(tuple(dict.fromkeys(s for node in nodes for s in node.strings)), FREE_STRING)
    numbers = _free_only(tuple(dict.fromkeys(n for node in nodes for n in node.numbers)), FREE_NUMBER)
    return Node(
        any(node.null for node in nodes),
        booleans,
        numbers,
        _join_values(strings),
        tuple(dict.fromkeys(shape for node in nodes for shape in node.arrays)),
        tuple(dict.fromkeys(shape for node in nodes for shape in node.objects)),
        tuple(dict.fromkeys(problem for node in nodes for problem in node.problems)),
        pointer,
    )


def _free_only(shapes: tuple[Shape, ...], free: Shape) -> tuple[Shape, ...]:
    return (free,) if free in shapes else shapes


def _join_values(strings: tuple[StringShape, ...]) -> tuple[StringShape, ...]:
    """All plain lists of values as one list."""
    lists = [shape for shape in strings if shape.values is not None and not shape.problems]
    if len(lists) < 2:
        return strings
    values = dict.fromkeys(value for shape in lists for value in shape.values or ())
    joined = replace(lists[0], values=tuple(values))
    return (*(shape for shape in strings if shape not in lists), joined)


def distinct_numbers(values: Sequence[NumberValue]) -> tuple[NumberValue, ...]:
    """Each number once, in its first spelling."""
    found: dict[Decimal, NumberValue] = {}
    for value in values:
        found.setdefault(value[0], value)
    return tuple(found.values())
