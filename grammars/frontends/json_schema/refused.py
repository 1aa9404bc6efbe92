"""Where an assertion that is not enforced stands in a schema, unless its value asserts nothing."""

from __future__ import annotations

from typing import Any

from ...errors import Problem

__all__ = ["array_problems", "object_problems"]

_Table = dict[str, Any]


def array_problems(schema: dict[str, Any], pointer: str, table: _Table) -> tuple[Problem, ...]:
    found = []
    if schema.get("uniqueItems") is True:
        longest = schema.get("maxItems")
        if longest is None or longest > 1:
            found.append(Problem(pointer, "uniqueItems", "distinct items are not enforced yet"))
    if "unevaluatedItems" in schema and "unevaluatedItems" in table and schema["unevaluatedItems"] not in (True, {}):
        found.append(Problem(pointer, "unevaluatedItems", "unevaluatedItems is not enforced yet"))
    return tuple(found)


_HARMLESS: dict[str, tuple[Any, ...]] = {
    "unevaluatedProperties": (True, {}),
}
"""Keywords of objects that are not enforced, with the values that assert nothing."""


def object_problems(schema: dict[str, Any], pointer: str, table: _Table) -> tuple[Problem, ...]:
    if schema.keys().isdisjoint(_HARMLESS):
        return ()
    return tuple(
        Problem(pointer, name, f"{name} is not enforced yet")
        for name, harmless in _HARMLESS.items()
        if name in schema and name in table and schema[name] not in harmless
    )
