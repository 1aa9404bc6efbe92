"""The law of the front end: a text is allowed exactly if its value is valid. The judge is `jsonschema`."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from constrained.testing.strategies import sentences
from constrained.testing.strategies.schemas import json_schemas, json_values, near_instances
from grammars.errors import UnsatisfiableGrammar, UnsupportedSchema

from .texts import DUMPS, Language, language, orders

MAY_BE_REFUSED = {"oneOf", "anyOf", "minProperties", "maxProperties"}
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def examples(usual: int) -> int:
    """How many examples a law is tried on: ``CONSTRAINED_EXAMPLES``, where that is set."""
    return int(os.environ.get("CONSTRAINED_EXAMPLES", usual))


def _valid(schema: Any, value: Any) -> bool:
    try:
        return bool(Draft202012Validator(schema).is_valid(value))
    except RecursionError:  # the schema refers to itself in place, which has no meaning
        assume(False)
        raise


def _lower(schema: Any, whitespace: str) -> Language | None:
    """The language, ``None`` if it is empty; schemas refused by name are not tried."""
    try:
        return language(schema, whitespace)
    except UnsatisfiableGrammar:
        return None
    except UnsupportedSchema as error:
        if {problem.keyword for problem in error.problems} <= MAY_BE_REFUSED:
            assume(False)
        raise


@settings(max_examples=examples(60), deadline=None, suppress_health_check=SLOW)
@given(data=st.data(), schema=json_schemas(), whitespace=st.sampled_from(sorted(DUMPS)))
def test_values_are_taken_exactly_if_valid(data: st.DataObject, schema: Any, whitespace: str) -> None:
    taken = _lower(schema, whitespace)
    for _ in range(4):
        value = data.draw(near_instances(schema) | json_values())
        accepted = taken is not None and any(taken.takes_value(order) for order in orders(value))
        assert accepted == _valid(schema, value), (schema, value)


def _repeats_a_name(text: bytes) -> bool:
    repeated = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.append(len({name for name, _ in pairs}) < len(pairs))
        return dict(pairs)

    json.loads(text, object_pairs_hook=note)
    return any(repeated)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=SLOW)
@given(data=st.data(), schema=json_schemas(), whitespace=st.sampled_from(sorted(DUMPS)))
def test_every_text_of_the_language_is_valid(data: st.DataObject, schema: Any, whitespace: str) -> None:
    taken = _lower(schema, whitespace)
    assume(taken is not None)
    assert taken is not None
    text = data.draw(sentences(taken.ir))
    if not taken.takes(text):  # only a guard can tell, and sentences are drawn without asking it
        assert _repeats_a_name(text), (schema, text)
        return
    value = json.loads(text)
    assert _valid(schema, value), (schema, text)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=SLOW)
@given(data=st.data(), schema=json_schemas(), layout=st.sampled_from(("indent=2", "indent=0", "spaced", "compact")))
def test_fixed_layouts_are_what_json_dumps_writes(data: st.DataObject, schema: Any, layout: str) -> None:
    taken = _lower(schema, layout)
    assume(taken is not None)
    assert taken is not None
    text = data.draw(sentences(taken.ir, max_depth=20)).decode()
    assume(not _has_repeated_names(text))
    # numbers keep their text: a fraction such as 1.50 has several spellings, and only its place is looked at here
    value = json.loads(text, parse_float=_NumberText, parse_int=_NumberText)
    written = json.dumps(value, ensure_ascii=False, **DUMPS[layout])
    assert re.sub(r'"\ue000([^"]*)\ue000"', r"\1", written) == text


class _NumberText(str):
    """A number, marked so that it can be told from a string once it is written."""

    def __new__(cls, digits: str) -> _NumberText:
        return super().__new__(cls, f"\ue000{digits}\ue000")


def _has_repeated_names(text: str) -> bool:
    found = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        result = dict(items)
        found = found or len(result) != len(items)
        return result

    json.loads(text, object_pairs_hook=pairs)
    return found


@pytest.mark.parametrize("layout", sorted(DUMPS))
def test_any_value_in_every_layout(layout: str) -> None:
    taken = language(True, layout)
    for value in (None, [], {}, [[]], {"a": {}}, {"é\n": [1, {"b": None}], "c": "x\u007f\U0001f600"}, [1.5, -0.25e-7]):
        assert taken.takes_value(value), value
