"""A schema and a value that show a fault, made as small as they can be and still show it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["minimise"]


def minimise(
    schema: Any, value: Any, shows: Callable[[Any, Any], bool], *, max_seconds: float = 20.0
) -> tuple[Any, Any]:
    """Take parts away, from both, for as long as ``shows(schema, value)`` holds; it holds at first.

    >>> long = {"type": "array", "items": {"minimum": 3}, "title": "t"}
    >>> minimise(long, [1, [2]], lambda schema, value: "items" in str(schema) and "2" in str(value))
    ({'items': {}}, 2)
    """
    until = time.monotonic() + max_seconds
    changed = True
    while changed and time.monotonic() < until:
        changed = False
        for smaller in _smaller(value):
            if time.monotonic() < until and shows(schema, smaller):
                value, changed = smaller, True
                break
        if changed:
            continue
        for smaller in _smaller(schema, of_schema=True):
            if time.monotonic() < until and shows(smaller, value):
                schema, changed = smaller, True
                break
    return schema, value


def _smaller(value: Any, *, of_schema: bool = False) -> Iterator[Any]:
    """Values with less in them, those with much less first."""
    size = _size(value)
    simpler: list[Any] = [{}, True] if of_schema else [0, "", [], {}, None]
    for plain in simpler:
        if _size(plain) < size:
            yield plain
    match value:
        case dict():
            for name in value:
                yield {other: inner for other, inner in value.items() if other != name}
            if of_schema and len(value) == 1:
                (inner,) = value.values()
                if isinstance(inner, dict):
                    yield inner
            for name, inner in value.items():
                yield from ({**value, name: less} for less in _smaller(inner, of_schema=of_schema))
        case list():
            yield from value
            for place in range(len(value)):
                yield value[:place] + value[place + 1 :]
            for place, inner in enumerate(value):
                yield from (
                    [*value[:place], less, *value[place + 1 :]] for less in _smaller(inner, of_schema=of_schema)
                )
        case str() if len(value) > 1:
            half = len(value) // 2
            yield from (value[:half], value[half:], value[1:], value[:-1])
        case int() | float() if not isinstance(value, bool) and abs(value) > 1:
            yield 1 if value > 0 else -1


def _size(value: Any) -> int:
    return len(json.dumps(value))
