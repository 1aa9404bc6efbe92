"""``not``, ``oneOf`` that overlaps, if/then/else, dependencies and ``contains``; the judge is `jsonschema`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from constrained.testing.strategies import sentences
from grammars.errors import UnsatisfiableGrammar, UnsupportedSchema

from .texts import Language, language, orders

NAMES = st.sampled_from(("a", "b", "c"))
SCALARS = st.sampled_from((None, True, False, 0, 1, 2.5, -3, 10, "", "a", "ab", "b"))
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(NAMES, SCALARS | st.lists(SCALARS, max_size=2))
LEAVES = st.sampled_from(
    (
        True,
        False,
        *({"type": kind} for kind in ("null", "boolean", "integer", "number", "string", "array", "object")),
        *({"enum": [1, "a", None]}, {"const": True}, {"enum": [0, 2.5, -3]}, {"enum": ["", "b"]}, {"const": []}),
        *({"minimum": 1}, {"exclusiveMaximum": 2.5}, {"multipleOf": 2}, {"multipleOf": 0.5, "maximum": 9}),
        *({"minLength": 1}, {"maxLength": 1}, {"pattern": "^a"}, {"pattern": "b$", "minLength": 2}),
        *({"minItems": 1}, {"maxItems": 1}, {"required": ["a"]}, {"required": ["a", "b"]}, {"maxProperties": 1}),
        {"type": ["integer", "string"], "minimum": 1},
    )
)


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    optional = {
        "not": inner,
        "oneOf": some,
        "anyOf": some,
        "if": inner,
        "then": inner,
        "else": inner,
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, unique=True, max_size=2), max_size=2),
        "dependentSchemas": st.dictionaries(NAMES, inner, max_size=2),
        "properties": st.dictionaries(NAMES, inner, max_size=2),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(("^a", "b|c")), inner, max_size=1),
        "required": st.lists(NAMES, unique=True, max_size=2),
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "contains": inner,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
        "type": st.sampled_from(("object", "array", "string", "number")),
    }
    groups = [(name,) for name in optional if name not in ("then", "else", "minContains", "maxContains")]
    groups += [("if", "then"), ("if", "else"), ("if", "then", "else")]
    groups += [("contains", "minContains"), ("contains", "maxContains"), ("contains", "minContains", "maxContains")]
    return st.lists(st.sampled_from(groups), min_size=1, max_size=3).flatmap(
        lambda chosen: st.fixed_dictionaries({name: optional[name] for names in chosen for name in names})
    )


SCHEMAS = st.recursive(LEAVES, _deeper, max_leaves=5)
MAY_BE_REFUSED = {
    *("not", "oneOf", "if", "contains", "minProperties", "maxProperties", "patternProperties", "dependentSchemas"),
    "anyOf",
}


def _lower(schema: Any) -> Language | None:
    try:
        return language(schema)
    except UnsatisfiableGrammar:
        return None


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=SCHEMAS, values=st.lists(VALUES, min_size=6, max_size=6))
def test_values_are_taken_exactly_if_valid(schema: Any, values: list[Any]) -> None:
    try:
        taken = _lower(schema)
    except UnsupportedSchema as error:
        if not {problem.keyword for problem in error.problems} <= MAY_BE_REFUSED:
            raise
        return
    validator = Draft202012Validator(schema)
    for value in values:
        accepted = taken is not None and any(taken.takes_value(order) for order in orders(value))
        assert accepted == validator.is_valid(value), (schema, value)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), schema=SCHEMAS)
def test_every_text_of_the_language_is_valid(data: st.DataObject, schema: Any) -> None:
    try:
        taken = _lower(schema)
    except UnsupportedSchema:
        return
    assume(taken is not None)
    assert taken is not None
    text = data.draw(sentences(taken.ir, max_depth=20))
    repeated: list[bool] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.append(len(dict(items)) != len(items))
        return dict(items)

    value = json.loads(text, object_pairs_hook=pairs)
    assume(not any(repeated))  # that undeclared names differ is not enforced
    assert Draft202012Validator(schema).is_valid(value), (schema, text)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"not": {}}, [], [1, None, {}]),
        ({"not": {"type": ["string", "null"]}}, [1, True, [], {}], ["", None]),
        ({"type": "string", "not": {"enum": ["a", "b", 5]}}, ["", "c", "ab"], ["a", "b"]),
        ({"type": "string", "not": {"pattern": "^x"}, "maxLength": 2}, ["", "yx"], ["x", "xy", "yyy"]),
        ({"type": "string", "format": "date", "not": {"pattern": "-13$"}}, ["2024-09-12"], ["2024-09-13"]),
        ({"type": "number", "not": {"type": "integer"}}, [0.5, -1.25], [1, 0, -20]),
        ({"type": "integer", "not": {"multipleOf": 3}, "minimum": 0}, [1, 2, 4, 100], [0, 3, 99]),
        ({"type": "number", "not": {"enum": [0, 1]}}, [0.5, -1, 2], [0, 1]),
        ({"type": "object", "not": {"required": ["a"]}}, [{}, {"b": 1}], [{"a": 1}, {"b": 1, "a": 2}]),
        ({"type": "object", "not": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}}, [{}], [{"b": 1}]),
        (
            {"type": "object", "not": {"properties": {"a": {"const": 1}}, "required": ["a"]}},
            [{}, {"a": 2}, {"b": 1}],
            [{"a": 1}, {"a": 1, "b": 2}],
        ),
        ({"type": "array", "not": {"items": {"type": "integer"}}}, [["a"], [1, "a"], [1, None, 2]], [[], [1], [1, 2]]),
        (
            {"type": "object", "not": {"additionalProperties": False, "properties": {"a": True}}},
            [{"b": 1}, {"a": 1, "b": 1}],
            [{}, {"a": 1}],
        ),
        ({"type": "array", "contains": {"const": 1}}, [[1], [2, 1], [1, 1, 3]], [[], [2]]),
        (
            {"type": "array", "contains": {"const": 1}, "minContains": 2, "maxContains": 3, "maxItems": 4},
            [[1, 1], [1, 2, 1], [1, 1, 1, 0]],
            [[1], [1, 1, 1, 1], [1, 1, 0, 0, 0]],
        ),
    ],
)
def test_what_is_negated_or_counted(schema: Any, good: list[Any], bad: list[Any]) -> None:
    taken = _lower(schema)
    assert [value for value in good if taken is None or not taken.takes_value(value)] == []
    assert [value for value in bad if taken is not None and taken.takes_value(value)] == []


def test_one_of_that_overlaps_is_cut() -> None:
    taken = language({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]})
    assert [value for value in (1, 3, 4, 3.5, 2.5) if taken.takes_value(value)] == [1, 3.5]
    a, b = {"required": ["a"]}, {"required": ["b"]}
    taken = language({"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [a, b]})
    assert [taken.takes_value(value) for value in ({}, {"a": 1}, {"b": 1}, {"a": 1, "b": 1})] == [
        False,
        True,
        True,
        False,
    ]


def test_choices() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer"}},
        "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
        "then": {"required": ["n"]},
        "else": {"properties": {"n": False}},
        "dependentRequired": {"card": ["kind"]},
        "dependentSchemas": {"card": {"properties": {"card": {"type": "string"}}}},
    }
    taken = language(schema)
    good = ({"kind": "a", "n": 1}, {"kind": "b"}, {}, {"kind": "b", "card": "x"}, {"kind": "a", "n": 1, "card": ""})
    bad = ({"kind": "a"}, {"kind": "b", "n": 1}, {"n": 1}, {"card": "x"}, {"kind": "b", "card": 1})
    assert all(any(taken.takes_value(order) for order in orders(value)) for value in good)
    assert not any(taken.takes_value(order) for value in bad for order in orders(value))
    older = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "dependencies": {"a": ["b"], "c": {"required": ["a"]}},
    }
    taken = language(older)
    values: tuple[Any, ...] = ({"a": 1}, {"a": 1, "b": 1}, {"c": 1}, {"c": 1, "a": 1, "b": 1}, 5)
    verdicts = [any(taken.takes_value(order) for order in orders(value)) for value in values]
    assert verdicts == [False, True, False, True, True]


def test_a_negation_of_itself_has_no_meaning() -> None:
    with pytest.raises(UnsupportedSchema, match="refers to the negation itself"):
        language({"not": {"$ref": "#"}})
    nested = language({"type": "object", "properties": {"a": {"not": {"$ref": "#"}}}, "required": ["a"]})
    assert nested.takes_value({"a": 1})
    assert not nested.takes_value({"a": {"a": 1}})
    assert nested.takes_value({"a": {"a": {"a": 1}}})


@pytest.mark.parametrize("text", ['[{"a":1}]', '[{"b":1}]', '[{"a":1},{"b":1}]', "[]", "[1]", '{"a":1}'])
def test_what_was_written_already_is_still_negated_whole(text: str) -> None:
    """One branch has items with some name that breaks a rule; the other is its negation."""
    schema = {"if": {"items": {"oneOf": [{}, {"propertyNames": {"pattern": "^a"}}]}}, "else": {}}
    assert language(schema).takes(text)
