"""Types of the Outlines library as output types. Outlines is imported only when the user's object comes from it."""

from __future__ import annotations

from typing import Any

from ..errors import UnsupportedOutputType
from .base import OutputType
from .json_schema_type import JsonSchemaType
from .text import choice, regex

__all__ = ["from_outlines", "is_outlines_term"]


def is_outlines_term(candidate: Any) -> bool:
    """Whether the object is an instance of a class of Outlines' type language (found out without importing it)."""
    return any(cls.__module__ == "outlines.types.dsl" for cls in type(candidate).__mro__)


def from_outlines(term: Any) -> OutputType[Any]:
    """The output type that means what an Outlines term means.

    A ``CFG`` is a Lark grammar. Raises :class:`~constrained.errors.UnsupportedOutputType` for a whitespace pattern of
    its own.

    >>> import outlines.types
    >>> from_outlines(outlines.types.Choice(["yes", "no"]))
    choice(['yes', 'no'])
    """
    from outlines.types import dsl

    match term:
        case dsl.JsonSchema():
            if term.whitespace_pattern is not None:
                raise UnsupportedOutputType(
                    "an Outlines JsonSchema with a whitespace_pattern is not supported; pass whitespace=... to generate"
                )
            return JsonSchemaType.from_text(term.schema)
        case dsl.Regex():
            return regex(term.pattern)
        case dsl.Choice() if all(isinstance(item, str) for item in term.items):
            return choice(term.items)
        case dsl.CFG():
            from ..combinators import lark

            return lark(term.definition)
    try:
        return regex(dsl.to_regex(term))
    except (TypeError, RecursionError) as error:
        raise UnsupportedOutputType(f"this Outlines term cannot be written as a regular expression: {error}") from error
