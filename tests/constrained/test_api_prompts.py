"""What the model is told when it is asked to extract."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrained.output_types import output_type_from
from constrained.prompts import DEFAULT_TEMPLATE, PromptTemplate, WorkedExample, property_names

TEMPLATE = PromptTemplate(
    system="Be short.",
    user="{instructions}\n{document}\n{schema}",
    instructions="Find {names}.",
    examples=(WorkedExample(document="a=1", answer={"a": 1}),),
)
SCHEMA = '{"properties": {"x": {}, "y z": {}}}'


def test_places_are_filled_once_and_examples_come_first() -> None:
    system, question, answer, turn = TEMPLATE.messages("{names} {schema}\n", schema_text=SCHEMA, whitespace="compact")
    assert system == {"role": "system", "content": "Be short."}
    assert question["content"].startswith("Find a.\na=1\n")
    assert answer == {"role": "assistant", "content": '{"a":1}'}
    assert turn == {"role": "user", "content": "Find x, y z.\n{names} {schema}\n" + SCHEMA}


def test_instructions_replace_those_of_the_template_or_the_whole_turn() -> None:
    assert TEMPLATE.messages("doc", "Get {names}", schema_text=SCHEMA)[-1]["content"] == f"Get x, y z\ndoc\n{SCHEMA}"
    whole = TEMPLATE.messages("doc", "Read {document}: {names}", schema_text=SCHEMA)
    assert [message["content"] for message in whole] == ["Be short.", "Read doc: x, y z"]


def test_output_that_is_no_json_is_not_called_json() -> None:
    (turn,) = DEFAULT_TEMPLATE.messages("doc", schema_text=None)
    assert "JSON" not in turn["content"]
    assert turn["content"].endswith("doc")


@pytest.mark.parametrize(
    ("whitespace", "answer"),
    [("indent=4", '{\n    "a": 1\n}'), ("any", '{\n  "a": 1\n}'), ("spaced", '{"a": 1}'), ("compact", '{"a":1}')],
)
def test_examples_are_written_as_the_answer_will_be(whitespace: str, answer: str) -> None:
    assert TEMPLATE.messages("doc", schema_text=SCHEMA, whitespace=whitespace)[2]["content"] == answer


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"properties": {"b": {}, "a": {}}}, "b, a"),
        ({"type": "array", "items": {"properties": {"a": {}}}}, "a"),
        (
            {"anyOf": [{"properties": {"a": {}, "b": {}}}, {"type": "null"}, {"properties": {"b": {}, "c": {}}}]},
            "a, b, c",
        ),
        ({"$ref": "#/definitions/A", "definitions": {"A": {"properties": {"a": {}}}}}, "a"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "the data"),
        ({"$ref": "http://elsewhere/x"}, "the data"),
        ({"properties": 5, "anyOf": 5, "items": [True]}, "the data"),
        (True, "the data"),
    ],
)
def test_the_names_of_properties_are_found_where_a_schema_has_them(schema: object, names: str) -> None:
    assert property_names(json.dumps(schema)) == names


def test_the_names_of_a_python_type_are_those_of_its_fields() -> None:
    schema_text = output_type_from(list[tuple[int, str]]).schema_text
    assert property_names(schema_text) == "the data"
    assert property_names(None) == "the data"


@given(st.text(), st.text())
def test_any_document_and_instructions_are_kept_whole(document: str, instructions: str) -> None:
    turn = PromptTemplate(user="{document}", instructions="").messages(document, schema_text="{}")[-1]
    assert turn["content"] == document.strip("\n")
    if instructions and "{" not in instructions:
        said = DEFAULT_TEMPLATE.messages("doc", instructions, schema_text="{}")[-1]
        assert said["content"] == f"{instructions}\n\nDocument:\ndoc"
