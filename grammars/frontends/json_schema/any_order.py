"""Objects whose properties come in any order: a register notes which names have been written.

So every name comes at most once, a closing brace is offered only where all required names have been written, and no
more names are begun than ``maxProperties`` leaves room for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...ir import Builder, NodeId
from ...ir.nodes import ANOTHER_ELEMENT, FIRST_ELEMENT, OTHER_ELEMENT, Register, RegisterStep
from .prelude import Frame
from .shapes import Node, ObjectShape

if TYPE_CHECKING:
    from .lower import Lowering
    from .undeclared import Undeclared

__all__ = ["any_order_body", "in_any_order"]


def any_order_body(
    lowering: Lowering,
    shape: ObjectShape,
    members: list[tuple[str, Node, bool]],
    others: Undeclared,
    depth: int,
) -> NodeId:
    """All objects of ``members`` and undeclared properties, in any order."""
    from .objects import count_check

    builder = lowering.builder
    frame = lowering.prelude.frame(depth)
    size = len(members)
    kinds = len(shape.some)
    if kinds > 1 and shape.maximum is not None:  # one property may serve several of them, or may not
        uncounted = any_order_body(lowering, replace(shape, maximum=None), members, others, depth)
        return lowering.checked(uncounted, (count_check(shape),))
    has_others = others.any is not None or bool(others.serving)
    if not has_others and shape.minimum > size:
        return builder.never
    needed = [element for element, member in enumerate(members) if member[2]]
    required = (*needed, *range(size, size + kinds))
    least = max(shape.minimum, 1)  # the empty object is written by itself
    register = builder.declare_register(Register(size + kinds, required, least, shape.maximum, others=has_others))
    may_be_empty = not required and not shape.minimum
    ways = _ways(lowering, frame, members, others, register, lowering.layout.inside(depth))
    if shape.maximum == 0 or not ways:
        return frame.empty_object if may_be_empty else builder.never
    filled = builder.sequence(frame.open_object, in_any_order(builder, register, ways, frame.comma), frame.close_object)
    return builder.alternation(frame.empty_object, filled) if may_be_empty else filled


def in_any_order(builder: Builder, register: int, ways: list[NodeId], comma: NodeId) -> NodeId:
    """Some of the ways, one after the other, as the register allows; each way stands in the grammar only once."""
    first = builder.register(RegisterStep.TEST, register, FIRST_ELEMENT)
    another = builder.sequence(builder.register(RegisterStep.TEST, register, ANOTHER_ELEMENT), comma)
    turn = builder.sequence(builder.alternation(first, another), builder.alternation(*ways))
    begin, end = (builder.register(step, register) for step in (RegisterStep.OPEN, RegisterStep.CLOSE))
    return builder.sequence(begin, builder.repeat(turn, 0), end)


def _ways(
    lowering: Lowering,
    frame: Frame,
    members: list[tuple[str, Node, bool]],
    others: Undeclared,
    register: int,
    inside: int,
) -> list[NodeId]:
    """Every property, tested before it begins and noted once its name is written."""
    from .objects import key_of

    builder = lowering.builder
    step = builder.register
    ways = [
        builder.sequence(
            step(RegisterStep.TEST, register, element),
            key_of(lowering, frame, name, b""),
            step(RegisterStep.ADD, register, element),
            lowering.value(node, inside),
        )
        for element, (name, node, _) in enumerate(members)
    ]
    if others.any is not None:
        test, add = (step(one, register, OTHER_ELEMENT) for one in (RegisterStep.TEST, RegisterStep.ADD))
        ways.append(builder.sequence(test, others.any, add))
    for served, node in others.serving.items():
        first, *further = (len(members) + kind for kind in range(served.bit_length()) if served >> kind & 1)
        marks = (step(RegisterStep.MARK, register, element) for element in further)
        test, add = (step(one, register, first) for one in (RegisterStep.TEST, RegisterStep.ADD))
        ways.append(builder.sequence(test, node, add, *marks))
    return ways
