"""Objects: declared properties in the order of the schema, then the required undeclared, then all others.

What may follow once some property is written is a chain of rules, so that the size stays linear however many
properties are optional. That the names beyond the declared ones differ among themselves is not enforced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Problem
from ...ir import NodeId
from ...ir.regular import Dfa
from .counted import counted_body
from .prelude import Frame
from .shapes import Node, ObjectShape
from .spelling import json_text
from .strings import other_name

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["count_is_possible", "key_of", "object_body"]

_Members = list[tuple[str, Node, bool]]


def count_is_possible(shape: ObjectShape, live: int, extra: bool) -> bool:
    """Whether an object with all required names can have an allowed number of properties; ``live`` can be written."""
    if shape.maximum is not None and max(len(shape.required), shape.minimum) > shape.maximum:
        return False
    return extra or shape.minimum <= live


def object_body(lowering: Lowering, shape: ObjectShape, depth: int) -> NodeId:
    """All objects of the shape."""
    builder = lowering.builder
    frame = lowering.prelude.frame(depth)
    inside = lowering.layout.inside(depth)
    members = [member for member in shape.members if member[1].is_productive]
    others = _others(lowering, shape, shape.extras, frame, inside)
    some = _others(lowering, shape, shape.some_extras, frame, inside) if shape.some else None
    if shape.some and some is None:
        return builder.never
    required = sum(needed for _, _, needed in members)
    least, most = shape.minimum, shape.maximum
    if most is not None and most == required:
        members, others = [member for member in members if member[2]], None
    if others is None and least == len(members):
        members = [(name, node, True) for name, node, _ in members]
        required = least
    if some is not None and (least > required + 1 or most is not None):
        reason = "counting properties where an undeclared name must break a rule is not enforced yet"
        lowering.report((Problem(shape.count_pointer, "minProperties" if most is None else "maxProperties", reason),))
        return frame.empty_object
    if some is not None:
        least = 0
    if least > max(required, 1) or (most is not None and (others is not None or most < len(members))):
        counted = counted_body(lowering, shape, members, others, depth)
        if isinstance(counted, Problem):
            lowering.report((counted,))
            return frame.empty_object
        return counted
    leading = next((index for index, member in enumerate(members) if member[2]), len(members))
    if others is not None and leading == len(members):
        others = lowering.rule(f"{shape.pointer} other", others)  # it stands in two places
    end = frame.close_object
    if others is not None:
        others = lowering.rule(f"{shape.pointer} other", others) if some is not None else others
        more = builder.repeat(builder.sequence(frame.comma, others), 0)
        end = builder.sequence(more, end) if some is None else builder.sequence(more, frame.comma, some, more, end)

    def follow(index: int) -> NodeId:
        name, node, needed = members[index]
        written = builder.sequence(key_of(lowering, frame, name, b","), lowering.value(node, inside))
        return written if needed else builder.optional(written)

    tail = builder.sequence(*[follow(index) for index in range(leading + 1, len(members))], end)
    if leading == 0 and members:
        name, node, _ = members[0]
        return builder.sequence(key_of(lowering, frame, name, b"{"), lowering.value(node, inside), tail)
    return _with_leading_options(lowering, shape, frame, members[: leading + 1], others, some, tail, inside)


def _others(
    lowering: Lowering, shape: ObjectShape, extras: list[tuple[Dfa | None, Node]], frame: Frame, inside: int
) -> NodeId | None:
    """A property of any other name with its value, ``None`` if there is none."""
    ways: list[NodeId] = []
    for language, node in extras:
        if node.is_productive:
            if language is None:
                names = list(dict.fromkeys((*shape.properties, *shape.required)))
                name = other_name(lowering.prelude, names)
            else:
                name = lowering.name(language)
            ways.append(lowering.builder.sequence(name, frame.colon, lowering.value(node, inside)))
    return lowering.builder.alternation(*ways) if ways else None


def _with_leading_options(
    lowering: Lowering,
    shape: ObjectShape,
    frame: Frame,
    members: _Members,
    others: NodeId | None,
    some: NodeId | None,
    tail: NodeId,
    inside: int,
) -> NodeId:
    """The object where any of ``members`` may come first; ``tail`` follows the last of them."""
    builder = lowering.builder
    tail = lowering.rule(f"{shape.pointer} end", tail)
    firsts: list[NodeId] = []
    if others is not None and not (members and members[-1][2]):
        firsts.append(builder.sequence(others, tail))
        if some is not None:
            more = builder.repeat(builder.sequence(frame.comma, others), 0)
            firsts.append(builder.sequence(some, more, frame.close_object))
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
        return lowering.builder.literal(opening + json_text(name) + fixed.colon)
    start = frame.open_object if before == b"{" else frame.comma if before else lowering.builder.epsilon
    return lowering.builder.sequence(start, lowering.prelude.text(name), frame.colon)
