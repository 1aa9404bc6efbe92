"""Objects and arrays: order, counts, what may follow, sizes of what is built."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest

from grammars.errors import UnsatisfiableGrammar

from .texts import language

INTEGER = {"type": "integer"}
CLOSED = {"type": "object", "additionalProperties": False}


def _takes(schema: Any, values: list[Any]) -> list[bool]:
    taken = language(schema)
    return [taken.takes_value(value) for value in values]


def test_declared_properties_come_in_the_order_of_the_schema() -> None:
    schema = CLOSED | {"properties": {"z": INTEGER, "a": INTEGER, "m": INTEGER}, "required": ["a"]}
    good = [{"z": 1, "a": 2, "m": 3}, {"a": 2, "m": 3}, {"z": 1, "a": 2}, {"a": 2}]
    bad = [{"a": 2, "z": 1}, {"m": 3, "a": 2}, {"z": 1, "m": 3}, {}, {"a": 1, "a ": 2}]
    assert all(_takes(schema, good))
    assert not any(_takes(schema, bad))


@pytest.mark.parametrize("required", [[], ["a"], ["b"], ["c"], ["a", "c"], ["a", "b", "c"]])
@pytest.mark.parametrize("more", [False, True, INTEGER])
def test_every_choice_of_optional_properties(required: list[str], more: Any) -> None:
    schema = {
        "type": "object",
        "properties": dict.fromkeys("abc", INTEGER),
        "required": required,
        "additionalProperties": more,
    }
    taken = language(schema)
    for choice in range(16):
        names = [name for index, name in enumerate("abcx") if choice >> index & 1]
        expected = set(required) <= set(names) and ("x" not in names or more is not False)
        assert taken.takes_value(dict.fromkeys(names, 1)) == expected, names
    assert taken.takes('{"a":1,"b":1,"c":1,"x":"s"}') == (more is True)


def test_required_names_that_are_not_declared() -> None:
    schema = {"type": "object", "properties": {"a": INTEGER}, "required": ["b", "a"], "additionalProperties": INTEGER}
    assert _takes(schema, [{"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}]) == [True, True]
    assert not any(_takes(schema, [{"a": 1}, {"b": 2}, {"a": 1, "b": "s"}, {"a": 1, "c": 2}]))


def test_other_names_exclude_declared_ones() -> None:
    schema = {
        "type": "object",
        "properties": {"ab": False, "abc": INTEGER},
        "additionalProperties": {"type": "boolean"},
    }
    good = [{"a": True}, {"abd": True}, {"": True}, {"abcd": True}, {"abc": 1, "x": True}]
    assert all(_takes(schema, good))
    assert not any(_takes(schema, [{"ab": True}, {"ab": 1}, {"abc": True}, {"x": True, "abc": 1}]))


def test_no_declared_name_comes_twice() -> None:
    taken = language({"type": "object", "properties": {"n": INTEGER}})
    assert not taken.takes('{"n":1,"n":2}')
    assert not taken.takes('{"n":1,"x":1,"n":2}')


@pytest.mark.parametrize(
    ("counts", "good", "bad"),
    [
        ({"minProperties": 1}, [{"a": 1}, {"b": 1}], [{}]),
        ({"minProperties": 2}, [{"a": 1, "b": 1}], [{}, {"a": 1}, {"b": 1}]),
        ({"maxProperties": 0}, [{}], [{"a": 1}]),
        ({"maxProperties": 2}, [{}, {"a": 1, "b": 1}], []),
        ({"maxProperties": 1, "required": ["b"]}, [{"b": 1}], [{}, {"a": 1, "b": 1}]),
    ],
)
def test_counts_that_need_no_counting(counts: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    schema = CLOSED | {"properties": {"a": INTEGER, "b": INTEGER}} | counts
    assert all(_takes(schema, good))
    assert not any(_takes(schema, bad))


@pytest.mark.parametrize("whitespace", ["compact", "any"])
def test_undeclared_names_differ(whitespace: str) -> None:
    two = language({"type": "object", "minProperties": 2, "properties": {"z": True}}, whitespace)
    assert two.takes('{"a":1,"b":1}')
    assert two.takes('{"z":1,"b":1}')
    assert not two.takes('{"a":1,"a":2}')
    assert not two.takes('{"z":1,"b":1,"b":1}')
    assert not two.takes('{"a":1}')
    if whitespace == "any":
        assert not two.takes(r'{"a":1,"\u0061":2}')


@pytest.mark.parametrize("order", ["schema", "any"])
def test_distinct_items(order: str) -> None:
    distinct = language({"uniqueItems": True, "minItems": 1}, "any", property_order=order)
    for text in ('["a","b"]', "[1,2,[1]]", '[{"a":1,"b":2},{"a":1}]', "[0,false,null,[],{}]", '"a"'):
        assert distinct.takes(text), text
    for text in ('["a","\\u0061"]', "[1,1.0]", '[{"a":1,"b":2},{"b":2,"a":10e-1}]', "[[],[ ]]", "[true,true]", "[]"):
        assert not distinct.takes(text), text
    nested = language({"items": {"uniqueItems": True}, "maxItems": 2}, property_order=order)
    assert nested.takes("[[1,2],[1,2]]")
    assert not nested.takes("[[1,2],[1,1]]")
    pair = {
        "uniqueItems": True,
        "prefixItems": [{"type": "integer"}],
        "items": {"type": "string"},
        "contains": {"const": "x"},
    }
    assert language(pair, property_order=order).takes('[1,"x","y"]')
    assert not language(pair, property_order=order).takes('[1,"x","x"]')


def test_optional_properties_that_allow_nothing_are_left_out() -> None:
    schema = CLOSED | {"properties": {"a": {"enum": []}, "b": INTEGER, "c": False}}
    assert _takes(schema, [{"b": 1}, {}, {"a": 1}]) == [True, True, False]


def test_many_optional_properties_stay_linear() -> None:
    def size(count: int) -> int:
        properties = {f"p{index}": {"anyOf": [{"type": "string"}, {"type": "null"}]} for index in range(count)}
        return len(language({"type": "object", "properties": properties}).ir.nodes)

    small, large = size(100), size(500)
    assert large < 6 * small


def test_shared_definitions_are_not_copied() -> None:
    def node(index: int) -> dict[str, Any]:
        inner = {"$ref": f"#/$defs/D{index + 1}"}
        return CLOSED | {"properties": {"a": inner, "b": inner}}

    defs: dict[str, Any] = {f"D{index}": node(index) for index in range(20)}
    taken = language({"$ref": "#/$defs/D0", "$defs": defs | {"D20": {"type": "string"}}})
    assert len(taken.ir.nodes) < 1000


def test_arrays() -> None:
    assert (
        _takes({"type": "array", "items": INTEGER}, [[], [1], [1, 2, 3], ["a"], [1, "a"]]) == [True] * 3 + [False] * 2
    )
    for least in range(4):
        for most in range(least, 5):
            taken = language({"items": INTEGER, "minItems": least, "maxItems": most, "type": "array"})
            assert [length for length in range(7) if taken.takes_value([1] * length)] == list(range(least, most + 1))


@pytest.mark.parametrize("least", [0, 1, 2, 3])
@pytest.mark.parametrize("rest", [False, True, {"type": "null"}])
def test_positions(least: int, rest: Any) -> None:
    schema = {"type": "array", "prefixItems": [INTEGER, {"type": "string"}], "items": rest, "minItems": least}
    if least == 3 and rest is False:
        with pytest.raises(UnsatisfiableGrammar):
            language(schema)
        return
    values = [[], [1], [1, "a"], [1, "a", None], [1, "a", None, None]]
    assert _takes(schema, values) == [
        len(value) >= least and (len(value) <= 2 or rest is not False) for value in values
    ]
    assert not any(_takes(schema, [["a"], [1, 2], [None]]))
    assert _takes(schema, [[1, "a", 5]]) == [rest is True]


def test_a_position_that_allows_nothing_ends_the_array() -> None:
    assert _takes({"type": "array", "prefixItems": [INTEGER, False, INTEGER]}, [[], [1], [1, 2]]) == [True, True, False]


@pytest.mark.parametrize("draft", ["http://json-schema.org/draft-07/schema#", None])
def test_positions_in_the_older_spelling(draft: str | None) -> None:
    schema: dict[str, Any] = {"type": "array", "items": [INTEGER], "additionalItems": False}
    if draft is not None:
        schema = {"$schema": draft, **schema}
    assert _takes(schema, [[], [1], [1, 2], ["a"]]) == [True, True, False, False]


def test_hundreds_of_positions() -> None:
    taken = language({"type": "array", "prefixItems": [INTEGER] * 300, "items": False})
    assert taken.takes_value([1] * 300)
    assert taken.takes_value([1] * 299)
    assert not taken.takes_value([1] * 301)


@pytest.mark.parametrize("whitespace", ["compact", "indent=2", "any"])
def test_distinct_values_of_a_list_need_no_guard_and_never_run_out(whitespace: str) -> None:
    values: list[Any] = ["a", "ab", 1, 10, 2.5, True, None]
    schema = {"type": "array", "uniqueItems": True, "items": {"enum": values}, "minItems": 2, "maxItems": 5}
    taken = language(schema, whitespace)
    assert taken.ir.registers
    for length in range(5):
        for items in itertools.permutations(values, length):
            assert taken.takes_value(list(items)) == (length >= 2)
    assert not taken.takes_value(["a", "a"])
    assert not taken.takes_value([1, 10, 1])
    assert not taken.takes_value(values)
    if whitespace == "any":
        assert not taken.takes(r'["a","\u0061"]')
        assert not taken.takes("[1,1.0]")
        assert taken.takes("[1e0 , 10]")
    for seed in range(20):
        random, matcher = Random(seed), taken.grammar.matcher()
        for _ in range(200):
            allowed = matcher.allowed_token_ids()
            assert allowed
            token = random.choice(allowed)
            matcher.consume(token)
            if matcher.is_terminated:
                break
    with pytest.raises(UnsatisfiableGrammar):
        language({**schema, "minItems": 8, "maxItems": 9})
