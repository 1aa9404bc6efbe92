"""The strategies of values and texts keep their promises, by judges that are not ours."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

import constrained
from constrained.testing.judge import JsonschemaJudge
from constrained.testing.strategies import (
    DRAFTS,
    instances,
    invalid_instances,
    logits,
    near_misses,
    regexes,
    schemas,
    vocabularies,
)
from constrained.testing.strategies.logits import LogitsKind
from grammars import Vocabulary

laws = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
search = settings(database=None, max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))

HARD: dict[str, Any] = {
    "recursion": {
        "$defs": {"node": {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/node"}}}}},
        "$ref": "#/$defs/node",
        "required": ["kids"],
    },
    "unevaluated": {
        "type": "object",
        "allOf": [{"properties": {"a": {"type": "integer"}}}],
        "unevaluatedProperties": False,
        "required": ["a"],
    },
    "prefix": {"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}], "items": False, "minItems": 2},
    "contains": {"type": "array", "contains": {"const": "x"}, "minContains": 2, "maxItems": 4},
    "condition": {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "type": "object", "minProperties": 1},
    "dependent": {"type": "object", "dependentRequired": {"a": ["b"]}, "required": ["a"]},
    "unique": {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    "pattern": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
    "one of": {"oneOf": [{"multipleOf": 3}, {"multipleOf": 5}], "type": "integer"},
    "not": {"type": "string", "not": {"pattern": "^a"}, "minLength": 1},
    "a nasty name": {"$defs": {"a/b~c": {"const": 7}}, "$ref": "#/$defs/a~1b~0c"},
}


@pytest.mark.parametrize("name", HARD)
def test_instances_and_what_is_none_of_hard_schemas(name: str) -> None:
    schema = HARD[name]
    plain = validator_for(schema, default=Draft202012Validator)(schema)

    @settings(laws, max_examples=15)
    @given(instances(schema), invalid_instances(schema))
    def judged(valid: Any, invalid: Any) -> None:
        assert plain.is_valid(valid)
        assert not plain.is_valid(invalid)

    judged()


@laws
@given(st.data())
def test_instances_of_any_schema_are_valid(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    judge = JsonschemaJudge(schema)
    value = data.draw(instances(schema, formats=False))
    assert judge.takes(json.dumps(value, ensure_ascii=False))


def test_a_schema_that_allows_nothing_has_no_instances() -> None:
    with pytest.raises(Unsatisfiable):
        find(instances({"enum": []}), lambda value: True, settings=search)
    assert invalid_instances(True).is_empty


def test_instances_shrink() -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 1}
    assert find(instances(schema), lambda value: len(value) > 1, settings=search) in ([0, 0], [1, 1], [0, 1])
    assert find(invalid_instances({"type": "integer"}), lambda value: isinstance(value, str), settings=search) == ""


@pytest.mark.parametrize("draft", DRAFTS)
def test_schemas_of_a_draft_with_few_keywords(draft: str) -> None:
    known = {"type", "enum", "$schema", "$defs", "definitions"} | {"minimum", "items"}

    @laws
    @given(schemas(draft=draft, keywords=["minimum", "items"]))
    def drawn(schema: Any) -> None:
        pending = [schema]
        while pending:
            inner = pending.pop()
            if isinstance(inner, dict):
                assert set(inner) <= known
                items = inner.get("items")
                pending += items if isinstance(items, list) else [items]

    drawn()


@pytest.mark.parametrize("arguments", [{"draft": "3"}, {"draft": "4", "keywords": ["const"]}, {"keywords": []}])
def test_what_there_is_not_is_refused_by_name(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"draft|keywords"):
        find(schemas(**arguments), lambda schema: True, settings=search)


@laws
@given(regexes())
def test_regexes_compile(pattern: str) -> None:
    re.compile(pattern)


@laws
@given(st.data(), regexes(flags=False))
def test_near_misses_of_a_regex_do_not_match_it(data: st.DataObject, pattern: str) -> None:
    def matches(text: bytes) -> bool:
        try:
            return re.fullmatch(pattern, text.decode()) is not None
        except UnicodeDecodeError:
            return False

    misses = near_misses(constrained.regex(pattern), soft_length=10)
    assume(not misses.is_empty)
    assert not matches(data.draw(misses))


def test_near_misses_in_any_order_need_a_judge() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "required": ["a", "b"]}
    anyhow = constrained.json_schema(schema, property_order="any")
    with pytest.raises(ValueError, match="is_member"):
        near_misses(anyhow)
    judge = JsonschemaJudge(schema)
    missed = find(near_misses(anyhow, is_member=judge.takes), lambda text: True, settings=search)
    assert not judge.takes(missed)


@pytest.mark.parametrize("complete", [True, False])
def test_sentencepiece_vocabularies_hold_whole_characters(complete: bool) -> None:
    @laws
    @given(vocabularies(kind="sentencepiece", complete=complete))
    def drawn(vocabulary: Vocabulary) -> None:
        assert vocabulary.tokens[:3] == (None, None, None)
        for token in vocabulary.tokens:
            if token and len(token) > 1:
                token.decode()

    drawn()


@pytest.mark.parametrize("kind", ["random", "adversarial", "greedy-trap"])
def test_logits_are_numbers_as_wide_as_the_vocabulary(kind: LogitsKind) -> None:
    @settings(laws, phases=[Phase.generate])
    @given(st.data(), vocabularies())
    def drawn(data: st.DataObject, vocabulary: Vocabulary) -> None:
        row = data.draw(logits(vocabulary, kind=kind))
        assert row.shape == (vocabulary.size,)
        assert row.dtype == np.float32
        assert not np.isnan(row).any()
        assert (row < np.inf).all()

    drawn()
