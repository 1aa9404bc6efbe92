"""Strings of a JSON Schema that must be taken from a source."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammars import (
    CompiledGrammar,
    SchemaError,
    SourceError,
    UnsupportedSchema,
    Vocabulary,
    compile_json_schema,
    compile_regex,
)

BYTES = Vocabulary.from_bytes([bytes((byte,)) for byte in range(256)], eos_token_ids=[])
SOURCE = 'Invoice 12 from "Hazel & Sons", Berlin\r\nTotal: 1,250.50 €; paid 2024-02-29 \t😀'
VENDOR = {"type": "object", "properties": {"vendor": {"type": "string", "x-verbatim": True}}, "required": ["vendor"],
          "additionalProperties": False}  # fmt: skip


def compiled(schema: Any, source: str | None = SOURCE, **options: Any) -> CompiledGrammar:
    return compile_json_schema(schema, BYTES, source=source, whitespace="spaced", **options)


def takes(grammar: CompiledGrammar, value: Any, *, ensure_ascii: bool = False) -> bool:
    matcher = grammar.matcher()
    return matcher.consume_bytes(json.dumps(value, ensure_ascii=ensure_ascii).encode()) and matcher.is_accepting


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("Hazel & Sons", True),
        ('"Hazel & Sons", Berlin\r\nTotal', True),
        ("1,250.50", True),
        ("250.50", False),
        ("1,250", False),
        ("Haz", False),
        ("hazel & Sons", False),
        ("€", True),
        ("29 \t😀", True),
        (" Berlin", False),
        ("", False),
        (SOURCE, True),
    ],
)
def test_a_string_is_taken_by_words(text: str, is_taken: bool) -> None:
    assert takes(compiled(VENDOR), {"vendor": text}) is is_taken
    ascii_only = compiled(VENDOR, ensure_ascii=True)
    assert takes(ascii_only, {"vendor": text}, ensure_ascii=True) is is_taken


def test_a_string_is_taken_by_characters() -> None:
    grammar = compiled({"x-verbatim": "characters", "type": "string"})
    assert all(takes(grammar, text) for text in ("aze", " ", "\r\n", "250", "😀", "l & S"))
    assert not any(takes(grammar, text) for text in ("", "azel-", "\n\r", "x"))


def test_keywords_around_it_hold() -> None:
    schema = {
        "type": "array",
        "items": {
            "anyOf": [{"type": "string", "x-verbatim": True, "minLength": 1}, {"const": "n/a"}, {"type": "null"}]
        },
        "uniqueItems": True,
    }
    grammar = compiled(schema)
    assert takes(grammar, ["Berlin", "n/a", None, "Total", "Total:"])
    assert not takes(grammar, ["Berlin", "Paris"])
    assert not takes(grammar, ["Berlin", "Total", "Berlin"])


def test_masks_ask_guards_inside_verbatim_text() -> None:
    tokens = [*(bytes((byte,)) for byte in range(256)), b'a"', b'b"', b'a", "', b'"]', b'", "a', b'b"]', b"a b", b'ab"']
    vocabulary = Vocabulary.from_bytes(tokens, eos_token_ids=[])
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "string", "x-verbatim": "characters"}}
    matcher = compile_json_schema(schema, vocabulary, source="ab a b", whitespace="spaced").matcher()
    for text in ('["a", "', "b", '", "', "a", "b", '", "', "b ", "a", '"'):
        allowed = set(matcher.allowed_token_ids())
        assert allowed == {
            token for token in range(len(tokens)) if matcher.try_consume([token]) and not matcher.rollback(1)
        }
        assert matcher.consume_bytes(text.encode())
        assert matcher.has_open_guard
    assert not matcher.consume_bytes(b', "ab"')
    assert matcher.consume_bytes(b', "ab a"]')


def test_every_free_string_may_be_asked_for() -> None:
    schema = {
        "type": "object",
        "properties": {
            "who": {"type": "string"},
            "kind": {"enum": ["invoice", "letter"]},
            "due": {"type": "string", "format": "date"},
            "more": {},
        },
        "required": ["who", "kind", "due", "more"],
        "additionalProperties": False,
    }
    grammar = compiled(schema, verbatim="words")
    value: dict[str, Any] = {"who": "Hazel", "kind": "letter", "due": "1999-01-01", "more": {"any name": ["Berlin", 7]}}
    assert takes(grammar, value)
    assert not takes(grammar, value | {"who": "Walter"})
    assert not takes(grammar, value | {"more": ["Paris"]})


def test_without_a_source_it_is_an_error() -> None:
    with pytest.raises(SourceError, match=r"needs a source to be taken from, and none was given; pass the text as"):
        compiled(VENDOR, None)
    assert compiled({"type": "integer"}, None, verbatim="words").matcher().consume_bytes(b"7")


def test_a_source_that_is_no_text_is_an_error() -> None:
    source: Any = b"Kettle"
    with pytest.raises(SourceError, match="source: expected a str, got bytes; decode it first"):
        compiled(VENDOR, source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "source: expected a text to take verbatim pieces from, got an empty one"),
        (" \r\n\t", "source: expected a text to take verbatim pieces from, got one of white space only"),
        ("a\ud800", "source: half of a surrogate pair at index 1"),
    ],
)
def test_a_source_that_holds_nothing_is_an_error(source: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        compiled(VENDOR, source)


@pytest.mark.parametrize(
    ("keywords", "keyword"),
    [
        ({"maxLength": 5}, "maxLength"),
        ({"minLength": 2}, "minLength"),
        ({"pattern": "^a"}, "pattern"),
        ({"format": "date"}, "format"),
        ({"enum": ["a"]}, "x-verbatim"),
        ({"not": {"const": "a"}}, "not"),
    ],
)
def test_what_cannot_be_enforced_with_it_is_refused(keywords: dict[str, Any], keyword: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        compiled({"type": "string", "x-verbatim": True, **keywords})
    assert [problem.keyword for problem in caught.value.problems] == [keyword]


def test_its_negation_is_refused() -> None:
    with pytest.raises(UnsupportedSchema):
        compiled({"type": "string", "not": {"x-verbatim": True}})


def test_other_values_of_the_keyword_are_no_schema() -> None:
    with pytest.raises(SchemaError, match="expected true, false, 'words' or 'characters', got 'lines'"):
        compiled({"type": "string", "x-verbatim": "lines"})


def test_false_asks_nothing() -> None:
    assert takes(compiled({"type": "string", "x-verbatim": False}, None), "anything")


def test_a_source_is_no_matter_where_nothing_asks_for_it() -> None:
    assert compile_regex("a", BYTES).matcher().consume_bytes(b"a")
    assert takes(compiled({"type": "string"}), "anything")
