"""Refusals name everything at once; schemas that are none, and schemas that allow nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammars.errors import GrammarError, LimitExceeded, SchemaError, UnsatisfiableGrammar, UnsupportedSchema
from grammars.frontends.json_schema import lower_json_schema
from grammars.limits import Limits

from .texts import language


def test_keywords_that_assert_nothing() -> None:
    assert language({"uniqueItems": False, "if": {"type": "null"}, "not": False, "patternProperties": {}}).takes(
        "[1,1]"
    )
    assert language({"uniqueItems": True, "maxItems": 1, "propertyNames": {"type": "string"}}).takes("[1]")
    assert language({"type": "array", "minContains": 5, "x-note": {"type": 5}}).takes("[]")


def test_what_is_not_enforced_is_never_taken_for_empty() -> None:
    closed = {"pattern": r"^(a)\1$", "type": "string", "enum": ["aa"]}
    with pytest.raises(UnsupportedSchema, match="pattern"):
        language({"properties": {"x": closed}, "required": ["x"]})


def test_all_problems_at_once() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "pattern": "x("},
            "b": {"type": "array", "items": {"$ref": "other.json", "type": "string", "pattern": "y["}},
            "c": {"$ref": "#/$defs/c"},
            "d": {"type": "integer", "pattern": "z{2,1}"},
            "e/f": {"$ref": "http://else.example/"},
        },
        "$defs": {"c": {"not": {"$ref": "#/$defs/c"}}, "unused": {"pattern": "("}},
    }
    with pytest.raises(UnsupportedSchema) as caught:
        language(schema)
    assert [(problem.pointer, problem.keyword) for problem in caught.value.problems] == [
        ("/$defs/c", "not"),
        ("/properties/a", "pattern"),
        ("/properties/b/items", "$ref"),
        ("/properties/b/items", "pattern"),
        ("/properties/e~1f", "$ref"),
    ]
    assert "/properties/b/items: $ref:" in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "problems"),
    [
        ({"type": 5}, [("", "type")]),
        ({"type": "text"}, [("", "type")]),
        ({"type": []}, [("", "type")]),
        ({"properties": {"a": {"required": True}}}, [("/properties/a", "required")]),
        ({"minLength": -1, "maxLength": 1.5}, [("", "maxLength"), ("", "minLength")]),
        (
            {"anyOf": [{"type": 1}, 7, {"enum": {}}]},
            [("/anyOf/0", "type"), ("/anyOf/1", "schema"), ("/anyOf/2", "enum")],
        ),
        ({"allOf": []}, [("", "allOf")]),
        ({"multipleOf": 0}, [("", "multipleOf")]),
        ({"minimum": "3"}, [("", "minimum")]),
        ({"minimum": float("nan")}, [("", "minimum")]),
        ({"enum": [[float("inf")]]}, [("", "enum")]),
        ({"const": {"a": "\ud800"}}, [("", "const")]),
        ({"properties": [1]}, [("", "properties")]),
        ({"required": ["a", "a"]}, [("", "required")]),
        ({"$defs": {"unused": {"type": 0}}}, [("/$defs/unused", "type")]),
        ({"items": 5}, [("", "items")]),
        ("[]", [("", "schema")]),
    ],
)
def test_what_is_no_schema(schema: Any, problems: list[tuple[str, str]]) -> None:
    with pytest.raises(SchemaError) as caught:
        language(schema)
    assert [(problem.pointer, problem.keyword) for problem in caught.value.problems] == problems
    assert not isinstance(caught.value, UnsupportedSchema)


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', '{"minimum": NaN}', '{"minimum": 1e99999999}', "{", '{"minimum": Infinity}', '"x"', "null"],
)
def test_what_is_no_schema_text(text: str) -> None:
    with pytest.raises(SchemaError):
        language(text)


@pytest.mark.parametrize("schema", [None, 5, [], b"{}"])
def test_what_is_not_even_a_source(schema: Any) -> None:
    with pytest.raises(SchemaError, match="expected a"):
        language(schema)


def test_newer_spellings_are_faults_in_older_drafts_and_the_reverse() -> None:
    newest = "https://json-schema.org/draft/2020-12/schema"
    with pytest.raises(SchemaError, match="prefixItems"):
        language({"$schema": newest, "items": [{}]})
    with pytest.raises(SchemaError, match="exclusiveMinimum"):
        language({"$schema": newest, "exclusiveMinimum": True})
    with pytest.raises(SchemaError, match="exclusiveMinimum"):
        language({"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": 3})


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (False, "false"),
        ({"enum": []}, "enum is empty"),
        ({"type": "string", "enum": [1]}, "enum or const"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "object", "properties": {"b": False}, "required": ["b"]}},
                "required": ["a"],
            },
            "/a/b",
        ),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "minItems 3 is above maxItems 2"),
        ({"type": "array", "minItems": 1, "items": False}, "/0"),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "/a"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "bounds"),
        ({"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 3}, "bounds"),
        ({"type": "number", "multipleOf": 0.5, "minimum": 0.6, "maximum": 0.9}, "bounds"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "bounds"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "exclude each other"),
        (
            {"type": "object", "minProperties": 2, "properties": {"a": True}, "additionalProperties": False},
            "properties",
        ),
    ],
)
def test_what_allows_nothing_says_why(schema: Any, reason: str) -> None:
    with pytest.raises(UnsatisfiableGrammar, match=reason):
        language(schema)


def test_depth_is_limited_without_recursion() -> None:
    deep: Any = True
    for _ in range(600):
        deep = {"items": deep}
    with pytest.raises(LimitExceeded, match="max_nesting"):
        lower_json_schema(deep)
    assert lower_json_schema(deep, limits=Limits(max_nesting=700)).start
    with pytest.raises(LimitExceeded):
        lower_json_schema('{"items":' * 100_000 + "true" + "}" * 100_000)
    chosen: Any = {"type": "null"}
    for index in range(500):
        chosen = {"anyOf": [chosen, {"const": index}]}
    assert lower_json_schema(chosen).start


def test_other_limits() -> None:
    with pytest.raises(LimitExceeded, match="max_repeat"):
        lower_json_schema({"type": "object", "minProperties": 10**9})
    with pytest.raises(LimitExceeded, match="max_source_length"):
        lower_json_schema("true", limits=Limits(max_source_length=3))


@pytest.mark.parametrize("whitespace", ["", "indent", "indent=9", "indent=-1", "pretty"])
def test_unknown_layouts(whitespace: str) -> None:
    with pytest.raises(GrammarError, match="whitespace: expected"):
        lower_json_schema(True, whitespace=whitespace)


def test_text_mapping_and_dict_are_one() -> None:
    schema = {"type": "object", "properties": {"z": {"type": "integer"}, "a": {}}, "required": ["a"]}
    first, second = lower_json_schema(schema), lower_json_schema(json.dumps(schema))
    assert first.nodes.tolist() == second.nodes.tolist()
    assert first.data.tolist() == second.data.tolist()
