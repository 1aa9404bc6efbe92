"""What a model may be asked to write: everything a user passes as ``output_type`` becomes one :class:`OutputType`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import InvalidText, OutputType
from .json_schema import JsonSchemaType
from .outlines_types import from_outlines, is_outlines_term
from .python_types import PythonType
from .regular import RegularType
from .text import ChoiceType, RegexType, choice, regex

__all__ = [
    "DEFAULT_WHITESPACE",
    "ChoiceType",
    "InvalidText",
    "JsonSchemaType",
    "OutputType",
    "PythonType",
    "RegexType",
    "RegularType",
    "choice",
    "output_type_from",
    "regex",
]


DEFAULT_WHITESPACE = "indent=2"
"""How JSON is written unless told otherwise: all of it forced, and closest to what a model would write by itself."""


def output_type_from(candidate: Any) -> OutputType[Any]:
    """The :class:`OutputType` of what a user passed: a type, a JSON Schema as mapping or text, an Outlines term.

    Raises :class:`~constrained.errors.UnsupportedOutputType`, which names what is accepted.

    >>> output_type_from({"type": "integer"}).parse("7")
    7
    >>> output_type_from(list[int]).parse("[1, 2]")
    [1, 2]
    """
    if isinstance(candidate, OutputType):
        return candidate
    if isinstance(candidate, str):
        return JsonSchemaType.from_text(candidate)
    if isinstance(candidate, Mapping):
        return JsonSchemaType.from_mapping(candidate)
    if is_outlines_term(candidate):
        return from_outlines(candidate)
    return PythonType.from_type(candidate)
