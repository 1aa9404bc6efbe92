"""anyOf, oneOf, allOf, enum, const, and keywords beside them."""

from __future__ import annotations

from typing import Any

import pytest

from grammars.errors import UnsatisfiableGrammar

from .texts import language

CAT = {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind"]}
DOG = {"type": "object", "properties": {"kind": {"enum": ["dog", "wolf"]}}, "required": ["kind"]}


def _takes(schema: Any, values: list[Any]) -> list[bool]:
    taken = language(schema)
    return [taken.takes_value(value) for value in values]


def test_any_of_with_keywords_beside_it() -> None:
    schema = {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "maxLength": 2, "minimum": 5}
    assert _takes(schema, ["ab", 5, None, "abc", 4, 1.5]) == [True, True, True, False, False, False]


def test_required_in_the_branches() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    assert _takes(schema, [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {}, {"c": 1}]) == [True, True, True, False, False]


def test_all_of_merges() -> None:
    schema = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"a": {"minimum": 3}, "b": {"type": "string"}}, "additionalProperties": {"type": "null"}},
        ],
        "properties": {"b": {"maxLength": 1}},
    }
    assert _takes(schema, [{"b": "x", "a": 3}, {"a": 3}, {"a": 3, "c": None}]) == [True, True, True]
    assert not any(_takes(schema, [{"a": 2}, {"b": "x"}, {"b": "xy", "a": 3}, {"a": 3, "c": 1}, [], None]))


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_a_discriminator_tells_branches_apart(keyword: str) -> None:
    good: list[Any] = [{"kind": "cat"}, {"kind": "cat", "lives": 9}, {"kind": "wolf"}, {"kind": "dog", "lives": "x"}]
    assert all(_takes({keyword: [CAT, DOG]}, good))
    assert not any(_takes({keyword: [CAT, DOG]}, [{"kind": "cow"}, {}, {"kind": "cat", "lives": "x"}, "cat"]))


def test_one_of_takes_out_what_several_branches_allow() -> None:
    schema = {
        "oneOf": [{"type": ["string", "null"]}, {"type": ["integer", "null"]}, {"enum": [True]}, {"enum": [True]}]
    }
    assert _takes(schema, ["a", 1, None, True]) == [True, True, False, False]
    assert _takes({"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, ["a", "b", "c"]) == [True, False, True]
    assert _takes({"oneOf": [{"enum": [1, 2]}, {"enum": [2.0, 3]}]}, [1, 2, 3]) == [True, False, True]


def test_one_of_by_bounds_and_lengths() -> None:
    schema = {"oneOf": [{"type": "integer", "maximum": 3}, {"type": "integer", "minimum": 4}]}
    assert _takes(schema, [3, 4, -(10**30)]) == [True, True, True]
    schema = {"type": "array", "oneOf": [{"maxItems": 1}, {"minItems": 3}]}
    assert _takes(schema, [[1], [1, 2], [1, 2, 3]]) == [True, False, True]


def test_one_of_with_a_name_that_the_other_branch_forbids() -> None:
    closed = {"type": "object", "additionalProperties": False}
    schema = {
        "oneOf": [
            closed | {"properties": {"a": True}, "required": ["a"]},
            closed | {"properties": {"b": True}, "required": ["b"]},
        ]
    }
    assert _takes(schema, [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {}]) == [True, True, False, False]


def test_one_of_that_no_automaton_tells_apart_is_a_guard() -> None:
    either = language({"type": "array", "oneOf": [{"uniqueItems": True}, {"minItems": 2}]})
    assert [text for text in ("[]", "[1]", "[1,2]", "[1,1]") if either.takes(text)] == ["[]", "[1]", "[1,1]"]
    names = [f"a{index}" for index in range(10)]
    wide = [{"properties": {name: {"multipleOf": step} for name in names}} for step in (2, 3, 5, 7, 11)]
    one = language({"type": "object", "oneOf": wide})
    assert one.takes_value(dict.fromkeys(names, 22) | {"a3": 2})
    assert not one.takes_value(dict.fromkeys(names, 22))
    assert not one.takes_value(dict.fromkeys(names, 1))


def test_branches_that_allow_nothing_are_dropped() -> None:
    assert _takes({"oneOf": [False, {"type": "string", "enum": [1]}, {"type": "integer"}]}, [1, "a"]) == [True, False]
    assert _takes({"anyOf": [{"type": "object", "required": ["x"], "properties": {"x": False}}, True]}, [{}]) == [True]


VALUES: list[Any] = [None, True, 0, 1, 1.5, "a", "", [], [1, {"b": None}], {}, {"a": [True]}, {"b": 1, "a": 2}]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("layout", ["compact", "indent=2", "any"])
def test_const_is_that_value_only(value: Any, layout: str) -> None:
    taken = language({"const": value}, layout)
    for other in VALUES:
        same = other == value and isinstance(other, bool) == isinstance(value, bool)
        assert taken.takes_value(other) == same


def test_const_allows_any_spelling_of_one_value() -> None:
    assert language({"const": 1}, "any").takes("1.0")
    assert not language({"const": True}, "any").takes("1")


@pytest.mark.parametrize(
    ("schema", "left"),
    [
        ({"type": "string", "enum": ["a", 1, None]}, ["a"]),
        ({"type": "integer", "enum": [1, 1.5, 2.0, "1", True]}, [1]),
        ({"enum": ["a", "abc", 7], "maxLength": 2}, ["a", 7]),
        ({"enum": [{"a": 1}, {"a": "x"}, []], "properties": {"a": {"type": "integer"}}}, [{"a": 1}, []]),
        ({"enum": [[1], [1, 2], "x"], "minItems": 2}, [[1, 2], "x"]),
        ({"enum": [1, 5, 9], "minimum": 5, "anyOf": [{"const": 5}, {"const": 1}]}, [5]),
    ],
)
def test_values_are_filtered_by_the_other_keywords(schema: dict[str, Any], left: list[Any]) -> None:
    taken = language(schema)
    assert [value for value in schema["enum"] if taken.takes_value(value)] == left


def test_what_holds_itself_in_place_adds_nothing() -> None:
    assert _takes({"anyOf": [{"$ref": "#"}, {"type": "string"}]}, ["a", 1]) == [True, False]
    schema = {
        "$defs": {
            "A": {"anyOf": [{"$ref": "#/$defs/B"}, {"const": 1}]},
            "B": {"anyOf": [{"$ref": "#/$defs/A"}, {"const": 2}]},
        }
    }
    assert _takes(schema | {"$ref": "#/$defs/A"}, [1, 2, 3]) == [True, True, False]
    both = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}}}
    assert _takes(schema | both, [{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 3}, {"b": 3}]) == [True, True, False, False]
    with pytest.raises(UnsatisfiableGrammar, match="itself"):
        language({"$ref": "#"})
