"""Output types as JSON values that records hold, and back: what has to be known to build the same grammar again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constrained.combinators.base import Literal
from constrained.combinators.pieces import Alternation, GbnfPiece, LarkType, Repeat, Sequence, SpecialToken, Text
from constrained.combinators.tools import ToolCallsType
from constrained.combinators.verbatim import VerbatimPiece
from constrained.errors import RecordRefused
from constrained.output_types import ChoiceType, JsonSchemaType, OutputType, PythonType, RegexType, SchemaOptions
from constrained.output_types.regular import CombinedRegex

from .canonical import digest_of_value

__all__ = ["describe", "rebuild"]

_DEEPEST = 200
_LONGEST_SHOWN = 200
_READING = ("property_order", "formats", "on_unsupported", "ensure_ascii", "verbatim")


def describe(wanted: OutputType[Any]) -> dict[str, Any]:
    """As a JSON value, with a digest. What cannot be said in JSON (a registry, say) is of kind ``opaque``.

    >>> from constrained import choice
    >>> described = describe(choice(["yes", "no"]))
    >>> described["kind"], described["texts"]
    ('choice', ['yes', 'no'])
    >>> rebuild(described).parse("no")
    'no'
    """
    described = _described(wanted, 0)
    return {**described, "digest": digest_of_value(described)}


def _described(wanted: OutputType[Any], depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        return _opaque(wanted)
    for kind, (form, names) in _FORMS.items():
        if type(wanted) is form:
            described: dict[str, Any] = {"kind": kind, **{name: _listed(getattr(wanted, name)) for name in names}}
            parts = getattr(wanted, "operands", getattr(wanted, "parts", ()))
            return {**described, "parts": [_described(part, depth + 1) for part in parts]}
    if isinstance(wanted, JsonSchemaType | PythonType):
        options = wanted.options
        if options.registry is not None:
            return _opaque(wanted)
        reading = {name: getattr(options, name) for name in _READING}
        return {"kind": "json_schema", "schema": wanted.schema_text, "reading": reading}
    if isinstance(wanted, ChoiceType):
        return {"kind": "choice", "texts": list(wanted.options)}
    if isinstance(wanted, ToolCallsType):
        return _described(wanted.piece, depth + 1)
    return _opaque(wanted)


def _opaque(wanted: OutputType[Any]) -> dict[str, Any]:
    return {"kind": "opaque", "shown": repr(wanted)[:_LONGEST_SHOWN]}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


_FORMS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "regex": (RegexType, ("pattern",)),
    "combined": (CombinedRegex, ("operator",)),
    "literal": (Literal, ("text",)),
    "sequence": (Sequence, ()),
    "alternation": (Alternation, ()),
    "repeat": (Repeat, ("minimum", "maximum")),
    "text": (Text, ("texts", "is_ended", "max_tokens")),
    "special": (SpecialToken, ("token",)),
    "gbnf": (GbnfPiece, ("text", "start")),
    "lark": (LarkType, ("text", "start")),
    "verbatim": (VerbatimPiece, ("document", "by")),
}
"""Kind -> the class, and what beside its parts makes one."""


def rebuild(described: Mapping[str, Any], *, depth: int = 0) -> OutputType[Any]:
    """The output type: its language is the same, its values are those of JSON or texts.

    Raises :class:`~constrained.errors.RecordRefused` for one that was not said.
    """
    kind = described["kind"]
    if kind == "opaque" or depth > _DEEPEST:
        raise RecordRefused(
            f"the record does not hold the output type, only that it was {described.get('shown', 'nested deeply')}; "
            "expected one that JSON can say: pass the type itself (--schema, or output_type=)"
        )
    if kind == "json_schema":
        options = SchemaOptions(**described["reading"])
        return JsonSchemaType.from_text(described["schema"]).with_options(options)
    if kind == "choice":
        return ChoiceType({text: text for text in described["texts"]})
    parts = [rebuild(part, depth=depth + 1) for part in described["parts"]]
    form, names = _FORMS[kind]
    said = {name: described[name] for name in names}
    if kind == "text":
        specials = [part for part in parts if isinstance(part, SpecialToken)]
        return Text((*said["texts"], *specials), is_ended=said["is_ended"], max_tokens=said["max_tokens"])
    if kind == "repeat":
        return Repeat(parts[0], parts[1], said["minimum"], said["maximum"])
    made: OutputType[Any] = form(*said.values(), *parts)
    return made
