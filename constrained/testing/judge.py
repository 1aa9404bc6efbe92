"""What `jsonschema` makes of a JSON text under a schema, with its roundings and dialect of patterns out of the way.

Numbers are read as they are written (:class:`decimal.Decimal`), a ``multipleOf`` is computed in fractions, and patterns
are read with ``\\d`` and ``\\w`` of ASCII and a ``$`` that holds at the very end alone, as ECMA-262 has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from jsonschema import FormatChecker, ValidationError
from jsonschema.validators import extend, validator_for

__all__ = ["AGREED_FORMATS", "JsonschemaJudge", "RepeatedName", "formats_of", "read_json"]

AGREED_FORMATS = frozenset({"date", "ipv4", "ipv6", "uuid", "json-pointer", "unheard-of"})
"""The formats that mean the same to `jsonschema` and to the specification, in both directions."""
_WIDEST_EXPONENT = 10_000
_BY_NAME = frozenset({"properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "dependencies"})
_END = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\$", re.DOTALL)
"""An end, or what holds a dollar that is none."""


class RepeatedName(ValueError):
    """An object has a name twice."""


def read_json(text: str | bytes, *, repeated_names: bool = False) -> Any:
    """The value of a text, numbers exactly. Raises :class:`RepeatedName`, and ValueError for what is no JSON."""
    hook = None if repeated_names else _members
    text = text.decode() if isinstance(text, bytes) else text
    return json.loads(text, parse_float=Decimal, parse_int=_whole, parse_constant=_no_constant, object_pairs_hook=hook)


def formats_of(schema: Any) -> set[str]:
    """The names of all formats in a schema."""
    found: set[str] = set()
    pending = [schema]
    while pending:
        inner = pending.pop()
        if isinstance(inner, dict):
            if isinstance(inner.get("format"), str):
                found.add(inner["format"])
            pending.extend(inner.values())
        elif isinstance(inner, list):
            pending.extend(inner)
    return found


class JsonschemaJudge:
    """Judges texts under one schema by the validator of its ``$schema``.

    >>> judge = JsonschemaJudge({"multipleOf": 0.01, "maximum": 10})
    >>> judge.takes("4.35"), judge.takes("4.355"), judge.takes('{"a": 1, "a": 2}')
    (True, False, False)
    """

    def __init__(self, schema: Any, *, formats: bool = False) -> None:
        """``formats``: whether ``format`` is a constraint."""
        exact = _translated(json.loads(json.dumps(schema), parse_float=Decimal))
        self._validator = _exact(validator_for(schema))(exact, format_checker=FormatChecker() if formats else None)

    def takes(self, text: str | bytes, *, repeated_names: bool = False) -> bool:
        """Whether a text is JSON and valid; with ``repeated_names`` the last of them counts, else there may be none."""
        try:
            value = read_json(text, repeated_names=repeated_names)
        except ValueError:  # no JSON, no text, or a name twice
            return False
        return bool(self._validator.is_valid(value))

    def allows(self, value: Any) -> bool:
        """Whether a value is valid; it is judged as the JSON that :func:`json.dumps` makes of it."""
        return self.takes(json.dumps(value))

    def problems(self, value: Any) -> list[str]:
        """What is wrong with a value, in the validator's words; nothing if it is valid."""
        return self.problems_of_text(json.dumps(value))

    def problems_of_text(self, text: str | bytes) -> list[str]:
        """What is wrong with a text: that it is no JSON, or the validator's words; nothing if it is valid."""
        try:
            value = read_json(text)
        except ValueError as error:
            return [str(error)]
        return [error.message for error in self._validator.iter_errors(value)]


def _whole(digits: str) -> int | Decimal:
    return int(digits) if len(digits) < 4_000 else Decimal(digits)  # Python reads no longer ones


def _no_constant(name: str) -> Any:
    raise ValueError(f"expected JSON, got {name}, which only Python has")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise RepeatedName(f"expected each name once, got {[name for name, _ in pairs]}")
    return members


@lru_cache(maxsize=8)
def _exact(base: Any) -> Any:
    def multiple_of(validator: Any, factor: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if validator.is_type(instance, "number") and not _is_multiple(instance, factor):
            yield ValidationError(f"{instance} is not a multiple of {factor}")

    def is_integer(checker: Any, instance: Any) -> bool:
        if isinstance(instance, Decimal) and base.META_SCHEMA.get("$schema", "").find("draft-04") < 0:
            return instance == instance.to_integral_value()
        return isinstance(instance, int) and not isinstance(instance, bool)

    checker = base.TYPE_CHECKER.redefine("integer", is_integer)
    return cast(Any, extend)(base, {"multipleOf": multiple_of}, type_checker=checker)


def _is_multiple(value: int | Decimal, factor: int | Decimal) -> bool:
    if isinstance(value, Decimal) and value and abs(value.adjusted()) > _WIDEST_EXPONENT:
        # Too long to write out. Of so large a number nearly any factor here is one; of so small a number none is.
        digits = value.normalize()
        value = digits.scaleb(_WIDEST_EXPONENT - digits.adjusted()) if value.adjusted() > 0 else Decimal("1e-9999")
    return (Fraction(value) / Fraction(factor)).denominator == 1


def _translated(schema: Any) -> Any:
    """The schema with patterns as :mod:`re` reads them."""
    if isinstance(schema, list):
        return [_translated(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: _named(value) if name in _BY_NAME else _translated(value) for name, value in schema.items()}
    if isinstance(inner.get("items"), bool):  # which trips the library's unevaluatedItems of 2019-09
        inner["items"] = {} if inner["items"] else {"not": {}}
    if isinstance(inner.get("pattern"), str):
        inner["pattern"] = _pattern(inner["pattern"])
    if isinstance(inner.get("patternProperties"), dict):
        inner["patternProperties"] = {_pattern(name): value for name, value in inner["patternProperties"].items()}
    return inner


def _named(schemas: Any) -> Any:
    """Schemas by names, which may be those of keywords."""
    return {name: _translated(value) for name, value in schemas.items()} if isinstance(schemas, dict) else schemas


def _pattern(pattern: str) -> str:
    return f"(?a:{_END.sub(lambda part: part[0] if len(part[0]) > 1 else chr(92) + 'Z', pattern)})"
