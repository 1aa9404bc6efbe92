"""Arrays whose items are counted by ``contains``, several at once, and negated; the judge is `jsonschema`."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammars.errors import UnsatisfiableGrammar, UnsupportedSchema

from .texts import language

ITEMS = (True, False, {"type": "integer"}, {"enum": [1, "a"]}, {"minimum": 2}, {"const": "a"})
ARRAYS = [list(items) for size in range(5) for items in itertools.product((1, 2, "a"), repeat=size)]


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Schemas of arrays, perhaps with another beside."""
    schema: dict[str, Any] = {}
    inner = st.sampled_from(ITEMS)
    if draw(st.integers(0, 2)):
        schema["contains"] = draw(inner)
        for keyword in ("minContains", "maxContains"):
            if draw(st.booleans()):
                schema[keyword] = draw(st.integers(0, 3))
    if draw(st.integers(0, 2)) == 0:
        schema["prefixItems"] = draw(st.lists(inner, min_size=1, max_size=2))
    for keyword in ("items", "minItems", "maxItems"):
        if draw(st.integers(0, 3)) == 0:
            schema[keyword] = draw(inner if keyword == "items" else st.integers(0, 3))
    if draw(st.integers(0, 2)) == 0:
        schema["allOf"] = [draw(schemas())]
    return schema


@settings(max_examples=60, deadline=None)
@given(first=schemas(), second=schemas(), arrays=st.lists(st.sampled_from(ARRAYS), min_size=12, max_size=12))
def test_counts(first: dict[str, Any], second: dict[str, Any], arrays: list[Any]) -> None:
    for schema in ({"allOf": [first, second]}, {"type": "array", "not": first}, {"oneOf": [first, second]}):
        try:
            taken = language(schema)
        except UnsatisfiableGrammar:
            taken = None
        except UnsupportedSchema as error:
            if {problem.keyword for problem in error.problems} <= {"contains", "not", "oneOf"}:
                continue
            raise
        validator = Draft202012Validator(schema)
        for value in arrays:
            assert (taken is not None and taken.takes_value(value)) == validator.is_valid(value), (schema, value)


def test_too_many_are_a_guard() -> None:
    five = language({"type": "array", "allOf": [{"contains": {"const": value}} for value in range(5)]})
    assert five.takes("[4,2,0,1,3]")
    assert not five.takes("[4,2,0,1,1]")
    large = language({"contains": {"const": 1}, "minContains": 3000, "maxItems": 3001})
    assert large.takes("[" + ",".join(["1"] * 3000) + ",2]")
    assert not large.takes("[" + ",".join(["1"] * 2999) + ",2]")
