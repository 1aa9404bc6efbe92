"""Where an assertion that is not enforced stands in a schema, unless its value asserts nothing."""

from __future__ import annotations

from typing import Any

from ...errors import Problem

__all__ = ["array_problems"]


def array_problems(schema: dict[str, Any], pointer: str) -> tuple[Problem, ...]:
    """Assertions of arrays that are not enforced."""
    if schema.get("uniqueItems") is True:
        longest = schema.get("maxItems")
        if longest is None or longest > 1:
            return (Problem(pointer, "uniqueItems", "distinct items are not enforced yet"),)
    return ()
