"""``unevaluatedProperties`` and ``unevaluatedItems`` against `jsonschema`, over random schemas applied in place."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft201909Validator, Draft202012Validator

from grammars.errors import UnsatisfiableGrammar, UnsupportedSchema

from .texts import Language, language, orders

NAMES = ("a", "b", "c")
OBJECTS = [
    dict(zip(names, values, strict=True))
    for size in range(4)
    for names in itertools.combinations(NAMES, size)
    for values in itertools.product((1, "x"), repeat=size)
]
ARRAYS = [list(values) for size in range(4) for values in itertools.product((1, "x"), repeat=size)]
_TYPES = st.sampled_from([True, {"type": "integer"}, {"type": "string"}])


def _objects() -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(NAMES)
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(names, _TYPES, max_size=2),
            "required": st.lists(names, max_size=1),
            "patternProperties": st.dictionaries(st.sampled_from(["^[ab]$", "c"]), _TYPES, min_size=1, max_size=1),
        },
    )


def _arrays() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "prefixItems": st.lists(_TYPES, min_size=1, max_size=2),
            "contains": st.sampled_from([{"type": "string"}, {"const": 1}]),
            "minItems": st.sampled_from([0, 1]),
        },
    )


def _in_place(leaves: st.SearchStrategy[dict[str, Any]], keyword: str) -> st.SearchStrategy[dict[str, Any]]:
    def wrapped(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        some = st.lists(inner, min_size=1, max_size=2)
        return st.tuples(
            leaves,
            st.one_of(
                st.fixed_dictionaries({"allOf": some}),
                st.fixed_dictionaries({"anyOf": some}),
                st.fixed_dictionaries({"oneOf": some}),
                st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
                st.fixed_dictionaries({"not": inner}),
                st.fixed_dictionaries({"dependentSchemas": st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)}),
                st.fixed_dictionaries({keyword: st.sampled_from([True, False])}),
            ),
        ).map(lambda pair: {**pair[0], **pair[1]})

    return st.recursive(leaves, wrapped, max_leaves=4)


def _lowered(schema: Any) -> Language | None:
    try:
        return language(schema, "any")
    except UnsatisfiableGrammar:
        return None
    except UnsupportedSchema as error:  # what is refused elsewhere too
        assume({problem.keyword for problem in error.problems} & {"unevaluatedProperties", "unevaluatedItems"})
        raise


@settings(max_examples=40, deadline=None)
@given(inner=_in_place(_objects(), "unevaluatedProperties"), rest=st.sampled_from([False, {"type": "integer"}]))
def test_properties(inner: dict[str, Any], rest: Any) -> None:
    schema = {**inner, "unevaluatedProperties": rest}
    taken = _lowered(schema)
    validator = Draft202012Validator(schema)
    for value in OBJECTS:
        accepted = taken is not None and any(map(taken.takes_value, orders(value)))
        assert accepted == validator.is_valid(value), value


@settings(max_examples=40, deadline=None)
@given(inner=_in_place(_arrays(), "unevaluatedItems"), rest=st.sampled_from([False, {"type": "integer"}]))
def test_items(inner: dict[str, Any], rest: Any) -> None:
    schema = {**inner, "unevaluatedItems": rest}
    taken = _lowered(schema)
    validator = Draft202012Validator(schema)
    for value in ARRAYS:
        assert (taken is not None and taken.takes_value(value)) == validator.is_valid(value), value


def test_the_older_spelling_of_positions() -> None:
    newest = "https://json-schema.org/draft/2019-09/schema"
    schema = {"$schema": newest, "items": [True], "anyOf": [{"items": [True, {"type": "null"}]}, {"minItems": 0}]}
    for more in ({"unevaluatedItems": False}, {"unevaluatedItems": {"type": "integer"}}):
        taken, validator = language({**schema, **more}), Draft201909Validator({**schema, **more})
        for value in ([], [1], [1, None], [1, 2], [1, None, 3], [1, None, None]):
            assert taken.takes_value(value) == validator.is_valid(value), (more, value)


def test_a_schema_that_holds_itself() -> None:
    taken = language({"properties": {"x": {"$ref": "#"}}, "unevaluatedProperties": False})
    assert taken.takes('{"x":{"x":{}}}')
    assert not taken.takes('{"x":{"y":{}}}')


def test_too_many_ways_are_a_guard() -> None:
    branches = [{"properties": {f"a{index}": {"const": index}}} for index in range(9)]
    items = language({"items": {"anyOf": branches, "unevaluatedProperties": False}}, "any")
    assert items.takes_value([{"a1": 1, "a5": 5}, {"a8": 8}, {}])
    assert not items.takes_value([{"a1": 1, "a5": 6}])
    assert not items.takes_value([{"a1": 1, "b": 5}])
