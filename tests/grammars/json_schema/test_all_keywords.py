"""Laws over all keywords of all drafts: what masks let through is valid, and what is valid is let through.

The judge is `jsonschema`. ``CONSTRAINED_EXAMPLES`` says how many schemas each law is tried on.
"""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, seed, settings
from hypothesis import strategies as st
from jsonschema.validators import validator_for

from constrained.testing.budget import examples_of
from constrained.testing.judge import AGREED_FORMATS, JsonschemaJudge, formats_of
from constrained.testing.strategies.all_keywords import DRAFTS, FORMATS, KEYWORDS, keyword_pairs, keyword_schemas
from constrained.testing.strategies.instances import FORMAT_TEXTS, json_texts, schema_instances
from constrained.testing.walks import POLICIES, random_walk, walking_vocabulary
from grammars import CompiledGrammar, Matcher, UnsatisfiableGrammar, UnsupportedSchema, compile_json_schema
from grammars.frontends.json_schema.keywords import TABLES, Draft

from .texts import orders

laws = settings(max_examples=examples_of(), deadline=None, suppress_health_check=list(HealthCheck))
MOST_ORDERS = 24


@st.composite
def _schemas(draw: st.DrawFn) -> Any:
    draft = draw(st.sampled_from(list(DRAFTS)))
    most = draw(st.sampled_from((2, 4, 6, 10)))
    return draw(keyword_schemas(draft, max_keywords=most, max_depth=draw(st.integers(1, 3))))


def _means_formats(schema: Any) -> bool:
    """Whether `jsonschema` and the specification agree on the formats of a schema; if not, none is enforced."""
    return formats_of(schema) <= AGREED_FORMATS


def _compiled(schema: Any, order: Any = "any") -> CompiledGrammar | None:
    """The grammar, ``None`` if it is empty. A schema that is refused by name is not tried."""
    formats: Any = "assert" if _means_formats(schema) else "annotate"
    vocabulary = walking_vocabulary()
    try:
        return compile_json_schema(schema, vocabulary, whitespace="any", property_order=order, formats=formats)
    except UnsatisfiableGrammar:
        event("unsatisfiable")
        return None
    except UnsupportedSchema as error:
        event(f"refused: {error.problems[0].keyword}: {error.problems[0].reason}")
        assume(False)
        raise


def _judge(schema: Any) -> JsonschemaJudge:
    return JsonschemaJudge(schema, formats=_means_formats(schema))


def _accepts(grammar: CompiledGrammar | None, text: str) -> bool:
    if grammar is None:
        return False
    matcher = grammar.matcher()
    return matcher.consume_bytes(text.encode()) and matcher.is_accepting


@pytest.mark.parametrize("draft", DRAFTS)
def test_schemas_are_valid_and_every_pair_of_keywords_is_met(draft: str) -> None:
    pairs: set[tuple[str, str]] = set()

    @seed(4)
    @settings(laws, max_examples=60, database=None, phases=[Phase.generate])
    @given(keyword_schemas(draft, min_keywords=20, max_keywords=60, max_depth=0))
    def draw_many(schema: Any) -> None:
        validator_for(schema).check_schema(schema)
        pairs.update(keyword_pairs(schema, KEYWORDS[draft]))

    draw_many()
    missing = set(itertools.combinations(KEYWORDS[draft], 2)) - pairs
    # in the outermost schema, a $recursiveRef would be its own meaning
    assert not {pair for pair in missing if "$recursiveRef" not in pair}


def test_the_generator_knows_every_keyword() -> None:
    annotations = {"$defs", "definitions", "x-verbatim"}  # the last is ours
    for draft, known in zip(Draft, KEYWORDS.values(), strict=True):
        if draft == Draft.DRAFT2020:
            annotations = {*annotations, "additionalItems"}
        assert set(known) == set(TABLES[draft]) - annotations, draft
    assert set(FORMAT_TEXTS) == set(FORMATS)


@laws
@given(schema=_schemas(), number=st.integers(0, 2**32), order=st.sampled_from(("any", "schema")))
def test_finished_walks_are_valid(schema: Any, number: int, order: str) -> None:
    grammar = _compiled(schema, order)
    if grammar is None:
        return
    judge, random = _judge(schema), Random(number)
    for name in random.sample(sorted(POLICIES), 2):
        walk = random_walk(grammar.matcher(), random, policy=POLICIES[name], max_tokens=100)
        event(f"roll-backs: {min(walk.num_rollbacks, 3)}")
        assert not walk.finished or judge.takes(walk.text, repeated_names=True), (schema, walk.text)


@laws
@given(data=st.data(), schema=_schemas())
def test_instances_are_accepted_exactly_if_valid(data: st.DataObject, schema: Any) -> None:
    grammar, judge = _compiled(schema), _judge(schema)
    for _ in range(4):
        text = data.draw(json_texts(data.draw(schema_instances(schema))))
        valid = judge.takes(text)
        event(f"valid: {valid}")
        assert _accepts(grammar, text) == valid, (schema, text)


@laws
@given(data=st.data(), schema=_schemas())
def test_the_order_of_names_changes_no_verdict(data: st.DataObject, schema: Any) -> None:
    grammar = _compiled(schema)
    assume(grammar is not None)
    value = data.draw(schema_instances(schema))
    texts = [data.draw(json_texts(value, shuffled=False)) for value in orders(value, MOST_ORDERS)]
    assert len({_accepts(grammar, text) for text in texts}) == 1, (schema, texts)


@laws
@given(schema=_schemas(), number=st.integers(0, 2**32))
def test_masks_allow_exactly_what_can_be_consumed(schema: Any, number: int) -> None:
    grammar, random = _compiled(schema), Random(number)
    assume(grammar is not None)
    assert grammar is not None
    size = grammar.vocabulary.size

    def check(matcher: Matcher, allowed: list[int]) -> None:
        if random.random() < 0.15:
            taken = set(allowed)
            for token_id in {*random.sample(range(size), 60), *random.sample(allowed, min(10, len(allowed))), size - 1}:
                consumed = matcher.try_consume([token_id])
                matcher.rollback(consumed)
                assert (token_id in taken) == consumed, (schema, token_id)

    for name in random.sample(sorted(POLICIES), 2):
        random_walk(grammar.matcher(), random, policy=POLICIES[name], max_tokens=60, visit=check)
