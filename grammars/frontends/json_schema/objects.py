"""Objects: declared properties in the order of the schema, then the required undeclared, then all others.

What may follow once some property is written is a chain of rules, so that the size stays linear however many
properties are optional. Names beyond the declared ones differ among themselves by a guard; in any order, the declared
ones by a register (:mod:`.any_order`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import Problem
from ...guards import ValidValue
from ...ir import NodeId
from .any_order import any_order_body
from .counted import counted_body
from .prelude import Frame
from .shapes import Node, ObjectShape
from .spelling import json_text
from .undeclared import Undeclared

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["count_check", "count_is_possible", "key_of", "object_body"]

_Members = list[tuple[str, Node, bool]]


def count_is_possible(shape: ObjectShape, live: int, extra: bool) -> bool:
    """Whether an object with all required names can have an allowed number of properties; ``live`` can be written."""
    needed = len(shape.required) + bool(shape.some)
    if shape.maximum is not None and max(needed, shape.minimum) > shape.maximum:
        return False
    return extra or shape.minimum <= live


def count_check(shape: ObjectShape) -> ValidValue:
    """That an object has as many properties as the shape allows."""
    least, most = shape.minimum, shape.maximum
    return ValidValue(f"{least} to {most} properties", lambda value: least <= len(value) <= (most or len(value)))


def object_body(lowering: Lowering, shape: ObjectShape, depth: int) -> NodeId:
    """All objects of the shape."""
    builder = lowering.builder
    frame = lowering.prelude.frame(depth)
    inside = lowering.layout.inside(depth)
    members = [member for member in shape.members if member[1].is_productive]
    others = Undeclared(lowering, shape, frame, inside)
    if lowering.any_order and len(members) + (others.any is not None) + len(others.serving) > 1:
        others.share()
        return any_order_body(lowering, shape, members, others, depth)
    required = sum(needed for _, _, needed in members)
    least, most = shape.minimum, shape.maximum
    if most is not None and most == required:
        if shape.some:
            return builder.never
        members, others.any = [member for member in members if member[2]], None
    if others.any is None and least == len(members):
        members = [(name, node, True) for name, node, _ in members]
        required = least
    if least > max(required, 1) or (most is not None and (others.any is not None or most < len(members))):
        counted = counted_body(lowering, shape, members, others, depth)
        if not isinstance(counted, Problem):
            return counted
        uncounted = object_body(lowering, replace(shape, minimum=0, maximum=None), depth)
        return lowering.checked(uncounted, (count_check(shape),))
    leading = next((index for index, member in enumerate(members) if member[2]), len(members))
    if shape.some or leading == len(members):
        others.share()
    end = others.after(1)

    def follow(index: int) -> NodeId:
        name, node, needed = members[index]
        written = builder.sequence(key_of(lowering, frame, name, b","), lowering.value(node, inside))
        return written if needed else builder.optional(written)

    tail = builder.sequence(*[follow(index) for index in range(leading + 1, len(members))], end)
    if leading == 0 and members:
        name, node, _ = members[0]
        return builder.sequence(key_of(lowering, frame, name, b"{"), lowering.value(node, inside), tail)
    return _with_leading_options(lowering, shape, frame, members[: leading + 1], others, tail, inside)


def _with_leading_options(
    lowering: Lowering,
    shape: ObjectShape,
    frame: Frame,
    members: _Members,
    others: Undeclared,
    tail: NodeId,
    inside: int,
) -> NodeId:
    """The object where any of ``members`` may come first; ``tail`` follows the last of them."""
    builder = lowering.builder
    tail = lowering.rule(f"{shape.pointer} end", tail)
    firsts: list[NodeId] = []
    if not (members and members[-1][2]):
        if shape.some:
            firsts += reversed(others.first())
        elif others.any is not None:
            firsts.append(builder.sequence(others.any, tail))
    for index in range(len(members) - 1, -1, -1):
        name, node, needed = members[index]
        value = lowering.value(node, inside)
        firsts.append(builder.sequence(key_of(lowering, frame, name, b""), value, tail))
        if index:
            written = builder.sequence(key_of(lowering, frame, name, b","), value)
            link = builder.sequence(written if needed else builder.optional(written), tail)
            tail = lowering.rule(f"{shape.pointer} from {index}", link)
    filled = builder.sequence(frame.open_object, builder.alternation(*reversed(firsts)))
    needs_some = bool(members) and members[-1][2]
    if needs_some or shape.minimum or shape.some:
        return filled
    return builder.alternation(frame.empty_object, filled)


def key_of(lowering: Lowering, frame: Frame, name: str, before: bytes) -> NodeId:
    """The name with its colon, behind an opening brace, a comma or nothing."""
    fixed = frame.fixed
    if fixed is not None:
        opening = fixed.open_object if before == b"{" else fixed.comma if before else b""
        return lowering.builder.literal(opening + json_text(name, only_ascii=lowering.prelude.only_ascii) + fixed.colon)
    start = frame.open_object if before == b"{" else frame.comma if before else lowering.builder.epsilon
    return lowering.builder.sequence(start, lowering.prelude.text(name), frame.colon)
