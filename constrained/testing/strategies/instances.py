"""Hypothesis strategy: values that have to do with a schema over any keywords, valid, nearly so, or far from it.

They are drawn from the schema's own names, constants, bounds and texts, without a notion of what its keywords mean, so
that a judge of its own has to say which are valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from hypothesis import strategies as st

from .all_keywords import NAMES, TEXTS
from .schemas import json_values

__all__ = ["FORMAT_TEXTS", "json_texts", "schema_instances"]

FORMAT_TEXTS: dict[str, tuple[str, ...]] = {
    "date": ("2024-02-29", "2023-02-29", "1999-12-31", "2024-1-01"),
    "time": ("12:00:00Z", "23:59:59.5+01:30", "24:00:00Z"),
    "date-time": ("2024-02-29T12:00:00Z", "2023-02-29T12:00:00Z"),
    "duration": ("P1D", "PT1H30M", "P", "P1W"),
    "email": ("a@b.c", "a@", "a.b@x-1.de"),
    "idn-email": ("é@b.c", "é"),
    "hostname": ("a", "x-1.ab", "-a"),
    "idn-hostname": ("é.ab", "a", "-"),
    "ipv4": ("1.2.3.4", "255.255.255.255", "256.1.1.1", "1.2.3", "01.2.3.4"),
    "ipv6": ("::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", ":::", "fe80::%1"),
    "uri": ("http://a/b", "a:b", "b"),
    "uri-reference": ("b?a#1", "\\\\"),
    "iri": ("http://é/b", "é"),
    "iri-reference": ("é", "\\"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"),
    "uri-template": ("a{b}", "{"),
    "json-pointer": ("/a~0b", "a", "", "/~2"),
    "relative-json-pointer": ("0#", "1/a", "01"),
    "regex": ("a+", "("),
    "unheard-of": ("a",),
}
"""Some texts of each format, and some that nearly are."""
_PATTERN_TEXTS = ("a", "ab", "ac", "abc", "b", "é", "1", "x-1", "x-", "", "a1", "cab", "12", "_a", "aa", "ba")
_KINDS = ("null", "boolean", "number", "string", "array", "object")
_IN_PLACE = ("not", "if", "then", "else")


def schema_instances(schema: Any) -> st.SearchStrategy[Any]:
    """JSON values for a schema of :func:`~.all_keywords.keyword_schemas`, often valid under it."""
    return _instances([schema], schema, 3)


@st.composite
def json_texts(draw: st.DrawFn, value: Any, *, shuffled: bool = True) -> str:
    """A JSON text of a value: any order of names (unless not ``shuffled``), escapes, and ways to write whole numbers.

    No number has an exponent.
    """
    if isinstance(value, dict):
        names = draw(st.permutations(list(value))) if shuffled else list(value)
        inner = {name: draw(json_texts(value[name], shuffled=shuffled)) for name in names}
        members = [draw(json_texts(name)) + ":" + text for name, text in inner.items()]
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return (
            "["
            + draw(st.sampled_from((",", " , "))).join(draw(json_texts(item, shuffled=shuffled)) for item in value)
            + "]"
        )
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) + draw(st.sampled_from(("", "", "", ".0")))
    return format(Decimal(repr(value)), "f") if isinstance(value, float) else json.dumps(value)


def _applied(schemas: list[Any], root: Any) -> list[dict[str, Any]]:
    """The schemas that say something of the same value, those within ``not`` included."""
    found: list[dict[str, Any]] = []
    pending = list(schemas)
    while pending and len(found) < 40:
        schema = pending.pop()
        if not isinstance(schema, dict) or any(schema is other for other in found):
            continue
        found.append(schema)
        for name in ("allOf", "anyOf", "oneOf"):
            pending += schema.get(name, ())
        pending += [schema[name] for name in _IN_PLACE if name in schema]
        for name in ("dependentSchemas", "dependencies"):
            pending += schema.get(name, {}).values()
        target = next((schema[name] for name in ("$ref", "$recursiveRef", "$dynamicRef") if name in schema), None)
        if isinstance(target, str):
            pending.append(_target(target, root))
    return found


def _target(reference: str, root: Any) -> Any:
    """What a reference leads to within the schema; nothing known where it leads elsewhere."""
    for part in reference.split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(root, list) and name.isdigit() and int(name) < len(root):
            root = root[int(name)]
        elif isinstance(root, dict) and name in root:
            root = root[name]
        else:
            return {}
    return root


@st.composite
def _instances(draw: st.DrawFn, schemas: list[Any], root: Any, depth: int) -> Any:
    if draw(st.integers(0, 11)) == 0:
        return draw(json_values(max_leaves=3))
    applied = _applied(schemas, root)
    values = [value for schema in applied for value in _constants(schema)]
    if values and draw(st.integers(0, 2)) > 0:
        return draw(st.sampled_from(values))
    typed: list[str] = [kind for schema in applied for kind in _types(schema)]
    kind = draw(st.sampled_from([*dict.fromkeys(typed)] if typed and draw(st.integers(0, 5)) > 0 else _KINDS))
    if kind == "object" and depth > 0:
        return draw(_objects(applied, root, depth))
    if kind == "array" and depth > 0:
        return draw(_arrays(applied, root, depth))
    if kind in ("number", "integer"):
        return draw(st.one_of(st.sampled_from([*_numbers(applied)]), st.integers(-12, 12)))
    if kind == "string":
        formats = [text for schema in applied for text in FORMAT_TEXTS.get(schema.get("format", ""), ())]
        return draw(st.sampled_from([*formats, *formats, *TEXTS, *_PATTERN_TEXTS]))
    return draw(st.sampled_from({"null": (None,), "boolean": (True, False), "array": ([],), "object": ({},)}[kind]))


def _constants(schema: dict[str, Any]) -> Iterator[Any]:
    yield from schema.get("enum", ())
    if "const" in schema:
        yield schema["const"]


def _types(schema: dict[str, Any]) -> list[str]:
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def _numbers(applied: list[dict[str, Any]]) -> Iterator[Any]:
    """Bounds and what is next to them, and multiples."""
    yield from (0, 1, 0.5)
    for schema in applied:
        for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            bound = schema.get(name)
            if bound is not None and not isinstance(bound, bool):
                yield from (bound, bound + 1, bound - 1)
        factor = schema.get("multipleOf")
        if factor is not None:
            yield from (factor, 2 * factor, -3 * factor, 10 * factor)


@st.composite
def _objects(draw: st.DrawFn, applied: list[dict[str, Any]], root: Any, depth: int) -> dict[str, Any]:
    wanted: list[str] = []
    for schema in applied:
        wanted += [*schema.get("required", ()), *schema.get("properties", ())]
        for name in ("dependentRequired", "dependencies", "dependentSchemas"):
            for one, needed in schema.get(name, {}).items():
                wanted += [one, *(needed if isinstance(needed, list) else ())]
    value: dict[str, Any] = {}
    for name in dict.fromkeys([*wanted, *draw(st.lists(st.sampled_from((*NAMES, *_PATTERN_TEXTS)), max_size=2))]):
        if draw(st.integers(0, 2)):
            value[name] = draw(_instances(_schemas_of_property(applied, name), root, depth - 1))
    return value


def _schemas_of_property(applied: list[dict[str, Any]], name: str) -> list[Any]:
    found: list[Any] = []
    for schema in applied:
        declared = schema.get("properties", {})
        if name in declared:
            found.append(declared[name])
        else:
            found += schema.get("patternProperties", {}).values()
            found += [schema[one] for one in ("additionalProperties", "unevaluatedProperties") if one in schema]
    return found


@st.composite
def _arrays(draw: st.DrawFn, applied: list[dict[str, Any]], root: Any, depth: int) -> list[Any]:
    least = max((schema.get("minItems", 0) for schema in applied), default=0)
    value: list[Any] = []
    for index in range(draw(st.integers(least, least + 3))):
        if value and draw(st.integers(0, 5)) == 0:
            value.append(draw(st.sampled_from(value)))
            continue
        found: list[Any] = []
        for schema in applied:
            items = schema.get("items")
            prefix = items if isinstance(items, list) else schema.get("prefixItems", [])
            if index < len(prefix):
                found.append(prefix[index])
            elif items is not None and not isinstance(items, list):
                found.append(items)
            found += [schema[one] for one in ("contains", "additionalItems", "unevaluatedItems") if one in schema]
        value.append(draw(_instances(found, root, depth - 1)))
    return value
