"""The loop with the real matcher, tokenizer and forward pass (a tiny seeded Llama)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import grammars
from constrained.loop import Engine, Request, generate, generate_tokens
from constrained.processors import StepContext
from constrained.result import ForcedMode
from constrained.sampling_config import SamplingConfig
from constrained.testing.tiny import tiny_llama, tiny_tokenizer

from .fakes import FakeModel

TOKENIZER = tiny_tokenizer()
ENGINES = [Engine.from_model(tiny_llama(seed), TOKENIZER) for seed in range(3)]
PROMPT = TOKENIZER.chat_prompt([{"role": "user", "content": "the name and the age"}])
MODES: list[ForcedMode] = ["canonical", "exact", "off"]

SCHEMAS: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 6},
            "kind": {"enum": ["invoice", "invoices", "mail", "été"]},
            "paid": {"type": "boolean"},
            "lines": {
                "type": "array",
                "maxItems": 2,
                "items": {
                    "type": "object",
                    "properties": {"total": {"type": "integer", "minimum": 0, "maximum": 999}},
                    "required": ["total"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["name", "kind", "paid", "lines"],
        "additionalProperties": False,
    },
    {"type": "array", "items": {"enum": [1, 10, None, True, "date"]}, "minItems": 1, "maxItems": 4},
    {"const": {"user": ["name", {"value": None}]}},
    {"anyOf": [{"type": "null"}, {"type": "string", "minLength": 1, "maxLength": 4}]},
]
REGEXES = [r"(the |of ){0,20}the name", r"\d{4}-\d{2}-\d{2}", r"日本|日食|naïve", r"a{0,20}b?"]

with_grammar = st.sampled_from(
    [("schema", place, whitespace) for place in range(len(SCHEMAS)) for whitespace in ("indent=2", "compact", "spaced")]
    + [("regex", place, "") for place in range(len(REGEXES))]
)
_compiled: dict[tuple[str, int, str], grammars.CompiledGrammar] = {}


def compiled(kind: str, place: int, whitespace: str) -> grammars.CompiledGrammar:
    key = (kind, place, whitespace)
    if key not in _compiled:
        vocabulary = ENGINES[0].vocabulary
        _compiled[key] = (
            grammars.compile_json_schema(SCHEMAS[place], vocabulary, whitespace=whitespace)
            if kind == "schema"
            else grammars.compile_regex(REGEXES[place], vocabulary)
        )
    return _compiled[key]


def assert_in_language(text: str, kind: str, place: int) -> None:
    if kind == "regex":
        assert re.fullmatch(REGEXES[place], text)
    else:
        jsonschema.validate(json.loads(text), SCHEMAS[place])


@settings(deadline=None)
@given(
    grammar=with_grammar,
    mode=st.sampled_from(MODES),
    seed=st.integers(0, 10_000),
    temperature=st.sampled_from([0.0, 1.0, 4.0]),
)
def test_random_logits_never_leave_the_language(
    grammar: tuple[str, int, str], mode: ForcedMode, seed: int, temperature: float
) -> None:
    engine = replace(ENGINES[0], model=FakeModel(ENGINES[0].vocabulary.size, seed=seed))
    request = Request(
        prompt_ids=PROMPT,
        matcher=compiled(*grammar).matcher(),
        sampling=SamplingConfig(temperature=temperature, seed=seed),
        forced=mode,
        max_tokens=200,
    )
    result = generate(engine, request)
    witness = compiled(*grammar).matcher()
    assert witness.try_consume(result.token_ids) == len(result.token_ids)
    if result.complete:
        assert_in_language(result.text, *grammar[:2])
    else:
        assert (result.stop_reason, len(result.token_ids)) == ("length", 200)


@settings(deadline=None, max_examples=40)
@given(grammar=with_grammar, engine=st.sampled_from(ENGINES), mode=st.sampled_from(MODES), seed=st.integers(0, 99))
def test_a_llama_writes_the_language_and_repeats_itself(
    grammar: tuple[str, int, str], engine: Engine, mode: ForcedMode, seed: int
) -> None:
    request = Request(
        prompt_ids=PROMPT,
        matcher=compiled(*grammar).matcher(),
        sampling=SamplingConfig(temperature=1.0, top_p=0.95, seed=seed),
        forced=mode,
        max_tokens=300,
    )
    result = generate(engine, request)
    assert result.complete
    assert_in_language(result.text, *grammar[:2])
    assert generate(engine, request).token_ids == result.token_ids


class Gaps:
    """Notes how far the two best allowed logits of each step are apart."""

    def __init__(self) -> None:
        self.least = float("inf")

    def __call__(self, context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        bits = (context.token_bitmask[0, :, None] >> torch.arange(32).numpy()) & 1
        allowed = torch.from_numpy(bits.reshape(-1)[: context.vocab_size].astype(bool))
        best = logits[0, allowed].sort(descending=True).values
        if len(best) > 1:
            self.least = min(self.least, float(best[0] - best[1]))
        return logits


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("place", range(len(SCHEMAS)))
def test_exact_gives_the_ids_of_plain_decoding(engine: Engine, place: int) -> None:
    gaps = Gaps()
    plain = Request(
        prompt_ids=PROMPT, matcher=compiled("schema", place, "indent=2").matcher(), forced="off", max_tokens=300
    )
    off = generate(engine, plain, processors=[gaps])
    exact = generate(engine, replace(plain, forced="exact"))
    assert gaps.least > 1e-4, "the two best logits are too near each other to compare; take another seed"
    assert exact.token_ids == off.token_ids
    assert exact.usage.forward_passes < off.usage.forward_passes
    assert exact.usage.forced_tokens > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_and_punctuation_cost_no_pass(engine: Engine) -> None:
    request = Request(prompt_ids=PROMPT, matcher=compiled("schema", 0, "indent=2").matcher(), max_tokens=300)
    canonical, off = generate(engine, request), generate(engine, replace(request, forced="off"))
    assert canonical.complete
    assert off.complete
    assert canonical.usage.forward_passes < 0.7 * off.usage.forward_passes
    assert canonical.usage.forced_tokens > canonical.usage.sampled_tokens


def test_a_constant_needs_no_pass_and_is_written_as_the_tokenizer_writes_it() -> None:
    result = generate(ENGINES[0], Request(prompt_ids=PROMPT, matcher=compiled("schema", 2, "spaced").matcher()))
    text = '{"user": ["name", {"value": null}]}'
    assert (result.text, result.stop_reason, result.usage.forward_passes) == (text, "grammar", 0)
    assert list(result.token_ids) == TOKENIZER.tokenize(text)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_forced_where_the_text_may_end(mode: ForcedMode) -> None:
    vocabulary = ENGINES[0].vocabulary
    grammar = grammars.compile_regex("the name(: the date)?", vocabulary)
    wish = [*TOKENIZER.tokenize("the name"), vocabulary.eos_token_ids[0]]
    model = FakeModel(vocabulary.size, wish=wish, prompt_length=1)
    result = generate(replace(ENGINES[0], model=model), Request(prompt_ids=[1], matcher=grammar.matcher(), forced=mode))
    assert (result.text, result.stop_reason, result.complete) == ("the name", "eos", True)


def test_rows_with_and_without_a_grammar_share_the_steps() -> None:
    engine = ENGINES[1]
    requests = [
        Request(prompt_ids=PROMPT, matcher=compiled("schema", 1, "compact").matcher(), max_tokens=60),
        Request(prompt_ids=TOKENIZER.tokenize("the"), sampling=SamplingConfig(temperature=1.0, seed=4), max_tokens=25),
        Request(prompt_ids=PROMPT[:5], matcher=compiled("regex", 1, "").matcher(), forced="exact"),
    ]
    together = {step.row: step.result for step in generate_tokens(engine, requests) if step.result}
    for row, request in enumerate(requests):
        alone, in_batch = generate(engine, request), together[row]
        assert in_batch is not None
        assert (in_batch.token_ids, in_batch.stop_reason) == (alone.token_ids, alone.stop_reason)


@settings(deadline=None, max_examples=60)
@given(grammar=with_grammar, seed=st.integers(0, 10_000), temperature=st.sampled_from([0.0, 2.0]))
def test_forced_ids_are_those_that_the_tokenizer_writes_after_their_left_context(
    grammar: tuple[str, int, str], seed: int, temperature: float
) -> None:
    engine = replace(ENGINES[0], model=FakeModel(ENGINES[0].vocabulary.size, seed=seed))
    sampling = SamplingConfig(temperature=temperature, seed=seed)
    request = Request(prompt_ids=PROMPT, matcher=compiled(*grammar).matcher(), sampling=sampling, max_tokens=200)
    matcher, written = compiled(*grammar).matcher(), list(PROMPT)
    for step in generate_tokens(engine, [request]):
        if step.result is not None and step.result.stop_reason == "length":
            break  # cut off in the middle of forced text
        drawn = len(step.token_ids) - step.num_forced
        assert matcher.try_consume(step.token_ids[:drawn]) == drawn
        written += step.token_ids[:drawn]
        rest = list(step.token_ids[drawn:])
        while rest:
            expected = _as_the_tokenizer_writes(written, matcher.forced_bytes())
            same = 0
            while same < min(len(rest), len(expected)) and rest[same] == expected[same]:
                same += 1
            if same == 0:  # no token of the tokenizer's begins here: then it is the only one that is allowed
                assert matcher.allowed_token_ids() == [rest[0]]
                same = 1
            assert matcher.try_consume(rest[:same]) == same
            written += rest[:same]
            del rest[:same]


def _as_the_tokenizer_writes(left_ids: list[int], forced: bytes) -> list[int]:
    """The ids of ``forced`` behind the text of ``left_ids``; none where a token reaches over the place."""
    tokens = ENGINES[0].vocabulary.tokens
    start = next((place for place in range(len(left_ids), 0, -1) if tokens[left_ids[place - 1]] is None), 0)
    left = b"".join(tokens[token_id] or b"" for token_id in left_ids[start:])
    ids = TOKENIZER.tokenize((left + forced).decode("utf-8", "ignore"))
    end = 0
    for place, token_id in enumerate(ids):
        if end == len(left):
            return ids[place:]
        end += len(tokens[token_id] or b"")
    return []
