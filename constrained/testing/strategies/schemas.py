"""Hypothesis strategies: random JSON Schemas of the supported set, and values that are valid or nearly so."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ["json_schemas", "json_values", "near_instances"]

Schema = dict[str, Any] | bool

_NAMES = ("a", "ab", "b", 'q"', "é")
"""Few, so that schemas and values meet; prefixes of each other, escaped, and beyond ASCII."""
_STRINGS = ("", "a", "ab", "abc", "é", "\n", '"', "1")


def json_values(*, max_leaves: int = 6) -> st.SearchStrategy[Any]:
    """Any JSON values, small ones, with names and strings that the schemas of :func:`json_schemas` know.

    No integer is a float: canonical JSON writes it without a fraction.
    """
    numbers = st.integers(-12, 12) | st.sampled_from((0.5, -1.5, 100))
    leaves = st.none() | st.booleans() | numbers | st.sampled_from(_STRINGS)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3),
        max_leaves=max_leaves,
    )


def json_schemas(*, max_depth: int = 3) -> st.SearchStrategy[Schema]:
    """Schemas of draft 2020-12 with the keywords that are enforced; some may allow nothing at all.

    A ``oneOf`` may be one whose branches cannot be told apart, and counts of properties may need counting: such
    schemas are refused by name.
    """
    return _roots(max_depth)


@st.composite
def _roots(draw: st.DrawFn, max_depth: int) -> Schema:
    schema = draw(_schemas(max_depth))
    if isinstance(schema, bool):
        return schema
    names = [f"d{index}" for index in range(draw(st.integers(0, 2)))]
    if names:
        schema = {**schema, "$defs": {name: draw(_schemas(max_depth - 1)) for name in names}}
    _drop_references(schema, {f"#/$defs/{name}" for name in names} | {"#"})
    return schema


def _drop_references(schema: Any, known: set[str]) -> None:
    """Take out the references that lead nowhere."""
    pending = [schema]
    while pending:
        inner = pending.pop()
        if isinstance(inner, dict):
            if isinstance(inner.get("$ref"), str) and inner["$ref"] not in known:
                del inner["$ref"]
            pending.extend(inner.values())
        elif isinstance(inner, list):
            pending.extend(inner)


def _schemas(depth: int) -> st.SearchStrategy[Schema]:
    leaves: st.SearchStrategy[Schema] = st.booleans() | _typed(0)
    if depth <= 0:
        return leaves
    return st.one_of(leaves, _typed(depth), _typed(depth), _combined(depth), _untyped(depth), _references(depth))


@st.composite
def _references(draw: st.DrawFn, depth: int) -> Schema:
    schema: dict[str, Any] = {"$ref": draw(st.sampled_from(("#", "#/$defs/d0", "#/$defs/d1")))}
    if draw(st.integers(0, 3)) == 0:
        schema |= draw(_keywords(draw(st.sampled_from(_TYPES)), depth - 1))
    return schema


_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


@st.composite
def _typed(draw: st.DrawFn, depth: int) -> Schema:
    names = _TYPES if depth > 0 else _TYPES[:5]
    types = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    schema: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    for name in types:
        schema |= draw(_keywords(name, depth))
    if draw(st.integers(0, 5)) == 0:
        schema["title"] = "an annotation"
    if draw(st.integers(0, 7)) == 0:
        schema["enum"] = draw(st.lists(json_values(max_leaves=3), max_size=4))
    return schema


@st.composite
def _untyped(draw: st.DrawFn, depth: int) -> Schema:
    choice = draw(st.integers(0, 3))
    if choice == 0:
        return {"enum": draw(st.lists(json_values(max_leaves=4), min_size=1, max_size=5))}
    if choice == 1:
        return {"const": draw(json_values(max_leaves=4))}
    schema: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(_TYPES), max_size=2, unique=True)):
        schema |= draw(_keywords(name, depth))
    return schema


@st.composite
def _combined(draw: st.DrawFn, depth: int) -> Schema:
    keyword = draw(st.sampled_from(("anyOf", "anyOf", "oneOf", "allOf")))
    schema: dict[str, Any] = {keyword: draw(st.lists(_schemas(depth - 1), min_size=1, max_size=3))}
    if draw(st.integers(0, 2)) == 0:
        beside = draw(_typed(depth - 1))
        if isinstance(beside, dict):
            schema |= beside
    return schema


@st.composite
def _keywords(draw: st.DrawFn, name: str, depth: int) -> dict[str, Any]:
    """Some keywords for instances of one type."""
    schema: dict[str, Any] = {}

    def maybe(keyword: str, values: st.SearchStrategy[Any], *, one_in: int = 3) -> None:
        if draw(st.integers(1, one_in)) == 1:
            schema[keyword] = draw(values)

    if name in ("integer", "number"):
        bounds = st.integers(-11, 11) if name == "integer" else st.integers(-11, 11) | st.sampled_from((0.5, -2.25))
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            maybe(keyword, bounds, one_in=5)
        maybe("multipleOf", st.integers(1, 7), one_in=5)
    elif name == "string":
        maybe("minLength", st.integers(0, 2))
        maybe("maxLength", st.integers(0, 3))
    elif name == "array":
        maybe("items", _schemas(depth - 1), one_in=2)
        maybe("prefixItems", st.lists(_schemas(depth - 1), min_size=1, max_size=2))
        maybe("minItems", st.integers(0, 2))
        maybe("maxItems", st.integers(0, 3))
    elif name == "object":
        names = st.sampled_from(_NAMES)
        maybe("properties", st.dictionaries(names, _schemas(depth - 1), max_size=3), one_in=1)
        maybe("required", st.lists(names, max_size=2, unique=True), one_in=2)
        maybe("additionalProperties", _schemas(depth - 1), one_in=2)
        maybe("minProperties", st.integers(0, 1), one_in=8)
    return schema


def near_instances(schema: Any) -> st.SearchStrategy[Any]:
    """Values that a schema of :func:`json_schemas` mostly allows."""
    return _near(schema, schema, 5)


@st.composite
def _near(draw: st.DrawFn, schema: Any, root: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth <= 0 or draw(st.integers(0, 9)) == 0:
        return draw(json_values(max_leaves=3))
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return draw(st.sampled_from(schema["enum"]))
    if "$ref" in schema:
        target = root if schema["$ref"] == "#" else root["$defs"][schema["$ref"].rpartition("/")[2]]
        return draw(_near(target, root, depth - 1))
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema:
            return draw(_near(draw(st.sampled_from(schema[keyword])), root, depth - 1))
    types = schema.get("type", _TYPES)
    return draw(
        _of_type(draw(st.sampled_from([types] if isinstance(types, str) else list(types))), schema, root, depth)
    )


@st.composite
def _of_type(draw: st.DrawFn, name: str, schema: dict[str, Any], root: Any, depth: int) -> Any:
    if name == "object":
        value: dict[str, Any] = {}
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        others = draw(st.lists(st.sampled_from(_NAMES), max_size=1))
        for key in dict.fromkeys((*properties, *required, *others)):
            if key in required or draw(st.booleans()):
                inner = properties.get(key, schema.get("additionalProperties", True))
                value[key] = draw(_near(inner, root, depth - 1))
        return value
    if name == "array":
        prefix = schema.get("prefixItems", [])
        least = schema.get("minItems", 0)
        length = draw(st.integers(least, max(least, schema.get("maxItems", 3) + 1)))
        return [
            draw(_near(prefix[index] if index < len(prefix) else schema.get("items", True), root, depth - 1))
            for index in range(length)
        ]
    leaves: dict[str, st.SearchStrategy[Any]] = {
        "null": st.none(),
        "boolean": st.booleans(),
        "integer": st.integers(-12, 12),
        "number": st.integers(-12, 12) | st.sampled_from((0.5, -2.25)),
        "string": st.sampled_from(_STRINGS),
    }
    return draw(leaves[name])
