"""Arrays: positions first, then any number of equal items, between the least and the greatest length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir import NodeId
from .shapes import ArrayShape, Node

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["array_body", "longest_array"]

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
    least, most = shape.minimum, longest_array(shape)
    if most == 0:
        return frame.empty_array
    positions: list[Node] = shape.prefix_nodes if most is None else shape.prefix_nodes[:most]
    behind = len(positions)
    tail = builder.epsilon
    if (most is None or most > behind) and shape.items_node is not None:
        if not positions:
            positions, behind = [shape.items_node], 1
        item = builder.sequence(frame.comma, lowering.value(shape.items_node, inside))
        tail = builder.repeat(item, max(least - behind, 0), None if most is None else most - behind)
    for index in range(behind - 1, 0, -1):
        tail = builder.sequence(frame.comma, lowering.value(positions[index], inside), tail)
        if index >= least:
            tail = builder.optional(tail)
        if index % _NEST == 0:
            tail = lowering.rule(f"{shape.pointer} from item {index}", tail)
    first = lowering.value(positions[0], inside)
    filled = builder.sequence(frame.open_array, first, tail, frame.close_array)
    return filled if least else builder.alternation(frame.empty_array, filled)
