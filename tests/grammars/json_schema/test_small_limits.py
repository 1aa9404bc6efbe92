"""With hardly any room for automata nearly everything is checked instead, and the verdicts stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammars.errors import UnsatisfiableGrammar
from grammars.frontends.json_schema import arrays, complement, counted, in_place, names, string_languages, unevaluated

from . import test_counted_items, test_names, test_unevaluated
from .texts import language, orders

SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@pytest.fixture(autouse=True, scope="module")
def small_limits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_MAX_WITNESSED", 1)
        patch.setattr(names, "_MAX_SOME", 0)
        patch.setattr(names, "_MAX_CLASSES", 2)
        patch.setattr(complement, "_MAX_SHAPES", 1)
        patch.setattr(in_place, "_MAX_ALTERNATIVES", 1)
        patch.setattr(unevaluated, "_MAX_WAYS", 1)
        patch.setattr(arrays, "_MAX_COUNTS", 2)
        patch.setattr(counted, "_MAX_STATES", 2)
        patch.setattr(string_languages, "_MAX_PRODUCT", 1)
        yield


def assert_judged_alike(schema: Any, values: list[Any]) -> None:
    try:
        taken = language(schema)
    except UnsatisfiableGrammar:
        taken = None
    validator = Draft202012Validator(schema)
    for value in values:
        accepted = taken is not None and any(map(taken.takes_value, orders(value)))
        assert accepted == validator.is_valid(value), (schema, value)


@settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
@given(
    first=test_names.schemas(),
    second=test_names.schemas(),
    values=st.lists(test_names.INSTANCES, min_size=2, max_size=2),
)
def test_names_of_properties(first: Any, second: Any, values: list[Any]) -> None:
    for schema in ({"type": "object", "not": first}, {"oneOf": [first, second]}, {"anyOf": [first, second]}, first):
        assert_judged_alike(schema, values)


@settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
@given(
    first=test_counted_items.schemas(),
    second=test_counted_items.schemas(),
    values=st.lists(st.sampled_from(test_counted_items.ARRAYS), min_size=4, max_size=4),
)
def test_items(first: Any, second: Any, values: list[Any]) -> None:
    for schema in ({"allOf": [first, second]}, {"type": "array", "not": first}, {"oneOf": [first, second]}):
        assert_judged_alike(schema, values)


@settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
@given(
    inner=test_unevaluated._in_place(test_unevaluated._objects(), "unevaluatedProperties"),
    values=st.lists(st.sampled_from(test_unevaluated.OBJECTS), min_size=4, max_size=4),
)
def test_what_is_not_evaluated(inner: dict[str, Any], values: list[Any]) -> None:
    assert_judged_alike({**inner, "unevaluatedProperties": False}, values)


@settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
@given(
    first=test_names.schemas(),
    second=test_names.schemas(),
    third=test_names.schemas(),
    values=st.lists(test_names.INSTANCES, min_size=2, max_size=2),
)
def test_combinations_beyond_the_work_of_a_schema(first: Any, second: Any, third: Any, values: list[Any]) -> None:
    nested = {"oneOf": [{"allOf": [first, {"not": second}]}, {"anyOf": [second, third]}]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_place, "_MAX_WORK", 2)
        for schema in (nested, {"type": "object", "properties": {"a": nested}, "anyOf": [first, nested]}):
            assert_judged_alike(schema, values)
