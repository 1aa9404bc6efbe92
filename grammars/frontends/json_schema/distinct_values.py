"""Arrays of distinct values of a finite list: a register notes which have been written.

So no value comes twice, no comma is offered once all have been written, and the array ends as soon as it may: no guard
is asked, and nothing has to be taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir import NodeId
from ...ir.nodes import Register, RegisterStep
from .any_order import in_any_order
from .numbers import number_values
from .shapes import ArrayShape, Node, NumberShape, StringShape
from .strings import string_values

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["distinct_values_body"]

_MAX_VALUES = 256


def distinct_values_body(lowering: Lowering, shape: ArrayShape, depth: int) -> NodeId | None:
    """All arrays of the shape; ``None`` where its items are not just a short list of values."""
    node = shape.items_node
    if shape.prefix_nodes or shape.hits or node is None or not node.is_productive:
        return None
    values = _values(lowering, node)
    if values is None:
        return None
    builder, frame = lowering.builder, lowering.prelude.frame(depth)
    if shape.minimum > len(values):
        return builder.never
    least = max(shape.minimum, 1)  # the empty array is written by itself
    register = builder.declare_register(Register(len(values), (), least, shape.maximum))

    def step(which: RegisterStep, element: int) -> NodeId:
        return builder.register(which, register, element)

    ways = [
        builder.sequence(step(RegisterStep.TEST, element), value, step(RegisterStep.ADD, element))
        for element, value in enumerate(values)
    ]
    filled = builder.sequence(frame.open_array, in_any_order(builder, register, ways, frame.comma), frame.close_array)
    return filled if shape.minimum else builder.alternation(frame.empty_array, filled)


def _values(lowering: Lowering, node: Node) -> list[NodeId] | None:
    """Each value of a node by itself, ``None`` if they are too many or some shape is no list of values."""
    shapes: tuple[NumberShape | StringShape, ...] = (*node.numbers, *node.strings)
    if node.arrays or node.objects or node.problems:
        return None
    if any(shape.values is None or shape.checks or shape.problems for shape in shapes):
        return None
    builder, prelude = lowering.builder, lowering.prelude
    numbers = {number[0]: number for shape in node.numbers for number in shape.values or ()}
    strings = dict.fromkeys(text for shape in node.strings for text in shape.values or ())
    if len(numbers) + len(strings) > _MAX_VALUES:
        return None
    words = [(node.null, b"null"), (bool(node.booleans & 2), b"true"), (bool(node.booleans & 1), b"false")]
    return [
        *(builder.literal(word) for is_allowed, word in words if is_allowed),
        *(number_values(builder, (number,), every=prelude.every) for number in numbers.values()),
        *(string_values(prelude, (text,)) for text in strings),
    ]
