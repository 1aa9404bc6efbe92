"""A JSON Schema as an output type: as written, keys in the order of the schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedOutputType
from .base import InvalidText, OutputType
from .written_schema import DEFAULT_OPTIONS, SchemaOptions, WrittenSchema

if TYPE_CHECKING:
    from grammars.ir import IR

__all__ = ["JsonSchemaType", "parse_json"]


_DEEPEST = 400  # arrays and objects inside one another, well within what Python's json module can write
_MOST_PARTS = 500_000  # arrays and objects in all
_TOO_DEEP = (
    "the JSON Schema is nested too deeply to be read (a mapping may also hold itself): expected at most "
    f"{_DEEPEST} levels; name the parts in $defs and refer to them by $ref"
)


class JsonSchemaType(OutputType[Any]):
    """JSON that a schema allows; the value is what ``json.loads`` makes of it.

    >>> JsonSchemaType.from_text('{"type": "integer"}').parse("12")
    12
    """

    def __init__(self, schema_text: str, options: SchemaOptions = DEFAULT_OPTIONS) -> None:
        self._schema = WrittenSchema(schema_text, options)

    @classmethod
    def from_text(cls, text: str) -> JsonSchemaType:
        """From a schema as JSON text. Raises :class:`~constrained.errors.UnsupportedOutputType` if it is no JSON."""
        try:
            schema = json.loads(text)
        except RecursionError:
            raise UnsupportedOutputType(_TOO_DEEP) from None
        except ValueError as error:
            start = text if len(text) <= 60 else text[:60] + "…"
            raise UnsupportedOutputType(
                f"a str as output type is read as the text of a JSON Schema, but {start!r} is not JSON ({error}); "
                "for a regular expression pass constrained.regex(...), for fixed texts constrained.choice([...])"
            ) from None
        if not isinstance(schema, dict | bool):
            raise UnsupportedOutputType(
                f"a JSON Schema is an object, true or false; the text holds {type(schema).__name__}"
            )
        return cls(text)

    @classmethod
    def from_mapping(cls, schema: Mapping[str, Any]) -> JsonSchemaType:
        """From a schema as a mapping. Raises :class:`~constrained.errors.UnsupportedOutputType` if it is not JSON."""
        try:
            return cls(json.dumps(_plain(schema), ensure_ascii=False, allow_nan=False))
        except RecursionError:
            raise UnsupportedOutputType(_TOO_DEEP) from None
        except (TypeError, ValueError) as error:
            raise UnsupportedOutputType(f"the mapping is not a JSON Schema: {error}") from None

    def with_options(self, options: SchemaOptions) -> JsonSchemaType:
        """The same schema, read in another way."""
        return JsonSchemaType(self._schema.text, options)

    @property
    def digest(self) -> str:
        return self._schema.digest

    @property
    def schema_text(self) -> str:
        return self._schema.text

    @property
    def options(self) -> SchemaOptions:
        """How the schema is read."""
        return self._schema.options

    @property
    def takes_source(self) -> bool:
        return self._schema.takes_source

    def lower(self, *, whitespace: str) -> IR:
        return self._schema.lower(whitespace=whitespace)

    def parse(self, text: str) -> Any:
        value = parse_json(text)
        self._schema.require_valid(text)
        return value

    def __repr__(self) -> str:
        return f"JsonSchemaType.from_text({self._schema.text!r})"


def _plain(schema: Mapping[str, Any]) -> Any:
    """json.dumps turns keys such as 1 or None into text without a word; a schema that has them is a mistake.

    A part that stands in several places is written once for each, and one that holds itself without end: how much
    would be written is counted here first.
    """
    pending: list[tuple[Any, int]] = [(schema, 1)]
    visited = 0
    while pending:
        node, depth = pending.pop()
        visited += 1
        if depth > _DEEPEST:
            raise RecursionError
        if visited > _MOST_PARTS:
            raise ValueError(
                f"its parts, each use of them counted, are more than {_MOST_PARTS:,}; name them in $defs "
                "and refer to them by $ref"
            )
        inside = node.values() if isinstance(node, Mapping) else node
        if isinstance(node, Mapping):
            for key in node:
                if not isinstance(key, str):
                    raise TypeError(f"keys must be str, got {key!r}")
        pending.extend((item, depth + 1) for item in inside if isinstance(item, Mapping | list | tuple))
    return _as_dict(schema)


def _as_dict(value: Any) -> Any:
    """The same with every mapping as a ``dict``, which is what the json module writes."""
    if isinstance(value, Mapping):
        return {key: _as_dict(item) for key, item in value.items()}
    return [_as_dict(item) for item in value] if isinstance(value, list | tuple) else value


def parse_json(text: str) -> Any:
    """``json.loads``, but a number that no Python value holds is an :class:`InvalidText` rather than ``inf``.

    >>> parse_json('{"n": 1, "x": 1.0}')
    {'n': 1, 'x': 1.0}
    """
    try:
        return json.loads(text, parse_float=_finite)
    except RecursionError:
        raise InvalidText(["nested too deeply for Python's json module"]) from None
    except ValueError as error:  # also: more than 4300 digits
        raise InvalidText([str(error)]) from None


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:40]} is beyond what a float holds")
    return value
