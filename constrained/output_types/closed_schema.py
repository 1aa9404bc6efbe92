"""The JSON Schema of a Python type, as Pydantic has it, made fit for writing instead of reading."""

from __future__ import annotations

from decimal import Decimal

from pydantic.json_schema import GenerateJsonSchema, JsonRef, JsonSchemaValue
from pydantic_core import core_schema

from ..errors import UnsupportedOutputType
from .patterns import COMPLEX, KEY_PATTERNS, url_pattern
from .temporal import datetime_schema, time_schema

__all__ = ["ClosedJsonSchema"]

_MOST_DIGITS = 40


class ClosedJsonSchema(GenerateJsonSchema):
    """Pydantic's JSON Schema, made fit for writing instead of reading.

    - Objects with declared fields are closed unless they allow extras: validation would drop what is not declared.
    - A ``Decimal`` is written as a number (read back digit by digit, see :meth:`PythonType.parse`).
    - A set need not be written without doubles: they fall together in the value.
    - Its digits are counted (``max_digits``, ``decimal_places``), as multiples of a power of ten within bounds.
    - Keys of objects spell the numbers or dates that a ``dict`` is keyed by.
    - A URL of known schemes has a host. It has no greatest length: validation knows it, and a length and a format
      together are not enforced.
    - A complex number and a duration are texts of their form, not any text.
    - A time need not be written with an offset from UTC: who demands one has the model invent it.
    """

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  (as in the base class)

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return _closed(super().model_schema(schema))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return _closed(super().dataclass_schema(schema))

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return _closed(super().typed_dict_schema(schema))

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        for branch in super().decimal_schema(schema)["anyOf"]:
            if branch.get("type") == "number":
                return _with_digits(dict(branch), schema.get("max_digits"), schema.get("decimal_places"))
        raise AssertionError("Pydantic's schema of a Decimal has no number branch")

    def url_schema(self, schema: core_schema.UrlSchema) -> JsonSchemaValue:
        written = super().url_schema(schema)
        written.pop("maxLength", None)
        schemes = schema.get("allowed_schemes")
        if schemes and "file" not in schemes:
            return {"type": "string", "pattern": url_pattern(schemes)}
        return written

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonSchemaValue:
        return {"type": "string", "pattern": COMPLEX}

    def json_schema(self, schema: core_schema.JsonSchema) -> JsonSchemaValue:
        raise UnsupportedOutputType("Json[...] (JSON inside a string) is not supported; ask for the type inside it")

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        written = super().dict_schema(schema)
        keys = schema.get("keys_schema")
        if keys is not None:
            names = self._names(self.generate_inner(keys))
            if names is not None:
                written["propertyNames"] = names
        if "patternProperties" in written:  # a pattern of the keys, which Pydantic asks of all of them
            written.setdefault("additionalProperties", False)
        return written

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        for value in schema["expected"]:
            if not isinstance(value, str | int | None):
                raise UnsupportedOutputType(
                    f"{value!r} in a Literal is not supported, since Pydantic reads none from JSON; expected texts, "
                    "whole numbers, true, false, None, or members of an Enum that is also a str or int"
                )
        return super().literal_schema(schema)

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        for member in schema["members"]:
            if not isinstance(member.value, str | int | float | None):
                raise UnsupportedOutputType(
                    f"{member!r} is not supported: Pydantic reads no {type(member.value).__name__} from JSON as a "
                    "member of an Enum; expected texts, numbers, true, false or null as values"
                )
        return super().enum_schema(schema)

    def _names(self, keys: JsonSchemaValue) -> JsonSchemaValue | None:
        """What the keys of an object must match; ``None`` where Pydantic has said it, or any will do."""
        if "$ref" in keys:
            found = self.get_schema_from_definitions(JsonRef(keys["$ref"]))
            return None if found is None else self._names(found)
        values = keys.get("enum", [keys["const"]] if "const" in keys else None)
        kind = keys.get("type", "string")
        if values is not None:
            _require_text_keys(all(isinstance(value, str) for value in values), f"one of {values}")
        elif "anyOf" in keys:
            kinds = [member.get("type") for member in keys["anyOf"]]
            _require_text_keys({"type": "string"} in keys["anyOf"], f"one of the types {kinds}")
        elif kind in KEY_PATTERNS:
            return {"pattern": KEY_PATTERNS[kind]}
        else:
            _require_text_keys(kind == "string", f"of type {kind}")
        return None

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        return datetime_schema(offset=_offset(schema.get("tz_constraint")))

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
        return time_schema(offset=_offset(schema.get("tz_constraint")))

    def set_schema(self, schema: core_schema.SetSchema) -> JsonSchemaValue:
        return _with_doubles(super().set_schema(schema))

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonSchemaValue:
        return _with_doubles(super().frozenset_schema(schema))


def _offset(constraint: str | int | None) -> str | None:
    """Pydantic's ``tz_constraint`` may also be a number of seconds: an offset all the same, checked at the end."""
    return "aware" if isinstance(constraint, int) else constraint


def _closed(schema: JsonSchemaValue) -> JsonSchemaValue:
    if schema.get("type") == "object" and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
    return schema


def _with_doubles(schema: JsonSchemaValue) -> JsonSchemaValue:
    schema.pop("uniqueItems", None)
    return schema


def _require_text_keys(holds: bool, what: str) -> None:
    if not holds:
        raise UnsupportedOutputType(
            f"a dict whose keys are {what} is not supported, since keys in JSON are text; accepted are str, int, "
            "float, bool, Decimal, date, datetime, time, UUID, and a Literal or Enum of texts; or take a list of pairs"
        )


def _with_digits(schema: JsonSchemaValue, max_digits: int | None, decimal_places: int | None) -> JsonSchemaValue:
    """A number of so many digits in all, so many of them after the point; trailing zeros do not count."""
    if max_digits is not None and max_digits < max(decimal_places or 0, 1):
        raise UnsupportedOutputType(
            f"a Decimal with max_digits={max_digits} and decimal_places={decimal_places} is not supported: expected at "
            "least one digit, and no more places than digits"
        )
    if max_digits is None:
        return schema if decimal_places is None else schema | _multiple(schema, decimal_places)
    if decimal_places is not None:
        bounded = _within(schema, max_digits - decimal_places) | _multiple(schema, decimal_places)
        # Pydantic counts the 0 of "0" as a digit before the point, and there may be none.
        return bounded | {"not": {"const": 0}} if max_digits == decimal_places else bounded
    if max_digits > _MOST_DIGITS:
        raise UnsupportedOutputType(
            f"a Decimal with max_digits={max_digits} is not supported: expected at most {_MOST_DIGITS}, or "
            "decimal_places too"
        )
    branches = (_within(schema, max_digits - places) | _multiple(schema, places) for places in range(max_digits + 1))
    return {"anyOf": list(branches)}


def _multiple(schema: JsonSchemaValue, places: int) -> JsonSchemaValue:
    own = schema.get("multipleOf")
    step = float(f"1e-{places}")
    if own is None or own == step:
        return {"multipleOf": step if places else 1}
    if (Decimal(repr(own)) * 10**places) % 1 == 0:
        return {"multipleOf": own}
    raise UnsupportedOutputType(f"a Decimal with multiple_of={own} and {places} decimal places is not supported")


def _within(schema: JsonSchemaValue, whole_digits: int) -> JsonSchemaValue:
    """The schema with values nearer to 0 than ten to the power of ``whole_digits``."""
    bound = 10**whole_digits
    bounded = dict(schema)
    if min(schema.get("maximum", bound), schema.get("exclusiveMaximum", bound)) >= bound:
        bounded |= {"exclusiveMaximum": bound}
    if max(schema.get("minimum", -bound), schema.get("exclusiveMinimum", -bound)) <= -bound:
        bounded |= {"exclusiveMinimum": -bound}
    return bounded
