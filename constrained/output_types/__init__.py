"""What a model may be asked to write: everything a user passes as ``output_type`` becomes one :class:`OutputType`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grammars.ir.verbatim import Unit

from ..errors import UnsupportedOutputType
from .base import InvalidText, OutputType
from .json_schema_type import JsonSchemaType
from .outlines_types import from_outlines, is_outlines_term
from .python_types import PythonType
from .regular import RegularType
from .text import ChoiceType, RegexType, choice, regex
from .verbatim import Verbatim
from .written_schema import Formats, OnUnsupported, PropertyOrder, SchemaOptions

__all__ = [
    "DEFAULT_WHITESPACE",
    "ChoiceType",
    "InvalidText",
    "JsonSchemaType",
    "OutputType",
    "PythonType",
    "RegexType",
    "RegularType",
    "SchemaOptions",
    "Verbatim",
    "choice",
    "json_schema",
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


def json_schema(
    schema: Any,
    *,
    property_order: PropertyOrder = "schema",
    formats: Formats = "assert",
    on_unsupported: OnUnsupported = "error",
    ensure_ascii: bool = False,
    verbatim: Unit | None = None,
    registry: Any = None,
) -> OutputType[Any]:
    """JSON that ``schema`` allows, where it is to be read in another way than by default.

    ``schema`` is a JSON Schema as mapping or text, or a Python type that is written as JSON. ``property_order="any"``
    lets the model write the properties of objects in any order, each once. ``formats="annotate"`` ignores ``format``.
    ``on_unsupported="relax"`` leaves out of the grammar what would be refused (it is named by a
    :class:`grammars.SchemaWarning`), and validates the finished text by it: an invalid one is drawn again, up to
    ``retries`` times. ``ensure_ascii`` writes every character beyond ASCII as ``\\uXXXX``, in names and values, as
    ``json.dumps`` does by default. ``verbatim="words"`` (or ``"characters"``) lets every string without a pattern, a
    format or given values be a piece of the source, as :class:`Verbatim` does for one. ``registry``, a
    :class:`referencing.Registry`, has the documents that references outside the schema lead to; nothing is ever fetched
    without it.

    Raises :class:`~constrained.errors.UnsupportedOutputType` for what is not written as JSON.

    >>> json_schema({"type": "integer"}, property_order="any").parse("7")
    7
    """
    options = SchemaOptions(
        property_order=property_order,
        formats=formats,
        on_unsupported=on_unsupported,
        ensure_ascii=ensure_ascii,
        verbatim=verbatim,
        registry=registry,
    )
    wanted = output_type_from(schema)
    if not isinstance(wanted, JsonSchemaType | PythonType):
        raise UnsupportedOutputType(
            "json_schema: expected a JSON Schema (mapping or text) or a Python type that is written as JSON, got "
            f"{type(wanted).__name__}"
        )
    return wanted.with_options(options)
