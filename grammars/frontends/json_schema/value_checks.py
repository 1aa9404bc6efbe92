"""What each keyword asks of a value: the table that :class:`~.validity.Validity` goes by."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...guards.reading import canonical
from .formats import FORMATS, format_meant
from .keywords import Draft
from .numbers import as_decimal
from .shapes import TextRule
from .string_languages import follows

if TYPE_CHECKING:
    from .validity import Validity

__all__ = ["CHECKS"]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _type(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    named = schema["type"]
    return any(
        _is_of_type(value, one, validity.document.dialect(schema).draft)
        for one in (named if isinstance(named, list) else [named])
    )


def _is_of_type(value: Any, name: str, draft: Draft) -> bool:
    match name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "number":
            return _is_number(value)
    if isinstance(value, Decimal):
        return draft != Draft.DRAFT4 and value == value.to_integral_value()
    return _is_number(value)


def _given(value: Any) -> Any:
    """A value of a schema, numbers as they are compared."""
    if isinstance(value, float):
        return as_decimal(value)
    if isinstance(value, list):
        return [_given(item) for item in value]
    if isinstance(value, dict):
        return {name: _given(inner) for name, inner in value.items()}
    return value


def _enum(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    wanted = canonical(value)
    return any(canonical(_given(one)) == wanted for one in schema["enum"])


def _const(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    return canonical(_given(schema["const"])) == canonical(value)


def _minimum(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    bound = schema["minimum"]
    if not _is_number(value):
        return True
    return bool(
        value > as_decimal(bound) or (value == as_decimal(bound) and schema.get("exclusiveMinimum") is not True)
    )


def _maximum(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    bound = schema["maximum"]
    if not _is_number(value):
        return True
    return bool(
        value < as_decimal(bound) or (value == as_decimal(bound) and schema.get("exclusiveMaximum") is not True)
    )


def _exclusive_minimum(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    bound = schema["exclusiveMinimum"]
    return isinstance(bound, bool) or not _is_number(value) or bool(value > as_decimal(bound))


def _exclusive_maximum(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    bound = schema["exclusiveMaximum"]
    return isinstance(bound, bool) or not _is_number(value) or bool(value < as_decimal(bound))


def _multiple_of(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not _is_number(value):
        return True
    return (Fraction(value) / Fraction(as_decimal(schema["multipleOf"]))).denominator == 1


def _lengths(least: str, most: str, kind: type) -> tuple[Any, Any]:
    def at_least(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
        return not isinstance(value, kind) or len(value) >= schema[least]  # type: ignore[arg-type]

    def at_most(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
        return not isinstance(value, kind) or len(value) <= schema[most]  # type: ignore[arg-type]

    return at_least, at_most


def _pattern(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    return not isinstance(value, str) or validity.follows_pattern(value, schema["pattern"])


def _format(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    name = schema["format"]
    if not validity.assert_formats or not isinstance(value, str) or name not in FORMATS:
        return True
    return follows(value, (TextRule("format", format_meant(name, validity.document.dialect(schema).draft)),))


def _items(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, list):
        return True
    items = schema["items"]
    if isinstance(items, list):
        return all(validity.valid(inner, item) for inner, item in zip(items, value, strict=False))
    table = validity.document.dialect(schema).table
    first = len(schema.get("prefixItems", ())) if "prefixItems" in table else 0
    return all(validity.valid(items, item) for item in value[first:])


def _prefix_items(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, list):
        return True
    return all(validity.valid(inner, item) for inner, item in zip(schema["prefixItems"], value, strict=False))


def _additional_items(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    items = schema.get("items")
    if not isinstance(value, list) or not isinstance(items, list):
        return True
    return all(validity.valid(schema["additionalItems"], item) for item in value[len(items) :])


def _contains(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, list):
        return True
    hits = sum(validity.valid(schema["contains"], item) for item in value)
    if "minContains" not in validity.document.dialect(schema).table:
        return hits > 0
    most = schema.get("maxContains")
    return hits >= schema.get("minContains", 1) and (most is None or hits <= most)


def _unique_items(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, list) or not schema["uniqueItems"]:
        return True
    return len(set(map(canonical, value))) == len(value)


def _required(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    return not isinstance(value, dict) or all(name in value for name in schema["required"])


def _properties(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    return all(validity.valid(inner, value[name]) for name, inner in schema["properties"].items() if name in value)


def _pattern_properties(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    return all(
        validity.valid(inner, item)
        for pattern, inner in schema["patternProperties"].items()
        for name, item in value.items()
        if validity.follows_pattern(name, pattern)
    )


def _additional_properties(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    declared, patterns = schema.get("properties", ()), schema.get("patternProperties", ())
    return all(
        validity.valid(schema["additionalProperties"], item)
        for name, item in value.items()
        if name not in declared and not any(validity.follows_pattern(name, pattern) for pattern in patterns)
    )


def _property_names(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    return not isinstance(value, dict) or all(validity.valid(schema["propertyNames"], name) for name in value)


def _dependencies(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    for name, needed in schema["dependencies"].items():
        if name in value:
            if isinstance(needed, list):
                if not all(one in value for one in needed):
                    return False
            elif not validity.valid(needed, value):
                return False
    return True


def _dependent_required(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    return all(one in value for name, all_of in schema["dependentRequired"].items() if name in value for one in all_of)


def _dependent_schemas(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    return all(validity.valid(inner, value) for name, inner in schema["dependentSchemas"].items() if name in value)


def _all_of(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    return all(validity.valid(inner, value) for inner in schema["allOf"])


def _any_of(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    return any(validity.valid(inner, value) for inner in schema["anyOf"])


def _one_of(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    return sum(validity.valid(inner, value) for inner in schema["oneOf"]) == 1


def _not(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    return not validity.valid(schema["not"], value)


def _if(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
    branch = schema.get("then", True) if validity.valid(schema["if"], value) else schema.get("else", True)
    return validity.valid(branch, value)


def _unevaluated(keyword: str, kind: type) -> Any:
    def check(validity: Validity, schema: dict[str, Any], value: Any) -> bool:
        if not isinstance(value, kind):
            return True
        seen = validity.evaluated(schema, value, without=keyword)
        members = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
        return all(validity.valid(schema[keyword], item) for name, item in members if name not in seen)

    return check


_min_length, _max_length = _lengths("minLength", "maxLength", str)
_min_items, _max_items = _lengths("minItems", "maxItems", list)
_min_properties, _max_properties = _lengths("minProperties", "maxProperties", dict)
CHECKS: dict[str, Callable[[Validity, dict[str, Any], Any], bool]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum,
    "exclusiveMaximum": _exclusive_maximum,
    "multipleOf": _multiple_of,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "format": _format,
    "items": _items,
    "prefixItems": _prefix_items,
    "additionalItems": _additional_items,
    "contains": _contains,
    "minItems": _min_items,
    "maxItems": _max_items,
    "uniqueItems": _unique_items,
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
    "dependencies": _dependencies,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "unevaluatedProperties": _unevaluated("unevaluatedProperties", dict),
    "unevaluatedItems": _unevaluated("unevaluatedItems", list),
}
"""By keyword: whether a value is valid by it; the schema holds the keyword and what it depends on."""
