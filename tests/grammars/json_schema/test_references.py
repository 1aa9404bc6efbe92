"""References: inside the document, by pointer, anchor or address; never outside."""

from __future__ import annotations

from typing import Any

import pytest

from grammars.errors import SchemaError, UnsatisfiableGrammar, UnsupportedSchema

from .texts import language

TREE = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["value"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("whitespace", ["compact", "indent=2", "any"])
def test_recursion(whitespace: str) -> None:
    taken = language(TREE, whitespace)
    assert taken.takes_value({"value": 1, "children": [{"value": 2}, {"value": 3, "children": []}]})
    assert not taken.takes_value({"value": 1, "children": [{"children": []}]})


def test_deep_recursion_goes_on_in_one_line() -> None:
    taken = language({"type": "array", "items": {"$ref": "#"}}, "indent=1")
    line = "[[], [[]]]"
    for depth in range(8, -1, -1):
        line = f"[\n{' ' * (depth + 1)}{line}\n{' ' * depth}]"
    assert taken.takes(line)
    assert not taken.takes(line.replace("[[], [[]]]", "[[],[[]]]"))


def test_deep_schemas_without_recursion_keep_their_indent() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    value: Any = 5
    for _ in range(30):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
        value = {"a": value}
    assert language(schema, "indent=2").takes_value(value)


@pytest.mark.parametrize(
    ("reference", "more"),
    [
        ("#/$defs/x", {"$defs": {"x": {"type": "integer"}}}),
        ("#/definitions/x", {"definitions": {"x": {"type": "integer"}}}),
        ("#/$defs/a~1b~0c%25", {"$defs": {"a/b~c%": {"type": "integer"}}}),
        ("#/$defs/x/anyOf/1", {"$defs": {"x": {"anyOf": [True, {"type": "integer"}]}}}),
        ("#/elsewhere/x", {"elsewhere": {"x": {"type": "integer"}}}),
        ("#name", {"$defs": {"x": {"$anchor": "name", "type": "integer"}}}),
        ("#name", {"$defs": {"x": {"$dynamicAnchor": "name", "type": "integer"}}}),
        ("http://a.example/x", {"$defs": {"x": {"$id": "http://a.example/x", "type": "integer"}}}),
        ("other", {"$id": "http://a.example/root", "$defs": {"x": {"$id": "other", "type": "integer"}}}),
        ("http://a.example/root#/$defs/x", {"$id": "http://a.example/root", "$defs": {"x": {"type": "integer"}}}),
    ],
)
def test_targets(reference: str, more: dict[str, Any]) -> None:
    taken = language({"type": "array", "items": {"$ref": reference}} | more)
    assert taken.takes_value([1])
    assert not taken.takes_value(["a"])


def test_a_base_address_inside_changes_what_a_pointer_means() -> None:
    inner = {"$id": "http://a.example/inner", "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"type": "null"}}}
    taken = language({"$ref": "http://a.example/inner", "$defs": {"x": {"type": "integer"}, "inner": inner}})
    assert taken.takes_value([None])
    assert not taken.takes_value([1])


def test_keywords_beside_a_reference_by_draft() -> None:
    schema = {"$ref": "#/definitions/x", "maximum": 3, "definitions": {"x": {"type": "integer"}}}
    assert not language(schema).takes("4")
    assert language({"$schema": "http://json-schema.org/draft-07/schema#", **schema}).takes("4")


@pytest.mark.parametrize(
    "reference", ["https://host.example/x.json", "file:///etc/passwd", "/$defs/Color", "other.json"]
)
def test_nothing_is_ever_fetched(reference: str) -> None:
    with pytest.raises(UnsupportedSchema, match="nothing is ever fetched") as caught:
        language({"properties": {"c": {"$ref": reference}}})
    assert caught.value.problems[0].pointer == "/properties/c"


@pytest.mark.parametrize("reference", ["#/$defs/none", "#nowhere", "#/required/0", "#/required/9"])
def test_references_that_lead_nowhere(reference: str) -> None:
    with pytest.raises(SchemaError) as caught:
        language({"properties": {"c": {"$ref": reference}}, "required": ["a"]})
    assert [(problem.pointer, problem.keyword) for problem in caught.value.problems] == [("/properties/c", "$ref")]
    assert not isinstance(caught.value, UnsupportedSchema)


def test_a_property_may_be_called_ref() -> None:
    taken = language({"type": "object", "properties": {"$ref": {"type": "string"}}, "additionalProperties": False})
    assert taken.takes_value({"$ref": "x"})


def test_long_chains_do_not_recurse() -> None:
    count = 5000
    defs: dict[str, Any] = {f"d{index}": {"$ref": f"#/$defs/d{index + 1}"} for index in range(count)}
    taken = language({"$ref": "#/$defs/d0", "$defs": defs | {f"d{count}": {"type": "null"}}})
    assert taken.takes("null")
    nested: dict[str, Any] = {f"d{index}": {"items": {"$ref": f"#/$defs/d{index + 1}"}} for index in range(count)}
    nested = {"$ref": "#/$defs/d0", "$defs": nested | {f"d{count}": {"type": "null"}}, "type": "array"}
    assert language(nested).takes("[[]]")
    chosen = {f"d{index}": {"anyOf": [{"$ref": f"#/$defs/d{index + 1}"}, {"const": index}]} for index in range(500)}
    taken = language({"$ref": "#/$defs/d0", "$defs": chosen | {"d500": {"type": "null"}}})
    assert taken.takes("499")
    assert taken.takes("null")
    assert not taken.takes("500")


def test_a_value_that_must_hold_itself_is_none() -> None:
    with pytest.raises(UnsatisfiableGrammar, match="without end"):
        language({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]})
    list_of = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        "required": ["next"],
    }
    assert language(list_of).takes_value({"next": {"next": None}})


def test_many_self_references_are_not_unrolled() -> None:
    names = [f"p{index}" for index in range(10)]
    taken = language({"type": "object", "properties": {name: {"$ref": "#"} for name in names}}, "indent=2")
    assert len(taken.ir.nodes) < 3000
