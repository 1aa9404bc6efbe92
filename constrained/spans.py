"""Where the strings of a value stand in the text that they were taken from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Span", "find_spans"]

Span = tuple[int, int]
"""First character, and the one behind the last: ``source[start:end]`` is the string."""

_MOST_PLACES = 10_000


def find_spans(text: str, source: str, *, is_json: bool) -> Mapping[str, Span]:
    """By JSON pointer, where each string value of ``text`` stands in ``source``; those that do not are left out.

    Of several places the first is told at which words begin and end, or else the first of all. ``is_json=False``: the
    text as a whole is the value, its pointer is empty.

    >>> find_spans('{"to": "Ann", "for": ["tea", 2]}', "cannot: Ann, tea", is_json=True)
    {'/to': (8, 11), '/for/0': (13, 16)}
    """
    from grammars.ir.verbatim import unit_bounds

    begins, ends = unit_bounds(source, "words")

    def place_of(string: str) -> int:
        first = place = source.find(string)
        for _ in range(_MOST_PLACES):
            if place < 0 or (begins[place] and ends[place + len(string) - 1]):
                break
            place = source.find(string, place + 1)
        else:
            return first
        return first if place < 0 else place

    found: dict[str, Span] = {}
    known: dict[str, int] = {}
    for pointer, string in _strings(json.loads(text)) if is_json else [("", text)]:
        if not string:
            continue
        if string not in known:
            known[string] = place_of(string)
        if known[string] >= 0:
            found[pointer] = (known[string], known[string] + len(string))
    return found


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    """All string values with their pointers, in order."""
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        pointer, one = pending.pop()
        if isinstance(one, str):
            yield pointer, one
        elif isinstance(one, dict):
            parts = [(name.replace("~", "~0").replace("/", "~1"), inner) for name, inner in one.items()]
            pending += [(f"{pointer}/{name}", inner) for name, inner in reversed(parts)]
        elif isinstance(one, list):
            pending += [(f"{pointer}/{index}", inner) for index, inner in reversed(list(enumerate(one)))]
