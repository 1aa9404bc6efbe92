"""What is refused by default may be left out: the language is then at least that of the schema."""

from __future__ import annotations

from typing import Any

import pytest

from grammars.errors import SchemaError, UnsupportedSchema

from .texts import language

TWICE = r"^(a|b)\1$"


@pytest.mark.parametrize(
    ("schema", "places", "valid", "invalid"),
    [
        ({"pattern": TWICE, "maxLength": 2}, [("", "pattern")], ['"aa"', '"ab"', "1"], ['"aaa"']),
        ({"not": {"pattern": TWICE}}, [("", "not"), ("/not", "pattern")], ['"ab"', '"aa"', "1"][:2], []),
        (
            {"type": "object", "properties": {"a": {"type": "string", "pattern": TWICE}}, "required": ["a"]},
            [("/properties/a", "pattern")],
            ['{"a":"aa"}', '{"a":"x"}'],
            ['{"a":1}', "{}"],
        ),
        (
            {"patternProperties": {TWICE: {"type": "null"}}, "additionalProperties": False, "maxProperties": 1},
            [("", "patternProperties")],
            ['{"aa":null}', "{}"],
            ['{"aa":null,"bb":null}'],
        ),
        (
            {"properties": {"a": {"$ref": "https://example.com/a"}, "b": {"type": "integer"}}, "type": "object"},
            [("/properties/a", "$ref")],
            ['{"a":1,"b":2}', '{"a":{"x":[]}}'],
            ['{"b":"x"}'],
        ),
        ({"type": "string", "not": {"$ref": "https://example.com/a"}}, [("", "not"), ("", "$ref")], ['"a"'], ["1"]),
        (
            {"oneOf": [{"pattern": TWICE, "type": "string"}, {"type": "string", "minLength": 2}]},
            [("/oneOf/0", "pattern")],
            ['"ab"', '"aaa"', '"aa"'],
            ["1"],
        ),
        ({"enum": ["aa", "ab", "x"], "pattern": TWICE}, [("", "pattern")], ['"aa"', '"x"'], ['"bb"']),
        (
            {"type": "array", "items": {"enum": ["aa", "ab"]}, "contains": {"pattern": TWICE}, "maxItems": 2},
            [("/contains", "pattern")],
            ['["aa"]', '["ab","aa"]'],
            ['["aa","aa","aa"]', '["x"]'],
        ),
    ],
)
def test_the_grammar_allows_more_and_says_what(
    schema: Any, places: list[tuple[str, str]], valid: list[str], invalid: list[str]
) -> None:
    with pytest.raises(UnsupportedSchema):
        language(schema)
    found = language(schema, on_unsupported="relax")
    told = {(note.pointer, note.keyword) for note in found.ir.notes}
    assert told & set(places)
    assert all("left out" in note.message for note in found.ir.notes)
    assert [text for text in valid if not found.takes(text)] == []
    assert [text for text in invalid if found.takes(text)] == []


def test_what_is_supported_stays_the_same() -> None:
    schema = {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "not": {"const": [1]}}
    strict, relaxed = language(schema), language(schema, on_unsupported="relax")
    assert relaxed.ir.notes == ()
    assert strict.ir.nodes.tolist() == relaxed.ir.nodes.tolist()


def test_a_schema_that_is_none_is_refused_all_the_same() -> None:
    for schema in ({"$ref": "#/nowhere"}, {"type": "text"}):
        with pytest.raises(SchemaError):
            language(schema, on_unsupported="relax")
