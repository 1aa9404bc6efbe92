"""What a schema's words mean: drafts, vocabularies, remote documents, and references by dynamic scope."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from grammars.errors import LimitExceeded, SchemaError, UnsupportedSchema

from .texts import language

NEWEST = "https://json-schema.org/draft/2020-12/schema"


def _registry(**contents: Any) -> Registry[Any]:
    found = [
        (f"https://example.com/{name}", Resource.from_contents(one, default_specification=DRAFT202012))
        for name, one in contents.items()
    ]
    return Registry().with_resources(found)


def test_a_generic_list_takes_the_items_of_the_outermost_schema() -> None:
    schema = {
        "$id": "https://example.com/strings",
        "$ref": "list",
        "$defs": {
            "of": {"$dynamicAnchor": "of", "type": "string"},
            "list": {
                "$id": "list",
                "type": "array",
                "items": {"$dynamicRef": "#of"},
                "$defs": {"of": {"$dynamicAnchor": "of"}},
            },
        },
    }
    taken = language(schema)
    assert taken.takes('["a"]')
    assert not taken.takes("[1]")
    assert not language({**schema, "$ref": "#/$defs/list/items"}).takes("1")  # the root is always in scope


def test_one_schema_in_two_scopes() -> None:
    generic = {
        "$id": "https://example.com/list",
        "type": "array",
        "items": {"$dynamicRef": "#of"},
        "$defs": {"of": {"$dynamicAnchor": "of"}},
    }

    def holder(name: str, kind: str) -> dict[str, Any]:
        return {"$id": name, "$ref": "list", "$defs": {"of": {"$dynamicAnchor": "of", "type": kind}}}

    taken = language(
        {
            "$id": "https://example.com/root",
            "properties": {"n": holder("numbers", "number"), "s": holder("strings", "string")},
            "$defs": {"list": generic},
        }
    )
    assert taken.takes('{"n":[1],"s":["a"]}')
    assert not taken.takes('{"n":["a"]}')
    assert not taken.takes('{"s":[1]}')


def test_recursion_to_an_extended_tree() -> None:
    tree = {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$id": "https://example.com/extended",
        "$recursiveAnchor": True,
        "$ref": "tree",
        "required": ["name"],
        "$defs": {
            "tree": {
                "$id": "tree",
                "$recursiveAnchor": True,
                "type": "object",
                "properties": {"name": {"type": "string"}, "kids": {"items": {"$recursiveRef": "#"}}},
            }
        },
    }
    taken = language(tree)
    assert taken.takes('{"name":"a","kids":[{"name":"b"}]}')
    assert not taken.takes('{"name":"a","kids":[{}]}')


def test_a_registry_is_asked_and_nothing_else() -> None:
    schema = {"items": {"$ref": "https://example.com/name#/$defs/short"}}
    with pytest.raises(UnsupportedSchema, match="nothing is ever fetched"):
        language(schema)
    registry = _registry(name={"$defs": {"short": {"$ref": "#long", "maxLength": 3}, "l": {"$anchor": "long"}}})
    taken = language(schema, registry=registry)
    assert taken.takes('["abc"]')
    assert not taken.takes('["abcd"]')
    with pytest.raises(UnsupportedSchema, match="neither in the schema nor in the registry"):
        language({"$ref": "https://example.com/other"}, registry=registry)
    with pytest.raises(SchemaError, match=r"https://example.com/bad#/items: minLength"):
        language({"$ref": "https://example.com/bad"}, registry=_registry(bad={"items": {"minLength": "x"}}))


def test_the_metaschemas_need_no_registry() -> None:
    taken = language({"$ref": "http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger"})
    assert taken.takes("3")
    assert not taken.takes("-3")


def test_a_metaschema_of_ones_own_leaves_keywords_out() -> None:
    vocabulary = "https://json-schema.org/draft/2020-12/vocab/"
    own = {"$schema": NEWEST, "$vocabulary": {f"{vocabulary}core": True, f"{vocabulary}applicator": True}}
    schema = {
        "$schema": "https://example.com/own",
        "properties": {"a": {"minimum": 10, "type": "string"}, "b": False},
        "required": ["c"],
    }
    kept = {key: value.copy() if isinstance(value, dict) else value for key, value in schema.items()}
    taken = language(schema, registry=_registry(own=own))
    assert schema == kept
    assert taken.takes('{"a":3}')
    assert not taken.takes('{"b":3}')
    needed = {"$schema": NEWEST, "$vocabulary": {"https://example.com/vocab": True}}
    with pytest.raises(SchemaError, match=r"\$vocabulary.*needs the vocabulary"):
        language(schema, registry=_registry(own=needed))


@pytest.mark.parametrize("named", ["https://example.com/own", "http://json-schema.org/draft-03/schema#", 7])
def test_unknown_metaschemas_are_faults(named: Any) -> None:
    with pytest.raises(SchemaError, match=r"#: \$schema: "):
        language({"$schema": named})


def test_keys_that_are_no_strings_are_faults() -> None:
    with pytest.raises(SchemaError, match=r"/properties/a: schema: expected keys that are strings, got 1"):
        language({"properties": {"a": {1: "x"}}})
    with pytest.raises(SchemaError, match=r"const: expected JSON values: expected names that are strings, got 1"):
        language({"const": {1: "x"}})


def test_any_mapping_is_taken_at_any_depth() -> None:
    schema = MappingProxyType({"properties": OrderedDict(a=OrderedDict(type="null"))})
    assert language(schema).takes('{"a":null}')
    assert not language({"items": MappingProxyType({"type": "null"})}).takes("[1]")


def test_given_values_are_no_deeper_than_schemas() -> None:
    deep: Any = 1
    for _ in range(16_000):
        deep = [deep]
    with pytest.raises(LimitExceeded, match="max_nesting"):
        language({"const": deep})


def test_notes_name_unknown_formats() -> None:
    found = language({"properties": {"a": {"format": "colour"}, "b": {"format": "date"}}})
    assert [str(note)[:41] for note in found.ir.notes] == ["/properties/a: format: the format 'colour'"[:41]]
    assert language({"format": "colour"}, formats="annotate").ir.notes == ()
