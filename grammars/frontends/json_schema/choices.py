"""Keywords that are a choice between two ways, as branches: if/then/else and what depends on a property.

The two ways exclude each other by construction, so each is one ``anyOf`` of two branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .keywords import Group, Keyword
from .shapes import Goal, join_goals

if TYPE_CHECKING:
    from .normalise import Normaliser

__all__ = ["dependent", "in_place_choices"]


def in_place_choices(
    schema: dict[str, Any], pointer: str, table: dict[str, Keyword], normaliser: Normaliser
) -> Iterator[tuple[str, list[Goal]]]:
    """(keyword, branches) of each choice that the schema makes."""
    if "if" in schema and "if" in table and ("then" in schema or "else" in schema):
        condition = normaliser.goal(schema["if"])
        held = join_goals(condition, normaliser.goal(schema.get("then", True)))
        other = join_goals(normaliser.negate(condition, "if"), normaliser.goal(schema.get("else", True)))
        yield "if", [held, other]
    for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
        if keyword in schema and keyword in table:
            for name, asked in schema[keyword].items():
                yield keyword, dependent(normaliser, pointer, name, asked)


def dependent(normaliser: Normaliser, pointer: str, name: str, asked: Any) -> list[Goal]:
    """Without the property, or with it and what it asks for."""
    key = (pointer, name, id(asked))
    known = normaliser.dependent.get(key)
    if known is None:
        needed = [name, *(other for other in asked if other != name)] if isinstance(asked, list) else [name]
        known = normaliser.dependent[key] = ({"properties": {name: False}}, {"required": needed})
        for one in known:
            normaliser.document.register(one, int(Group.OBJECTS), pointer)
    absent, present = known
    goal: Goal = (present,)
    return [(absent,), goal if isinstance(asked, list) else join_goals(goal, normaliser.goal(asked))]
