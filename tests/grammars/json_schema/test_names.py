"""Names by pattern, ``propertyNames``, and counted properties; the judge is `jsonschema`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammars.errors import UnsatisfiableGrammar, UnsupportedSchema

from .texts import language, orders

NAMES = ("a", "ab", "b", "x-a", "x-", "", 'q"')
SCHEMAS = (True, False, {"type": "integer"}, {"type": "string"}, {"enum": [1, "s"]}, {"minimum": 2})
PATTERNS = ("^a", "^x-", "b$", "^", ".*", "^[ab]+$", '"')


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Object schemas with patterns, and perhaps a second one beside the first."""
    inner = st.sampled_from(SCHEMAS)
    schema: dict[str, Any] = {"type": "object"}
    if draw(st.booleans()):
        schema["properties"] = draw(st.dictionaries(st.sampled_from(NAMES), inner, max_size=3))
    if draw(st.booleans()):
        schema["patternProperties"] = draw(st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=3))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(inner)
    if draw(st.integers(0, 3)) == 0:
        schema["propertyNames"] = draw(
            st.sampled_from(({"maxLength": 2}, {"pattern": "a"}, {"enum": ["a", "x-"]}, False, {"minLength": 1}))
        )
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
    if draw(st.integers(0, 3)) == 0:
        schema["maxProperties"] = draw(st.integers(0, 3))
    if draw(st.integers(0, 3)) == 0:
        schema["minProperties"] = draw(st.integers(0, 3))
    if draw(st.integers(0, 3)) == 0:
        schema["allOf"] = [draw(schemas())]
    return schema


INSTANCES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from((1, 2, "s", None)), max_size=4)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=schemas(), instances=st.lists(INSTANCES, min_size=3, max_size=3))
def test_names_are_judged_one_by_one(schema: dict[str, Any], instances: list[dict[str, Any]]) -> None:
    try:
        taken = language(schema)
    except UnsatisfiableGrammar:
        taken = None
    except UnsupportedSchema as error:
        if {problem.keyword for problem in error.problems} != {"minProperties"}:
            raise
        return
    for instance in instances:
        accepted = taken is not None and any(taken.takes_value(order) for order in orders(instance))
        assert accepted == Draft202012Validator(schema).is_valid(instance), (schema, instance)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(first=schemas(), second=schemas(), instances=st.lists(INSTANCES, min_size=3, max_size=3))
def test_negated_names_and_names_told_apart(
    first: dict[str, Any], second: dict[str, Any], instances: list[dict[str, Any]]
) -> None:
    for schema in ({"type": "object", "not": first}, {"oneOf": [first, second]}):
        try:
            taken = language(schema)
        except UnsatisfiableGrammar:
            taken = None
        except UnsupportedSchema as error:
            if {problem.keyword for problem in error.problems} <= {"minProperties", "not", "oneOf"}:
                continue
            raise
        validator = Draft202012Validator(schema)
        for value in instances:
            accepted = taken is not None and any(map(taken.takes_value, orders(value)))
            assert accepted == validator.is_valid(value), (schema, value)


def test_declared_names_obey_their_patterns_too() -> None:
    schema = {
        "type": "object",
        "properties": {"size": {"type": "integer"}, "x-n": {"minimum": 3}},
        "patternProperties": {"^x-": {"type": "integer"}, "z": {"maximum": 5}},
        "additionalProperties": False,
    }
    taken = language(schema, "any")
    for text, good in (
        ('{"size":5,"x-n":3,"x-other":1}', True),
        ('{"size":6}', False),
        ('{"x-n":2}', False),
        ('{"x-n":3.5}', False),
        ('{"x-o\\u007A":6}', False),
        ('{"x-o\\u007A":4}', True),
        ('{"z":true}', True),
        ('{"other":1}', False),
    ):
        assert taken.takes(text) == good, text


def test_names_by_pattern_that_are_malformed_are_refused() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        language({"properties": {"a": {"patternProperties": {"(": True}}}})
    assert [(problem.pointer, problem.keyword) for problem in caught.value.problems] == [
        ("/properties/a", "patternProperties")
    ]


def test_counting_many_properties() -> None:
    many = {"type": "object", "properties": {f"p{index}": True for index in range(300)}, "additionalProperties": False}
    assert language(many | {"maxProperties": 2}).takes('{"p3":1,"p99":2}')
    assert not language(many | {"maxProperties": 2}).takes('{"p3":1,"p99":2,"p100":3}')
    names = [f'"p{index}":{index}' for index in range(101)]
    for whitespace in ("compact", "any"):  # too many states: a guard counts
        counted = language(many | {"maxProperties": 100}, whitespace)
        assert counted.takes("{" + ",".join(names[:100]) + "}")
        assert not counted.takes("{" + ",".join(names) + "}")
