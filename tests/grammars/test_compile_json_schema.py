"""Options of ``compile_json_schema``: references through a registry, and what is told of what is not enforced."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import grammars

BYTES = grammars.Vocabulary.from_bytes([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])


def takes(compiled: grammars.CompiledGrammar, text: str) -> bool:
    matcher = compiled.matcher()
    return matcher.consume_bytes(text.encode()) and matcher.is_accepting


def test_a_registry_has_what_references_lead_to() -> None:
    schema = {"$ref": "https://example.com/count.json"}
    with pytest.raises(grammars.UnsupportedSchema, match="nothing is ever fetched"):
        grammars.compile_json_schema(schema, BYTES)
    count = DRAFT202012.create_resource({"type": "integer", "minimum": 0})
    registry: Registry[Any] = Registry().with_resource("https://example.com/count.json", count)
    compiled = grammars.compile_json_schema(schema, BYTES, registry=registry)
    assert [takes(compiled, text) for text in ("12", "-1", '"a"')] == [True, False, False]


def test_unknown_formats_are_told_once_and_kept() -> None:
    schema = {"properties": {"a": {"format": "colour"}, "b": {"format": "shape"}}, "type": "object"}
    with pytest.warns(grammars.SchemaWarning, match="colour") as caught:
        compiled = grammars.compile_json_schema(schema, BYTES, whitespace="compact")
    (warning,) = caught
    assert isinstance(warning.message, grammars.SchemaWarning)
    assert warning.message.notes == compiled.notes
    assert warning.filename == __file__
    assert [(note.pointer, note.keyword) for note in compiled.notes] == [
        ("/properties/a", "format"),
        ("/properties/b", "format"),
    ]
    assert takes(compiled, '{"a":"x"}')


def test_what_is_enforced_is_not_told() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grammars.compile_json_schema({"format": "date"}, BYTES).notes == ()
        assert grammars.compile_json_schema({"format": "colour"}, BYTES, formats="annotate").notes == ()
    assert grammars.compile_regex("a", BYTES).notes == ()


def test_what_is_not_supported_can_be_left_out() -> None:
    schema = {"type": "string", "pattern": r"^(a|b)\1$", "maxLength": 2}
    with pytest.raises(grammars.UnsupportedSchema, match="pattern"):
        grammars.compile_json_schema(schema, BYTES)
    with pytest.warns(grammars.SchemaWarning, match=r"#: pattern: left out, so that texts may break it"):
        compiled = grammars.compile_json_schema(schema, BYTES, on_unsupported="relax")
    assert [takes(compiled, text) for text in ('"aa"', '"ab"', '"aaa"')] == [True, True, False]
