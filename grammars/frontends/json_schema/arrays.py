"""Arrays: positions first, then any number of equal items, between the least and the greatest length."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from ...guards import ValidValue
from ...ir import NodeId, RuleId
from .counts import times
from .distinct_values import distinct_values_body
from .shapes import ArrayShape, Contains, Goal, Node, goal_key, join_goals

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["array_body", "link_contains", "longest_array"]

_MAX_COUNTS = 4096
"""Pairs of a number of items and a number of hits; beyond this a guard counts."""
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
    if shape.hits:
        return _containing(lowering, shape, depth)
    least, most = shape.minimum, longest_array(shape)
    if most == 0:
        return frame.empty_array
    if shape.distinct:
        body = distinct_values_body(lowering, shape, depth)
        if body is not None:
            return body
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
        tail = times(builder, item, max(least - behind, 0), None if most is None else most - behind)
    for index in range(behind - 1, 0, -1):
        tail = builder.sequence(frame.comma, value(positions[index]), tail)
        if index >= least:
            tail = builder.optional(tail)
        if index % _NEST == 0:
            tail = lowering.rule(f"{shape.pointer} from item {index}", tail)
    filled = builder.sequence(frame.open_array, value(positions[0]), tail, frame.close_array)
    return filled if least else builder.alternation(frame.empty_array, filled)


def link_contains(shape: ArrayShape, make: Callable[[Goal], Node]) -> list[Node]:
    """Make the nodes of items by which ``contains`` count them; those nodes."""
    shape.contains = _distinct(shape.contains)
    for index in range(max(len(shape.prefix), *(one.start for one in shape.contains)) + 1):
        goal = shape.prefix[index] if index < len(shape.prefix) else shape.items
        ways: list[tuple[int, Goal]] = [(0, goal)]
        for place, one in enumerate(shape.contains):
            if index < one.start:
                continue
            counted = [(hits | 1 << place, join_goals(inner, one.goal)) for hits, inner in ways]
            if one.most is not None:
                ways = [(hits, join_goals(inner, one.others)) for hits, inner in ways]
            ways += counted
        shape.hits.append([(hits, node) for hits, inner in ways if not (node := make(inner)).is_empty])
    return [node for ways in shape.hits for _, node in ways]


def _distinct(contains: tuple[Contains, ...]) -> tuple[Contains, ...]:
    """Counts of the same items as one."""
    found: dict[object, Contains] = {}
    for one in contains:
        key = (goal_key(one.goal), one.start)
        known = found.get(key)
        if known is not None:
            ends = [end for end in (known.most, one.most) if end is not None]
            least, others = max(known.least, one.least), one.others if known.most is None else known.others
            one = Contains(one.goal, one.start, least, min(ends) if ends else None, others)
        found[key] = one
    return tuple(found.values())


def _whole_check(lowering: Lowering, shape: ArrayShape) -> ValidValue:
    """That an array has the shape, ``contains`` and all, but for distinct items."""
    holds = lowering.holds

    def check(value: list[Any]) -> bool:
        if len(value) < shape.minimum or (shape.maximum is not None and len(value) > shape.maximum):
            return False
        goals = (*shape.prefix, *[shape.items] * max(0, len(value) - len(shape.prefix)))
        for one in shape.contains:
            hits = sum(holds(one.goal, item) for item in value[one.start :])
            if hits < one.least or (one.most is not None and hits > one.most):
                return False
        return all(holds(goal, item) for goal, item in zip(goals, value, strict=False))

    lowering.kept.append(shape)
    return ValidValue(f"array {id(shape)}", check)


def _uncounted(lowering: Lowering, shape: ArrayShape, depth: int) -> NodeId:
    """Arrays as long as those of the shape, of its items in any number and order."""
    builder, frame = lowering.builder, lowering.prelude.frame(depth)
    inside = lowering.layout.inside(depth)
    least, most = max(shape.minimum, *(one.start + one.least for one in shape.contains)), shape.maximum
    if most is not None and least > most:
        return builder.never
    if most == 0:
        return frame.empty_array
    ways = builder.alternation(*(lowering.value(node, inside) for hits in shape.hits for _, node in hits))
    item = builder.sequence(ways, lowering.distinct_item if shape.distinct else builder.epsilon)
    item = lowering.rule(f"{shape.pointer} items", item)
    behind = builder.sequence(frame.comma, item)
    more = times(builder, behind, max(least - 1, 0), None if most is None else most - 1)
    filled = builder.sequence(frame.open_array, item, more, frame.close_array)
    return filled if least else builder.alternation(frame.empty_array, filled)


def _containing(lowering: Lowering, shape: ArrayShape, depth: int) -> NodeId:
    """All arrays of the shape, a rule for each number of items and of those that each ``contains`` counts."""
    builder = lowering.builder
    frame = lowering.prelude.frame(depth)
    inside = lowering.layout.inside(depth)
    behind_item = lowering.distinct_item if shape.distinct else builder.epsilon
    tops = [one.least if one.most is None else one.most for one in shape.contains]  # more are all the same, or too many
    last = shape.maximum if shape.maximum is not None else max(len(shape.hits) - 1, shape.minimum)
    if (last + 1) * prod(top + 1 for top in tops) > _MAX_COUNTS:
        return lowering.checked(_uncounted(lowering, shape, depth), (_whole_check(lowering, shape),))
    rules: dict[tuple[int, tuple[int, ...]], RuleId] = {}
    values: dict[int, NodeId] = {}  # by identity of the node: each is written once, and called from every state
    pending: list[tuple[int, tuple[int, ...]]] = []

    def after(index: int, counts: tuple[int, ...]) -> NodeId:
        key = (min(index, last), counts)
        if key not in rules:
            rules[key] = builder.declare_rule(f"{shape.pointer} after {key[0]} with {counts}")
            pending.append(key)
        return builder.call(rules[key])

    def following(index: int, counts: tuple[int, ...], before: NodeId) -> list[NodeId]:
        """Ways on after ``index`` items of which so many are counted, but for the end."""
        if index == last and shape.maximum is not None:
            return []
        ways = []
        for hits, node in shape.hits[min(index, len(shape.hits) - 1)]:
            if not node.is_productive:
                continue
            reached = _counted(counts, hits, tops)
            if reached is not None:
                if id(node) not in values:
                    item = builder.sequence(lowering.value(node, inside), behind_item)
                    values[id(node)] = lowering.rule(f"{shape.pointer} item", item)
                ways.append(builder.sequence(before, values[id(node)], after(index + 1, reached)))
        return ways

    def may_end(index: int, counts: tuple[int, ...]) -> bool:
        enough = all(count >= one.least for count, one in zip(counts, shape.contains, strict=True))
        return index >= shape.minimum and enough

    none = (0,) * len(tops)
    empty = [frame.empty_array] if may_end(0, none) else []
    whole = builder.alternation(*empty, *following(0, none, frame.open_array))
    while pending:
        index, counts = pending.pop()
        ends = [frame.close_array] if may_end(index, counts) else []
        builder.define_rule(rules[index, counts], builder.alternation(*ends, *following(index, counts, frame.comma)))
    return whole


def _counted(counts: tuple[int, ...], hits: int, tops: list[int]) -> tuple[int, ...] | None:
    """The counts with one more of each that is hit; ``None`` if they are too many, or need no more."""
    reached = list(counts)
    for place, top in enumerate(tops):
        if hits >> place & 1:
            if counts[place] == top:
                return None  # too many, or it counts no more: then it is just as good among the others
            reached[place] += 1
    return tuple(reached)
