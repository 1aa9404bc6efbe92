"""What a node allows and another does not, type by type, as far as nodes can say it; else it becomes a problem.

By De Morgan: an array or object is none of a shape if it misses one of its obligations. A shape that shares nothing
with what is taken away stays as it is. Schemas below are negated as schemas (``{"not": ...}``), so that nothing is
descended into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import pairwise
from typing import TypeVar

from ...errors import Problem
from .checks import with_problem
from .combine import both_arrays, both_numbers, both_objects, both_strings, is_possible
from .disjoint import Judge
from .shapes import (
    ANY_GOAL,
    FREE_ARRAY,
    FREE_NUMBER,
    FREE_OBJECT,
    FREE_STRING,
    ArrayShape,
    Contains,
    Goal,
    Layer,
    Node,
    NumberShape,
    ObjectShape,
    StringShape,
    TextRule,
    Witness,
)

__all__ = ["minus"]

_MAX_SHAPES = 64
"""Shapes of one type in a difference; beyond this it is refused."""
_MAX_WORK = 30_000
"""Objects that are made to tell objects apart, in one schema; beyond this it is refused."""
_MAX_NUMBERS = 64
"""Given numbers that leave intervals between them."""

Place = tuple[str, str]
"""Pointer and keyword, for problems."""
Negate = Callable[[Goal], Goal]
Shape = TypeVar("Shape", NumberShape, StringShape, ArrayShape, ObjectShape)


def minus(node: Node, other: Node, pointer: str, judge: Judge, negate: Negate, *, keyword: str = "not") -> Node:
    """All values that ``node`` allows and ``other`` does not. ``negate`` makes the negation of schemas below.

    Problems stay with the shapes of their type, so that they count only where that type matters.
    """
    place = (pointer, keyword)

    def not_number(shape: NumberShape) -> tuple[NumberShape, ...]:
        return _not_number(shape, place, judge.pointed_integers)

    def not_string(shape: StringShape) -> tuple[StringShape, ...]:
        return _not_string(shape, place)

    def not_array(shape: ArrayShape) -> tuple[ArrayShape, ...]:
        return _not_array(shape, place, negate)

    def not_object(shape: ObjectShape) -> tuple[ObjectShape, ...]:
        return _not_object(shape, place, negate)

    def objects(left: ObjectShape, right: ObjectShape) -> ObjectShape | None:
        judge.work += 1 + (len(left.properties) + len(right.properties)) // 4
        both = both_objects(left, right)
        return both if is_possible(both) and not judge.no_object(both) else None

    def arrays(left: ArrayShape, right: ArrayShape) -> ArrayShape | None:
        both = both_arrays(left, right)
        return None if judge.no_array(both) else both

    numbers = _cut(node.numbers, other.numbers, judge.numbers_apart, not_number, both_numbers)
    strings = _cut(node.strings, other.strings, judge.strings_apart, not_string, both_strings)
    lists = _cut(node.arrays, other.arrays, judge.arrays_apart, not_array, arrays)
    mappings = None
    if judge.work <= _MAX_WORK:
        mappings = _cut(node.objects, other.objects, judge.objects_apart, not_object, objects)
    too_many = Problem(*place, "too many ways not to be valid, or to be valid by one branch only")
    return Node(
        node.null and not other.null,
        node.booleans & ~other.booleans,
        _unsettled(node.numbers, too_many) if numbers is None else numbers,
        _unsettled(node.strings, too_many) if strings is None else strings,
        _unsettled(node.arrays, too_many) if lists is None else lists,
        _unsettled(node.objects, too_many) if mappings is None else mappings,
        node.problems + other.problems,
        node.pointer or pointer,
        node.reason,
    )


def _unsettled(shapes: tuple[Shape, ...], problem: Problem) -> tuple[Shape, ...]:
    """The shapes that were to be cut: all of what is left is among them."""
    return tuple(with_problem(shape, problem) for shape in shapes)


def _cut(
    shapes: tuple[Shape, ...],
    others: Iterable[Shape],
    apart: Callable[[Shape, Shape], bool],
    ways_out: Callable[[Shape], tuple[Shape, ...]],
    both: Callable[[Shape, Shape], Shape | None],
) -> tuple[Shape, ...] | None:
    """The shapes without all others; ``None`` where they are too many."""
    for other in others:
        ways: tuple[Shape, ...] | None = None
        left: list[Shape] = []
        for shape in shapes:
            if apart(shape, other):
                left.append(shape)
                continue
            if ways is None:
                ways = ways_out(other)
            left.extend(piece for way in ways if (piece := both(shape, way)) is not None)
            if len(left) > _MAX_SHAPES:
                return None
        shapes = tuple(left)
    return shapes


def _cannot(place: Place, what: str) -> Problem:
    return Problem(*place, f"the negation of {what} is not enforced yet")


def _not_number(shape: NumberShape, place: Place, pointed_integers: bool) -> tuple[NumberShape, ...]:
    if shape is FREE_NUMBER:
        return ()
    if shape.problems:
        return (NumberShape(problems=shape.problems),)
    if shape.checks:
        return (NumberShape(problems=(_cannot(place, "what only a check can tell"),)),)
    ways: list[NumberShape] = []
    if shape.values is not None:
        if len(shape.values) > _MAX_NUMBERS:
            return (NumberShape(problems=(_cannot(place, f"more than {_MAX_NUMBERS} numbers"),)),)
        ends = [None, *sorted(value for value, _ in shape.values), None]
        return tuple(
            NumberShape(False, low, low is not None, high, high is not None, pointer=place[0])
            for low, high in pairwise(ends)
        )
    if shape.low is not None:
        ways.append(NumberShape(high=shape.low, high_open=not shape.low_open, pointer=place[0]))
    if shape.high is not None:
        ways.append(NumberShape(low=shape.high, low_open=not shape.high_open, pointer=place[0]))
    if shape.pointed:
        ways.append(NumberShape(integer=True, pointer=place[0]))
    if shape.integer and not pointed_integers:
        ways.append(NumberShape(pointed=True, pointer=place[0]))
    steps = (Decimal(1), *shape.multiples) if shape.integer and pointed_integers else shape.multiples
    ways.extend(NumberShape(avoided=(step,), pointer=place[0]) for step in steps)
    if shape.avoided:
        ways.extend(NumberShape(multiples=(step,), pointer=place[0]) for step in shape.avoided)
    return tuple(ways)


def _not_string(shape: StringShape, place: Place) -> tuple[StringShape, ...]:
    if shape is FREE_STRING:
        return ()
    if shape.problems:
        return (StringShape(problems=shape.problems),)
    if shape.checks:
        return (StringShape(problems=(_cannot(place, "what only a check can tell"),)),)
    if shape.verbatim:
        return (StringShape(problems=(_cannot(place, "x-verbatim"),)),)
    if shape.values is not None:
        return (StringShape(excluded=shape.values, pointer=place[0]),)
    ways: list[StringShape] = []
    if shape.minimum:
        ways.append(StringShape(0, shape.minimum - 1, pointer=place[0]))
    if shape.maximum is not None:
        ways.append(StringShape(shape.maximum + 1, pointer=place[0]))
    ways.extend(
        StringShape(rules=(TextRule(rule.kind, rule.text, not rule.holds),), pointer=place[0]) for rule in shape.rules
    )
    if shape.excluded:
        ways.append(StringShape(values=shape.excluded, pointer=place[0]))
    return tuple(ways)


def _not_array(shape: ArrayShape, place: Place, negate: Negate) -> tuple[ArrayShape, ...]:
    if shape is FREE_ARRAY:
        return ()
    if shape.problems:
        return (ArrayShape(problems=shape.problems, pointer=place[0]),)
    if shape.checks:
        return (ArrayShape(problems=(_cannot(place, "what only a check can tell"),)),)
    if shape.distinct:
        return (ArrayShape(problems=(_cannot(place, "uniqueItems"),), pointer=place[0]),)
    ways: list[ArrayShape] = []
    if shape.minimum:
        ways.append(ArrayShape(maximum=shape.minimum - 1, pointer=place[0]))
    if shape.maximum is not None:
        ways.append(ArrayShape(minimum=shape.maximum + 1, pointer=place[0]))
    for index, goal in enumerate(shape.prefix):
        if goal != ANY_GOAL:
            prefix = (*[ANY_GOAL] * index, negate(goal))
            ways.append(ArrayShape(prefix, minimum=index + 1, pointer=place[0]))
    behind = len(shape.prefix)
    if shape.items is None:
        ways.append(ArrayShape(minimum=behind + 1, pointer=place[0]))
    elif shape.items:
        prefix = (ANY_GOAL,) * behind
        contains = (Contains(negate(shape.items), behind, 1, None, None),)
        ways.append(ArrayShape(prefix, contains=contains, pointer=place[0]))
    for one in shape.contains:
        if one.least == 1:
            ways.append(ArrayShape((ANY_GOAL,) * one.start, negate(one.goal), pointer=place[0]))
        elif one.least:
            fewer = Contains(one.goal, one.start, 0, one.least - 1, negate(one.goal))
            ways.append(ArrayShape(contains=(fewer,), pointer=place[0]))
        if one.most is not None:
            more = Contains(one.goal, one.start, one.most + 1, None, None)
            ways.append(ArrayShape(contains=(more,), pointer=place[0]))
    return tuple(ways)


def _not_object(shape: ObjectShape, place: Place, negate: Negate) -> tuple[ObjectShape, ...]:
    if shape is FREE_OBJECT:
        return ()
    if shape.problems:
        return (ObjectShape(problems=shape.problems, pointer=place[0]),)
    if shape.checks:
        return (ObjectShape(problems=(_cannot(place, "what only a check can tell"),)),)
    absent: dict[str, Goal]
    ways: list[ObjectShape] = []
    for name in shape.required:
        absent = {name: None}
        ways.append(ObjectShape(absent, pointer=place[0]))
    for name, goal in shape.properties.items():
        if goal != ANY_GOAL:
            ways.append(ObjectShape({name: negate(goal)}, {name: None}, pointer=place[0]))
    if shape.minimum:
        ways.append(ObjectShape(maximum=shape.minimum - 1, count_pointer=place[0], pointer=place[0]))
    if shape.maximum is not None:
        ways.append(ObjectShape(minimum=shape.maximum + 1, count_pointer=place[0], pointer=place[0]))
    declared: dict[str, Goal] = dict.fromkeys(shape.properties, ANY_GOAL)
    witnesses: list[Witness] = []
    if shape.additional != ANY_GOAL:
        witnesses.append(Witness((), negate(shape.additional)))
    for patterns, additional in shape.layers:
        rules = tuple(TextRule("pattern", pattern) for pattern, _ in patterns)
        witnesses.extend(
            Witness((rule,), negate(goal)) for rule, (_, goal) in zip(rules, patterns, strict=True) if goal != ANY_GOAL
        )
        if additional != ANY_GOAL:
            none = tuple(TextRule("pattern", rule.text, holds=False) for rule in rules)
            witnesses.append(Witness(none, negate(additional)))
    for witness in witnesses:
        if declared or witness.rules or witness.goal:
            ways.append(ObjectShape(declared, witnesses=((frozenset(declared), witness),), pointer=place[0]))
        else:  # any property will do
            ways.append(ObjectShape(minimum=1, count_pointer=place[0], pointer=place[0]))
    if shape.names is None:
        ways.append(ObjectShape(minimum=1, count_pointer=place[0], pointer=place[0]))
    elif shape.names:
        named = Witness((), ANY_GOAL, negate(shape.names))
        ways.append(ObjectShape(witnesses=((frozenset(), named),), pointer=place[0]))
    ways.extend(_not_witness(names, witness, place, negate) for names, witness in shape.witnesses)
    return tuple(ways)


def _not_witness(names: frozenset[str], witness: Witness, place: Place, negate: Negate) -> ObjectShape:
    """Objects without any such property but for the given names."""
    if witness.names:
        return ObjectShape(names=negate(witness.names), pointer=place[0])
    declared: dict[str, Goal] = dict.fromkeys(sorted(names), ANY_GOAL)
    goal = negate(witness.goal)
    if not witness.rules:
        return ObjectShape(declared, additional=goal, pointer=place[0])
    if witness.rules[0].holds:
        layer = Layer(((witness.rules[0].text, goal),), ANY_GOAL)
    else:
        layer = Layer(tuple((rule.text, ANY_GOAL) for rule in witness.rules), goal)
    return ObjectShape(declared, layers=(layer,), pointer=place[0])
