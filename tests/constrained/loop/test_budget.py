"""Budgets: an output that has to be closed always is, whatever the model wants."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grammars
from constrained.errors import BudgetTooSmall
from constrained.loop import Engine, Request, generate, generate_tokens
from constrained.loop.engine import TokenMatcher
from constrained.result import ForcedMode
from constrained.sampling_config import SamplingConfig
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from grammars.errors import NoShortestCompletion

from .fakes import FakeModel, FiniteMatcher, engine_of, vocabulary_of

EXAMPLES = int(os.environ.get("CONSTRAINED_EXAMPLES", "60"))
TOKENIZER = tiny_tokenizer()
ENGINE = Engine.from_model(tiny_llama(), TOKENIZER)
PROMPT = TOKENIZER.tokenize("the name")
MODES: list[ForcedMode] = ["canonical", "exact", "off"]

NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "user": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["name", "user"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "tree": {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
    "flat": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "total": {"type": "number"},
            "date": {"type": "string", "format": "date"},
            "age": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["name", "total", "date", "age"],
        "additionalProperties": False,
    },
    "list": {"type": "array", "items": {"type": "string", "minLength": 3}, "minItems": 2},
}
STYLES = ["indent=2", "compact", "any"]


@cache
def compiled(name: str, whitespace: str) -> grammars.CompiledGrammar:
    return grammars.compile_json_schema(SCHEMAS[name], ENGINE.vocabulary, whitespace=whitespace)


def shortest(matcher: Any) -> int:
    tokens = matcher.grammar.completions.tokens_to_end(matcher)
    assert isinstance(tokens, int)
    return tokens


@settings(max_examples=EXAMPLES)
@given(
    name=st.sampled_from(sorted(SCHEMAS)),
    style=st.sampled_from(STYLES),
    slack=st.integers(0, 40),
    mode=st.sampled_from(MODES),
    seed=st.integers(0, 10_000),
    temperature=st.sampled_from([0.0, 1.0, 5.0]),
    wish=st.sampled_from(
        ['{"name": "the the the the', '["the the', "[[[[[", '{"name": "", "user": [' * 3, "9" * 50, "\\n"]
    ),
    drafts=st.sampled_from([0, 8]),
)
def test_an_adversarial_model_always_ends_complete_within_the_budget(
    name: str, style: str, slack: int, mode: ForcedMode, seed: int, temperature: float, wish: str, drafts: int
) -> None:
    matcher = compiled(name, style).matcher()
    model = FakeModel(ENGINE.vocabulary.size, seed=seed, wish=TOKENIZER.tokenize(wish), prompt_length=len(PROMPT))
    request = Request(
        prompt_ids=PROMPT,
        matcher=matcher,
        max_tokens=shortest(matcher) + slack,
        on_budget="close",
        forced=mode,
        sampling=SamplingConfig(temperature=temperature, seed=seed, top_k=3 if seed % 3 == 0 else None),
        drafts=drafts,
    )
    result = generate(replace(ENGINE, model=model), request)
    assert result.complete
    assert len(result.token_ids) <= request.max_tokens
    jsonschema.validate(json.loads(result.text), SCHEMAS[name])


def test_a_budget_that_is_not_reached_changes_nothing() -> None:
    request = Request(prompt_ids=PROMPT, matcher=compiled("list", "compact").matcher(), max_tokens=90)
    for seed in range(6):
        sampling = SamplingConfig(temperature=1.0, seed=seed)
        cut = generate(ENGINE, replace(request, sampling=sampling))
        close = generate(ENGINE, replace(request, sampling=sampling, on_budget="close"))
        if close.usage.narrowed_masks == 0:
            assert (close.token_ids, close.stop_reason) == (cut.token_ids, cut.stop_reason)
        else:
            assert cut.stop_reason == "length" or len(cut.token_ids) > 60


def test_too_small_a_budget_is_refused_before_any_pass() -> None:
    matcher = compiled("flat", "compact").matcher()
    needed = shortest(matcher)
    model = FakeModel(ENGINE.vocabulary.size)
    engine = replace(ENGINE, model=model)
    request = Request(prompt_ids=[1], matcher=matcher, max_tokens=needed - 1, on_budget="close")
    with pytest.raises(
        BudgetTooSmall, match=rf"needs {needed} tokens, more than max_tokens={needed - 1}; raise max_tok"
    ) as caught:
        generate_tokens(engine, [request])
    assert (caught.value.shortest, caught.value.budget) == (needed, needed - 1)
    assert model.passes == []
    assert generate(engine, replace(request, max_tokens=needed)).complete


def test_the_context_is_a_budget_too() -> None:
    matcher = compiled("list", "compact").matcher()
    request = Request(prompt_ids=PROMPT, matcher=matcher, max_tokens=4000, on_budget="close")
    engine = replace(
        ENGINE, context_length=len(PROMPT) + 30, model=FakeModel(ENGINE.vocabulary.size, context_length=60)
    )
    result = generate(engine, request)
    assert result.complete
    assert len(result.token_ids) <= 30
    with pytest.raises(BudgetTooSmall, match=r"the 3 tokens that the model's context leaves; shorten the prompt"):
        generate(replace(engine, context_length=len(PROMPT) + 3), request)


@pytest.mark.parametrize("mode", MODES)
def test_closed_at_the_last_token_the_reason_is_length(mode: ForcedMode) -> None:
    grammar = grammars.compile_regex("(the )+", ENGINE.vocabulary)
    wish = TOKENIZER.tokenize("the the the the the the ")
    engine = replace(ENGINE, model=FakeModel(ENGINE.vocabulary.size, wish=wish, prompt_length=1))
    request = Request(prompt_ids=[1], matcher=grammar.matcher(), max_tokens=7, on_budget="close", forced=mode)
    result = generate(engine, request)
    assert (result.stop_reason, result.complete) == ("length", True)
    assert re.fullmatch("(the )+", result.text)
    assert result.usage.narrowed_masks > 0


def test_a_spent_time_budget_closes_or_cuts() -> None:
    matcher = compiled("list", "compact").matcher()
    wish = TOKENIZER.tokenize('["' + "the " * 300)
    model = FakeModel(ENGINE.vocabulary.size, wish=wish, prompt_length=1)
    request = Request(prompt_ids=[1], matcher=matcher, max_tokens=400, time_budget=0.05, forced="off")
    cut = generate(replace(ENGINE, model=model), request)
    assert (cut.stop_reason, cut.complete) == ("time", False)
    assert len(cut.token_ids) < 400
    closed = generate(replace(ENGINE, model=model), replace(request, on_budget="close"))
    assert closed.complete
    assert len(closed.token_ids) < 400
    jsonschema.validate(json.loads(closed.text), SCHEMAS["list"])


def test_a_free_text_is_cut_by_time_too() -> None:
    result = generate(ENGINE, Request(prompt_ids=PROMPT, max_tokens=4000, time_budget=0.05))
    assert result.stop_reason in ("time", "eos")


def test_what_cannot_be_closed_is_refused_by_name() -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    matcher = grammars.compile_json_schema(schema, ENGINE.vocabulary).matcher()
    with pytest.raises(NoShortestCompletion, match=r"uniqueItems.*on_budget=\"cut\""):
        generate(ENGINE, Request(prompt_ids=PROMPT, matcher=matcher, on_budget="close"))
    with pytest.raises(ValueError, match="on_budget: expected 'cut' for free text"):
        Request(prompt_ids=PROMPT, on_budget="close")
    vocabulary = vocabulary_of("a", "b")
    foreign: TokenMatcher = FiniteMatcher([b"ab"], vocabulary)
    with pytest.raises(TypeError, match="on_budget: 'close' needs a matcher of a compiled grammar, got FiniteMatcher"):
        generate(engine_of(vocabulary), Request(prompt_ids=[0], matcher=foreign, on_budget="close"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_budget": "stop"}, "on_budget: expected 'cut' or 'close', got str 'stop'"),
        ({"time_budget": 0}, "time_budget: expected seconds above 0, got 0"),
        ({"time_budget": float("nan")}, "time_budget: expected seconds above 0"),
        ({"drafts": 65}, "drafts: expected at most 64, got 65"),
    ],
)
def test_budgets_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Request(prompt_ids=[1], **options)
