"""Strings: lengths in code points, formats, given values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ...errors import Problem
from ...ir import NodeId
from ...ir.utf8 import Fragment
from .compact import as_fragment
from .formats import FORMATS, format_body
from .layout import Layout
from .prelude import Prelude, prelude_of
from .shapes import StringShape
from .spelling import json_text

__all__ = ["constrained_string", "other_name", "string_values"]


def string_values(prelude: Prelude, values: Iterable[str]) -> NodeId:
    """Any of the given strings."""
    if prelude.every:
        return prelude.builder.json_strings(values, every_spelling=True)
    return prelude.builder.literals(map(json_text, values))


def constrained_string(prelude: Prelude, shape: StringShape) -> NodeId | Problem:
    """The strings of a shape without given values, or why it is refused."""
    builder, quote = prelude.builder, prelude.quote
    if not shape.formats:
        body = builder.repeat(prelude.character, shape.minimum, shape.maximum)
        return builder.sequence(quote, body, quote)
    if len(shape.formats) > 1:
        return Problem(shape.pointer, "format", f"several formats at once: {', '.join(shape.formats)}")
    name = shape.formats[0]
    lengths = FORMATS[name]
    if shape.minimum > lengths.shortest or (
        shape.maximum is not None and (lengths.longest is None or shape.maximum < lengths.longest)
    ):
        return Problem(shape.pointer, "format", f"{name!r} together with minLength or maxLength")
    return builder.sequence(quote, builder.fragment(_format_fragment(name, prelude.every)), quote)


@lru_cache(maxsize=64)
def _format_fragment(name: str, every: bool) -> Fragment:
    """The strings of a format without quotes, made once."""
    prelude = prelude_of(Layout.from_text("any" if every else "compact"), integral_fractions=True)
    return as_fragment(prelude.builder.finish(format_body(prelude, name)))


def other_name(prelude: Prelude, names: Sequence[str]) -> NodeId:
    """A whole string that is none of ``names``, after unescaping."""
    if not names:
        return prelude.string
    return prelude.builder.other_json_strings(names, every_spelling=prelude.every)
