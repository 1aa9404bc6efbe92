"""The field language of ``--fields``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrained.errors import FieldsError
from constrained.fields import fields_schema
from constrained.output_types import output_type_from

STRING = {"type": "string"}
NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("name: str, age: int", {"name": STRING, "age": {"type": "integer"}}),
        ("name", {"name": STRING}),
        ("due: date?", {"due": {"anyOf": [{"type": "string", "format": "date"}, NULL]}}),
        ("'due date': date", {"due date": {"type": "string", "format": "date"}}),
        ("tags: list[str]", {"tags": {"type": "array", "items": STRING}}),
        ("tags: str[]?", {"tags": {"anyOf": [{"type": "array", "items": STRING}, NULL]}}),
        ("tags: list[str?]", {"tags": {"type": "array", "items": {"anyOf": [STRING, NULL]}}}),
        ("s: 'open' | \"it's\"", {"s": {"enum": ["open", "it's"]}}),
        ("größe: float , x : any", {"größe": {"type": "number"}, "x": {}}),
    ],
)
def test_fields_become_a_closed_schema_with_all_of_them_required(text: str, properties: object) -> None:
    schema = fields_schema(text)
    assert schema["properties"] == properties
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False


def test_objects_nest_and_keep_their_order() -> None:
    lines = fields_schema("lines: {price: float, item}[]")["properties"]["lines"]
    assert list(lines["items"]["properties"]) == ["price", "item"]
    assert lines["items"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected the name of a field, got the end"),
        ("a: int, ", 8, "expected the name of a field, got the end"),
        ("a: foo", 3, r"expected a type \(str, int"),
        ("a: int b", 7, "expected the end, got 'b'"),
        ("a, a", 3, "expected each field once"),
        ("a: list[int", 11, "expected ']', got the end"),
        ("a: 'x' | y", 9, "expected a text in quotes, got 'y'"),
        ("a: int; b", 6, "unexpected ';'"),
        ("a: " + "{x: " * 40, 135, "at most 32"),
        ("a: int" + "[]" * 2000, 70, r"at most 32 types inside one another, got '\[\]'"),
        ("a: " + "list[" * 2000, 168, "at most 32"),
        ("a: " + "{x: " * 30 + "int" + "[]" * 9, 130, "at most 32"),
        ("a: " + "{x: " * 20 + "int" + "}[]" * 20, 123, "at most 32"),
    ],
)
def test_faults_are_shown_in_their_place(text: str, position: int, message: str) -> None:
    with pytest.raises(FieldsError, match=message) as caught:
        fields_schema(text)
    assert caught.value.position == position
    assert str(caught.value).endswith("^")


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="fields: expected a list of fields as a str"):
        fields_schema({"a": "int"})  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a: int" + "[]" * 32, "a: " + "{x: " * 16 + "int" + "[]}" * 16])
def test_the_deepest_fields_can_be_lowered(text: str) -> None:
    assert len(output_type_from(fields_schema(text)).lower(whitespace="indent=2").nodes) > 2


@given(st.text(alphabet="ab:,?|[]{}'\" listrn\n", max_size=40))
def test_any_text_is_a_schema_or_a_fields_error(text: str) -> None:
    try:
        positions = range(len(fields_schema(text)["required"]))
    except FieldsError as error:
        positions = range(error.position, len(text) + 1)
    assert len(positions) > 0
