"""Objects whose properties are counted (``minProperties``, ``maxProperties``): a state for each count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Problem
from ...ir import NodeId
from .shapes import Node, ObjectShape
from .undeclared import Undeclared

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["counted_body"]

_FEW_COUNTS = 3
_MAX_STATES = 16_384
"""Pairs of a property and a count; beyond this it is refused."""


def counted_body(
    lowering: Lowering,
    shape: ObjectShape,
    members: list[tuple[str, Node, bool]],
    others: Undeclared,
    depth: int,
) -> NodeId | Problem:
    """All objects of ``members`` in order and then ``others``, as many as the shape allows; or why it is refused."""
    from .objects import key_of

    builder = lowering.builder
    frame = lowering.prelude.frame(depth)
    inside = lowering.layout.inside(depth)
    least, most = shape.minimum, shape.maximum
    required = sum(needed for _, _, needed in members)
    last = len(members)
    top = least if most is None else most  # counts above it are all the same, or none
    if (last + 1) * (min(top, last) + 2) * others.num_states > _MAX_STATES:
        keyword = "minProperties" if most is None else "maxProperties"
        return Problem(shape.count_pointer, keyword, f"more than {_MAX_STATES} states to count {last} properties")
    others.share()
    others.count(least, most)
    values = [lowering.value(node, inside) for _, node, _ in members]
    cap = min(last, top if most is None else top + 1)
    if cap > _FEW_COUNTS:  # each value stands in that many states
        values = [
            lowering.rule(f"{shape.pointer}/{name}", value) for (name, _, _), value in zip(members, values, strict=True)
        ]
    rest = [others.after(count) for count in range(cap + 1)]  # by the number of properties written so far
    firsts = others.first()
    for index in range(last - 1, -1, -1):
        name, _, needed = members[index]
        written = builder.sequence(key_of(lowering, frame, name, b""), values[index], rest[min(1, cap)])
        firsts = [written] if needed else [written, *firsts]
        if index == 0:
            break
        key = key_of(lowering, frame, name, b",")
        after = rest
        rest = []
        for count in range(min(index, cap) + 1):
            link = builder.sequence(key, values[index], after[min(count + 1, cap)])
            link = link if needed else builder.alternation(link, after[count])
            name_of_rule = f"{shape.pointer} from {index} with {count}"
            rest.append(link if link == builder.never else lowering.rule(name_of_rule, link))
    filled = builder.sequence(frame.open_object, builder.alternation(*firsts))
    if required or least or shape.some:
        return filled
    return builder.alternation(frame.empty_object, filled)
