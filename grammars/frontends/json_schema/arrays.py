"""Arrays: positions first, then any number of equal items, between the least and the greatest length."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...guards import ValidValue
from ...ir import NodeId
from .shapes import NEVER, ArrayShape, Goal, Node, join_goals

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["array_body", "link_contains", "longest_array"]

_MAX_COUNTS = 4096
"""Pairs of a number of items and a number of hits; beyond this it is refused."""
_NEST = 32
"""Optional positions nested in one node; deeper ones become rules, so that no reader of the nodes recurses far."""


def longest_array(shape: ArrayShape) -> int | None:
    """How many items the array can have, given which positions can be filled; ``None``: without end."""
    longest = shape.maximum
    positions = next(
        (index for index, node in enumerate(shape.prefix_nodes) if not node.is_productive), len(shape.prefix_nodes)
    )
    items = shape.items_node
    if positions < len(shape.prefix_nodes) or items is None or not items.is_productive:
        longest = positions if longest is None else min(longest, positions)
    return longest


def array_body(lowering: Lowering, shape: ArrayShape, depth: int) -> NodeId:
    """All arrays of the shape."""
    prelude, builder = lowering.prelude, lowering.builder
    frame = prelude.frame(depth)
    inside = lowering.layout.inside(depth)
    if shape.contains:
        return _containing(lowering, shape, depth)
    least, most = shape.minimum, longest_array(shape)
    if most == 0:
        return frame.empty_array
    behind_item = lowering.distinct_item if shape.distinct else builder.epsilon

    def value(node: Node) -> NodeId:
        return builder.sequence(lowering.value(node, inside), behind_item)

    positions: list[Node] = shape.prefix_nodes if most is None else shape.prefix_nodes[:most]
    behind = len(positions)
    tail = builder.epsilon
    if (most is None or most > behind) and shape.items_node is not None:
        if not positions:
            positions, behind = [shape.items_node], 1
        item = builder.sequence(frame.comma, value(shape.items_node))
        tail = builder.repeat(item, max(least - behind, 0), None if most is None else most - behind)
    for index in range(behind - 1, 0, -1):
        tail = builder.sequence(frame.comma, value(positions[index]), tail)
        if index >= least:
            tail = builder.optional(tail)
        if index % _NEST == 0:
            tail = lowering.rule(f"{shape.pointer} from item {index}", tail)
    filled = builder.sequence(frame.open_array, value(positions[0]), tail, frame.close_array)
    return filled if least else builder.alternation(frame.empty_array, filled)


def link_contains(shape: ArrayShape, make: Callable[[Goal], Node]) -> list[Node]:
    """Make the nodes of items that ``contains`` counts and of those that it does not; those nodes."""
    one = shape.contains[0]
    for index in range(len(shape.prefix) + 1):
        goal = shape.prefix[index] if index < len(shape.prefix) else shape.items
        if index < one.start:
            hit, miss = NEVER, make(goal)
        else:
            hit = make(join_goals(goal, one.goal))
            miss = make(goal if one.most is None else join_goals(goal, one.others))
        shape.hits.append((hit, miss))
    return [node for pair in shape.hits for node in pair]


def _whole_check(lowering: Lowering, shape: ArrayShape) -> ValidValue:
    """That an array has the shape, ``contains`` and all, but for distinct items."""
    holds = lowering.holds
    one = shape.contains[0]

    def check(value: list[Any]) -> bool:
        if len(value) < shape.minimum or (shape.maximum is not None and len(value) > shape.maximum):
            return False
        goals = (*shape.prefix, *[shape.items] * max(0, len(value) - len(shape.prefix)))
        hits = sum(holds(one.goal, item) for item in value[one.start :])
        enough = hits >= one.least and (one.most is None or hits <= one.most)
        return enough and all(holds(goal, item) for goal, item in zip(goals, value, strict=False))

    lowering.kept.append(shape)
    return ValidValue(f"array {id(shape)}", check)


def _containing(lowering: Lowering, shape: ArrayShape, depth: int) -> NodeId:
    """All arrays of the shape, a rule for each number of items and of those that ``contains`` counts."""
    builder = lowering.builder
    frame = lowering.prelude.frame(depth)
    inside = lowering.layout.inside(depth)
    behind_item = lowering.distinct_item if shape.distinct else builder.epsilon
    one = shape.contains[0]
    top = one.least if one.most is None else one.most  # more hits are all the same, or too many
    last = shape.maximum if shape.maximum is not None else max(len(shape.prefix), shape.minimum)
    if (last + 1) * (top + 1) > _MAX_COUNTS:
        items = builder.alternation(*(lowering.value(node, inside) for pair in shape.hits for node in pair))
        more = builder.repeat(builder.sequence(frame.comma, items, behind_item), 0)
        filled = builder.sequence(frame.open_array, items, behind_item, more, frame.close_array)
        return lowering.checked(builder.alternation(frame.empty_array, filled), (_whole_check(lowering, shape),))
    rules = [
        [builder.declare_rule(f"{shape.pointer} after {index} with {count}") for count in range(top + 1)]
        for index in range(last + 1)
    ]

    def following(index: int, count: int, before: NodeId) -> list[NodeId]:
        """Ways on after ``index`` items of which ``count`` are hits, but for the end."""
        if index == last and shape.maximum is not None:
            return []
        hit, miss = shape.hits[min(index, len(shape.prefix))]
        after = rules[min(index + 1, last)]
        ways = []
        if miss.is_productive:
            known = builder.call(after[count])
            ways.append(builder.sequence(before, lowering.value(miss, inside), behind_item, known))
        if hit.is_productive and (count < top or one.most is None):
            known = builder.call(after[min(count + 1, top)])
            ways.append(builder.sequence(before, lowering.value(hit, inside), behind_item, known))
        return ways

    def may_end(index: int, count: int) -> bool:
        return index >= shape.minimum and count >= one.least

    for index, row in enumerate(rules):
        for count, rule in enumerate(row):
            ends = [frame.close_array] if may_end(index, count) else []
            builder.define_rule(rule, builder.alternation(*ends, *following(index, count, frame.comma)))
    empty = [frame.empty_array] if may_end(0, 0) else []
    return builder.alternation(*empty, *following(0, 0, frame.open_array))
