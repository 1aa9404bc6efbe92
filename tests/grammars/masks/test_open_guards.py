"""Where something is open that a guard will be asked about, and what guards deny."""

from __future__ import annotations

from typing import Any

import pytest

import grammars

BYTES = grammars.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), b'"]', None], eos_token_ids=[257])
WORD = {"type": "string", "pattern": "^(a|ab|b)$"}  # given values would be told apart before they begin
DISTINCT = {"type": "array", "items": WORD, "uniqueItems": True, "minItems": 2}
REPEATED = {"type": "array", "items": {"enum": [1, 2]}, "minItems": 2, "not": {"uniqueItems": True}}


def where_open(schema: Any, text: str, **limits: int) -> str:
    """The text with a mark for each place: ``^`` where something is open."""
    compiled = grammars.compile_json_schema(schema, BYTES, whitespace="compact", limits=grammars.Limits(**limits))
    matcher = compiled.matcher()
    marks = ""
    for byte in text.encode():
        matcher.consume(byte)
        marks += "^" if matcher.has_open_guard else "."
    assert matcher.is_accepting
    return marks


@pytest.mark.parametrize(
    ("schema", "text", "marks"),
    [
        (DISTINCT, '["a","b"]', "^^^^^^^^."),
        (REPEATED, "[1,2,1]", "^^^^^^."),
        ({"items": DISTINCT, "type": "array"}, '[["b","a"],["a","b"]]', "^^^^^^^^^.^^^^^^^^^.."),
        ({**DISTINCT, "contains": {"const": "a"}}, '["a","b"]', "^^^^^^^^."),
        ({**DISTINCT, "items": DISTINCT}, '[["b","a"],["a","b"]]', "^^^^^^^^^^^^^^^^^^^^."),
        ({"items": {"type": "integer"}, "type": "array"}, "[1,2]", "....."),
        ({"propertyNames": {"maxLength": 1}, "type": "object"}, '{"a":1,"b":[]}', "^^^^^^^^^^^^^."),
        ({"propertyNames": {"pattern": "^x"}, "type": "object"}, '{"xa":1,"x":[]}', "..............."),
        ({"type": "object"}, '{"a":{"b":1},"c":[]}', "...................."),
        (
            {"type": "object", "properties": {"a": True, "b": DISTINCT, "c": {"type": "boolean"}}},
            '{"a":1,"b":["a","b"],"c":true}',
            "..........^^^^^^^^^...........",
        ),
    ],
)
def test_what_is_open(schema: Any, text: str, marks: str) -> None:
    found = where_open(schema, text)
    assert len(found) == len(text)
    closed_early = [place for place, mark in enumerate(marks) if mark == "^" and found[place] == "."]
    assert closed_early == []
    assert found.count("^") <= marks.count("^") + 2  # where such a value may begin


def test_it_is_the_same_after_room_was_made() -> None:
    text = '[["b","a"],["a","b"],["ab","b"]]'
    schema = {"items": DISTINCT, "type": "array"}
    tight = where_open(schema, text, max_configurations=40, max_items=800, max_stack_nodes=100)
    assert tight == where_open(schema, text)


def test_denials_are_named() -> None:
    matcher = grammars.compile_json_schema(DISTINCT, BYTES, whitespace="compact").matcher()
    assert matcher.denials() == ()
    for byte in b'["a","a':
        matcher.consume(byte)
    assert matcher.allowed_token_ids() == [ord("b")]
    assert matcher.denials() == ("no two items of the array may be equal (uniqueItems)",)
    repeated = grammars.compile_json_schema(REPEATED, BYTES, whitespace="compact").matcher()
    for byte in b"[1,2":
        repeated.consume(byte)
    assert repeated.denials() == ("the finished value must be valid under its schema",)
    plain = grammars.compile_regex("a", BYTES).matcher()
    assert (plain.denials(), plain.has_open_guard) == ((), False)


def test_nothing_is_open_when_the_text_has_ended() -> None:
    matcher = grammars.compile_json_schema(REPEATED, BYTES, whitespace="compact").matcher()
    for byte in b"[1,1]":
        matcher.consume(byte)
    matcher.consume(257)
    assert (matcher.has_open_guard, matcher.denials()) == (False, ())
