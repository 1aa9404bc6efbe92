"""The one table of keywords: what each may hold, which JSON types it concerns, and whether it is enforced.

A keyword that is in no table of a draft is unknown there, and so an annotation. ``GUARDED`` keywords are asked of
finished values, which no finite automaton can compare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum, auto
from typing import Any

from ...ir.verbatim import UNITS

__all__ = [
    "ARRAY",
    "BOOLEAN",
    "EVERY",
    "INTEGER",
    "KEYWORDS",
    "NULL",
    "NUMBER",
    "OBJECT",
    "STRING",
    "TABLES",
    "TYPE_BITS",
    "Children",
    "Draft",
    "Group",
    "Keyword",
    "Role",
    "is_number",
]

NULL, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT, INTEGER = 1, 2, 4, 8, 16, 32, 64
EVERY = NULL | BOOLEAN | NUMBER | STRING | ARRAY | OBJECT
TYPE_BITS = {
    "null": NULL,
    "boolean": BOOLEAN,
    "number": NUMBER,
    "string": STRING,
    "array": ARRAY,
    "object": OBJECT,
    "integer": INTEGER,
}


class Draft(IntEnum):
    """The drafts of JSON Schema, in order of age."""

    DRAFT4 = 4
    DRAFT6 = 6
    DRAFT7 = 7
    DRAFT2019 = 2019
    DRAFT2020 = 2020


class Role(Enum):
    """What we do with a keyword."""

    ENFORCED = auto()
    GUARDED = auto()
    ANNOTATION = auto()


class Group(IntEnum):
    """Bits that say which kinds of keywords a schema holds, so that plain schemas are lowered quickly."""

    REFERENCE = 1
    VALUES = 2
    TYPE = 4
    NUMBERS = 8
    STRINGS = 16
    ARRAYS = 32
    OBJECTS = 64
    IN_PLACE = 128
    UNEVALUATED = 256


class Children(IntEnum):
    """Where a keyword's value holds schemas."""

    NONE = 0
    ONE = 1
    LIST = 2
    MAP = 3
    ONE_OR_LIST = 4
    MAP_OR_NAMES = 5


Check = Callable[[Any], str | None]
"""Says what is wrong with the value of a keyword, or ``None``."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword. ``types`` are the JSON types it can refuse; drafts ``since`` to ``until`` know it."""

    name: str
    role: Role
    types: int
    group: int
    check: Check
    children: Children = Children.NONE
    since: Draft = Draft.DRAFT4
    until: Draft = Draft.DRAFT2020


# -- checks of values -------------------------------------------------------------------------------------------


def _got(value: object) -> str:
    names = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        int: "an integer",
        float: "a number",
    }
    if value is None:
        return "null"
    return names.get(type(value), type(value).__name__)


def is_number(value: object) -> bool:
    """Whether this is a JSON number (``True`` is not one)."""
    kind = type(value)
    return kind is int or kind is float or kind is Decimal


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _anything(value: object) -> str | None:
    return None


def _string(value: object) -> str | None:
    return None if isinstance(value, str) else f"expected a string, got {_got(value)}"


def _boolean(value: object) -> str | None:
    return None if isinstance(value, bool) else f"expected true or false, got {_got(value)}"


def _number(value: object) -> str | None:
    if not is_number(value):
        return f"expected a number, got {_got(value)}"
    if isinstance(value, float) and value - value != 0:
        return "expected a finite number"
    return None


def _number_or_boolean(value: object) -> str | None:
    return None if isinstance(value, bool) else _number(value)


def _positive(value: Any) -> str | None:
    reason = _number(value)
    return reason if reason or value > 0 else f"expected a number above 0, got {value}"


def _count(value: Any) -> str | None:
    if not is_number(value):
        return f"expected a non-negative integer, got {_got(value)}"
    return None if value >= 0 and value == int(value) else f"expected a non-negative integer, got {value}"


def _names(value: object) -> str | None:
    if not isinstance(value, list):
        return f"expected an array of property names, got {_got(value)}"
    for name in value:
        if not isinstance(name, str):
            return f"expected an array of property names, got {_got(name)} in it"
        if not _encodable(name):
            return f"the name {name!r} holds half of a surrogate pair, which no text can hold"
    return None if len(set(value)) == len(value) else "expected each name once"


def _type(value: object) -> str | None:
    listed = value if isinstance(value, list) else [value]
    if not listed:
        return "expected at least one type"
    for one in listed:
        if not isinstance(one, str):
            return f"expected the name of a type or an array of such names, got {_got(one)}"
        if one not in TYPE_BITS:
            return f"expected one of {', '.join(TYPE_BITS)}; got {one!r}"
    return None if len(set(listed)) == len(listed) else "expected each type once"


def _value(value: object) -> str | None:
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            if not _encodable(one):
                return f"the string {one!r} holds half of a surrogate pair, which no text can hold"
        elif isinstance(one, dict):
            for name in one:
                if not isinstance(name, str):
                    return f"expected JSON values: expected names that are strings, got {name!r}"
            pending.extend(one)
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)
        elif one is not None and not isinstance(one, bool):
            reason = _number(one)
            if reason:
                return f"expected JSON values: {reason}"
    return None


def _unit(value: object) -> str | None:
    if isinstance(value, bool) or value in UNITS:
        return None
    return f"expected true, false, {' or '.join(map(repr, UNITS))}, got {value!r}"


def _values(value: object) -> str | None:
    return _value(value) if isinstance(value, list) else f"expected an array of values, got {_got(value)}"


def _schema(value: object) -> str | None:
    return None if isinstance(value, dict | bool) else f"expected a schema (an object or a boolean), got {_got(value)}"


def _schemas(value: object) -> str | None:
    if not isinstance(value, list):
        return f"expected an array of schemas, got {_got(value)}"
    return None if value else "expected at least one schema"


def _schema_map(value: object) -> str | None:
    if not isinstance(value, dict):
        return f"expected an object of schemas, got {_got(value)}"
    for name in value:
        if not isinstance(name, str):
            return f"expected names that are strings, got {name!r}"
        if not _encodable(name):
            return f"the name {name!r} holds half of a surrogate pair, which no text can hold"
    return None


def _name_lists(value: object) -> str | None:
    reason = _schema_map(value)
    if reason is None:
        reason = next(filter(None, map(_names, value.values() if isinstance(value, dict) else ())), None)
    return reason


def _schemas_or_names(value: object) -> str | None:
    reason = _schema_map(value)
    if reason is None:
        listed = (one for one in value.values() if isinstance(one, list)) if isinstance(value, dict) else ()
        reason = next(filter(None, map(_names, listed)), None)
    return reason


def _items(value: object) -> str | None:
    return (
        None
        if isinstance(value, dict | bool | list)
        else f"expected a schema or an array of schemas, got {_got(value)}"
    )


# -- the table --------------------------------------------------------------------------------------------------

_YES, _ASK, _NOTE = Role.ENFORCED, Role.GUARDED, Role.ANNOTATION
_D6, _D7, _D2019, _D2020 = Draft.DRAFT6, Draft.DRAFT7, Draft.DRAFT2019, Draft.DRAFT2020

KEYWORDS: tuple[Keyword, ...] = (
    # structure
    Keyword("$ref", _YES, EVERY, Group.REFERENCE, _string),
    Keyword("$dynamicRef", _YES, EVERY, Group.REFERENCE, _string, since=_D2020),
    Keyword("$recursiveRef", _YES, EVERY, Group.REFERENCE, _string, since=_D2019, until=_D2019),
    Keyword("$defs", _NOTE, 0, 0, _schema_map, Children.MAP),
    Keyword("definitions", _NOTE, 0, 0, _schema_map, Children.MAP),
    # any type
    Keyword("type", _YES, EVERY, Group.TYPE, _type),
    Keyword("enum", _YES, EVERY, Group.VALUES, _values),
    Keyword("const", _YES, EVERY, Group.VALUES, _value, since=_D6),
    Keyword("allOf", _YES, EVERY, Group.IN_PLACE, _schemas, Children.LIST),
    Keyword("anyOf", _YES, EVERY, Group.IN_PLACE, _schemas, Children.LIST),
    Keyword("oneOf", _YES, EVERY, Group.IN_PLACE, _schemas, Children.LIST),
    Keyword("not", _YES, EVERY, Group.IN_PLACE, _schema, Children.ONE),
    Keyword("if", _YES, EVERY, Group.IN_PLACE, _schema, Children.ONE, since=_D7),
    Keyword("then", _NOTE, 0, 0, _schema, Children.ONE, since=_D7),
    Keyword("else", _NOTE, 0, 0, _schema, Children.ONE, since=_D7),
    # numbers
    Keyword("minimum", _YES, NUMBER, Group.NUMBERS, _number),
    Keyword("maximum", _YES, NUMBER, Group.NUMBERS, _number),
    Keyword("exclusiveMinimum", _YES, NUMBER, Group.NUMBERS, _number_or_boolean),
    Keyword("exclusiveMaximum", _YES, NUMBER, Group.NUMBERS, _number_or_boolean),
    Keyword("multipleOf", _YES, NUMBER, Group.NUMBERS, _positive),
    # strings
    Keyword("minLength", _YES, STRING, Group.STRINGS, _count),
    Keyword("maxLength", _YES, STRING, Group.STRINGS, _count),
    Keyword("pattern", _YES, STRING, Group.STRINGS, _string),
    Keyword("format", _YES, STRING, Group.STRINGS, _string),
    Keyword("x-verbatim", _YES, STRING, Group.STRINGS, _unit),
    # arrays
    Keyword("items", _YES, ARRAY, Group.ARRAYS, _items, Children.ONE_OR_LIST),
    Keyword("prefixItems", _YES, ARRAY, Group.ARRAYS, _schemas, Children.LIST, since=_D2020),
    Keyword("additionalItems", _YES, ARRAY, Group.ARRAYS, _schema, Children.ONE),
    Keyword("minItems", _YES, ARRAY, Group.ARRAYS, _count),
    Keyword("maxItems", _YES, ARRAY, Group.ARRAYS, _count),
    Keyword("uniqueItems", _ASK, ARRAY, Group.ARRAYS, _boolean),
    Keyword("contains", _YES, ARRAY, Group.ARRAYS, _schema, Children.ONE, since=_D6),
    Keyword("minContains", _NOTE, 0, 0, _count, since=_D2019),
    Keyword("maxContains", _NOTE, 0, 0, _count, since=_D2019),
    Keyword("unevaluatedItems", _YES, ARRAY, Group.UNEVALUATED, _schema, Children.ONE, since=_D2019),
    # objects
    Keyword("properties", _YES, OBJECT, Group.OBJECTS, _schema_map, Children.MAP),
    Keyword("required", _YES, OBJECT, Group.OBJECTS, _names),
    Keyword("additionalProperties", _YES, OBJECT, Group.OBJECTS, _schema, Children.ONE),
    Keyword("patternProperties", _YES, OBJECT, Group.OBJECTS, _schema_map, Children.MAP),
    Keyword("propertyNames", _YES, OBJECT, Group.OBJECTS, _schema, Children.ONE, since=_D6),
    Keyword("minProperties", _YES, OBJECT, Group.OBJECTS, _count),
    Keyword("maxProperties", _YES, OBJECT, Group.OBJECTS, _count),
    Keyword("dependencies", _YES, OBJECT, Group.IN_PLACE, _schemas_or_names, Children.MAP_OR_NAMES, until=_D7),
    Keyword("dependentRequired", _YES, OBJECT, Group.IN_PLACE, _name_lists, since=_D2019),
    Keyword("dependentSchemas", _YES, OBJECT, Group.IN_PLACE, _schema_map, Children.MAP, since=_D2019),
    Keyword("unevaluatedProperties", _YES, OBJECT, Group.UNEVALUATED, _schema, Children.ONE, since=_D2019),
)
"""Every keyword that means something; ``if`` stands for the three of if/then/else, ``contains`` for its bounds."""

TABLES: dict[Draft, dict[str, Keyword]] = {
    draft: {keyword.name: keyword for keyword in KEYWORDS if keyword.since <= draft <= keyword.until} for draft in Draft
}
"""The keywords that each draft knows."""
