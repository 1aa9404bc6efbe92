"""Drafts change the number of passes, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import grammars
from constrained.loop import Engine, PrefixCache, Request, generate
from constrained.loop.drafts import Drafter
from constrained.loop.row import Row
from constrained.processors import StepContext
from constrained.result import ForcedMode, GenerationResult
from constrained.sampling_config import SamplingConfig
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from grammars.vocabulary import Vocabulary

from .fakes import FakeModel, FiniteMatcher, engine_of, languages, vocabulary_of

TOKENIZER = tiny_tokenizer()
ENGINES = [Engine.from_model(tiny_llama(seed), TOKENIZER) for seed in range(2)]
MODES: list[ForcedMode] = ["canonical", "exact", "off"]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "user": {"type": "string"}, "total": {"type": "number"}},
    "required": ["name", "user", "total"],
    "additionalProperties": False,
}
DOCUMENT = "Invoice of Kettle and Vane\nuser: Carla Mendes of the house\ntotal 1056.40\n"
ANSWER = {"name": "Kettle and Vane", "user": "Carla Mendes of the house", "total": 1056.40}
GRAMMAR = grammars.compile_json_schema(SCHEMA, ENGINES[0].vocabulary)


def outcome(result: GenerationResult) -> tuple[Any, ...]:
    return result.token_ids, result.text, result.stop_reason, result.complete


class Pushed(Drafter):
    """Proposes whatever it is told, good or bad."""

    def __init__(self, drafts: list[list[int]]) -> None:
        self._drafts = drafts

    def propose(self, row: Row, *, limit: int) -> list[int]:
        draft = self._drafts.pop() if self._drafts else []
        return draft[: max(min(row.room - 1, limit), 0)]


@settings(max_examples=80)
@given(
    language=languages(),
    mode=st.sampled_from(MODES),
    temperature=st.sampled_from([0.0, 1.0, 3.0]),
    seed=st.integers(0, 99),
    limit=st.integers(1, 9),
    data=st.data(),
)
def test_any_drafts_at_all_give_the_ids_without(
    language: tuple[Vocabulary, list[bytes]],
    mode: ForcedMode,
    temperature: float,
    seed: int,
    limit: int,
    data: st.DataObject,
) -> None:
    vocabulary, texts = language
    engine = engine_of(vocabulary, seed=seed)
    matcher = FiniteMatcher(texts, vocabulary) if data.draw(st.booleans()) else None
    sampling = SamplingConfig(temperature=temperature, seed=seed)
    request = Request(prompt_ids=[0, 1], matcher=matcher, sampling=sampling, forced=mode, max_tokens=limit)
    plain = generate(engine, request)
    ids = st.integers(0, vocabulary.size - 1)
    true = [list(plain.token_ids[place : place + 3]) for place in range(len(plain.token_ids))]
    drafts = data.draw(st.lists(st.lists(ids, max_size=4) | st.sampled_from(true or [[]]), max_size=9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("constrained.loop.prefill.Drafter", lambda *_, **__: Pushed(drafts))
        drafted = generate(engine, replace(request, drafts=4))
    assert outcome(drafted) == outcome(plain)
    assert drafted.usage.sampled_tokens == plain.usage.sampled_tokens
    assert drafted.usage.forward_passes <= plain.usage.forward_passes
    assert drafted.usage.accepted_tokens <= drafted.usage.drafted_tokens


def wishing(prompt: list[int], text: str) -> Engine:
    """A model that wants to write a text."""
    wish = [*TOKENIZER.tokenize(text), ENGINES[0].vocabulary.eos_token_ids[0]]
    model = FakeModel(ENGINES[0].vocabulary.size, wish=wish, prompt_length=len(prompt))
    return replace(ENGINES[0], model=model)


@pytest.mark.parametrize("mode", MODES)
def test_values_are_copied_from_the_document(mode: ForcedMode) -> None:
    prompt = TOKENIZER.tokenize(DOCUMENT)
    engine = wishing(prompt, json.dumps(ANSWER, indent=2))
    request = Request(prompt_ids=prompt, matcher=GRAMMAR.matcher(), forced=mode, max_tokens=300)
    plain, drafted = generate(engine, request), generate(engine, replace(request, drafts=16))
    assert outcome(drafted) == outcome(plain)
    assert json.loads(plain.text) == ANSWER
    assert drafted.usage.accepted_tokens > 20
    assert drafted.usage.forward_passes < 0.6 * plain.usage.forward_passes


def test_free_text_is_copied_too() -> None:
    prompt = TOKENIZER.tokenize("Say it again: the name of the house and the total of the date. The name")
    text = " of the house and the total of the date."
    engine = wishing(prompt, text)
    request = Request(prompt_ids=prompt, max_tokens=80)
    plain, drafted = generate(engine, request), generate(engine, replace(request, drafts=8))
    assert outcome(drafted) == outcome(plain)
    assert plain.text == text
    assert drafted.usage.forward_passes < 0.6 * plain.usage.forward_passes


def test_drafts_that_bring_nothing_stop() -> None:
    document = "a" * 50 + "b" * 50
    prompt = TOKENIZER.tokenize("ab" + document)
    matcher = grammars.compile_regex("[ab]*", ENGINES[0].vocabulary).matcher()
    wish = "abbabaababbabaabab" * 10
    engine = wishing(prompt, wish)
    drafted = generate(engine, Request(prompt_ids=prompt, matcher=matcher, max_tokens=170, drafts=8))
    assert drafted.usage.drafted_tokens < 60


class Gaps:
    """Notes how far the two best allowed logits of each step are apart."""

    def __init__(self) -> None:
        self.least = float("inf")

    def __call__(self, context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        bits = (context.token_bitmask[:, :, None] >> np.arange(32)) & 1
        for row, words in enumerate(bits):
            allowed = torch.from_numpy(words.reshape(-1)[: context.vocab_size].astype(bool))
            best = logits[row, allowed].sort(descending=True).values
            if len(best) > 1:
                self.least = min(self.least, float(best[0] - best[1]))
        return logits


@settings(max_examples=25)
@given(
    engine=st.sampled_from(ENGINES),
    prompt=st.sampled_from([DOCUMENT, "the name", DOCUMENT * 4]),
    forced=st.sampled_from(["exact", "off"]),
    drafts=st.sampled_from([0, 1, 3, 8]),
    cached=st.booleans(),
    whitespace=st.sampled_from(["compact", "any"]),
)
def test_greedy_ids_are_the_same_with_every_combination(
    engine: Engine, prompt: str, forced: ForcedMode, drafts: int, cached: bool, whitespace: str
) -> None:
    grammar = grammars.compile_json_schema(SCHEMA, engine.vocabulary, whitespace=whitespace)
    gaps = Gaps()
    ids = TOKENIZER.tokenize(prompt)
    plain = Request(prompt_ids=ids, matcher=grammar.matcher(), forced="off", max_tokens=60)
    expected = generate(engine, plain, processors=[gaps])
    if gaps.least <= 1e-4:
        return
    if cached:
        engine = replace(engine, prefix_cache=PrefixCache(max_bytes=10**8))
        generate(engine, replace(plain, max_tokens=1))
    result = generate(engine, replace(plain, forced=forced, drafts=drafts))
    assert outcome(result) == outcome(expected)


def test_draws_have_the_same_law_with_and_without_drafts() -> None:
    vocabulary = vocabulary_of("a", "b", "c", "d")
    engine = engine_of(vocabulary, seed=5)
    counts: dict[int, Counter[tuple[int, ...]]] = {drafts: Counter() for drafts in (0, 4)}
    prompt = [0, 1, 2, 0, 1, 2, 0]
    for seed in range(1500):
        for drafts, seen in counts.items():
            # other seeds with drafts than without, or the draws would be the very same
            sampling = SamplingConfig(temperature=2.0, seed=seed + 100_000 * drafts)
            request = Request(prompt_ids=prompt, sampling=sampling, max_tokens=2, drafts=drafts)
            seen[generate(engine, request).token_ids] += 1
    keys = sorted({*counts[0], *counts[4]})
    table = np.array([[counts[drafts][key] for key in keys] for drafts in (0, 4)], float)
    table = table[:, table.sum(axis=0) >= 10]
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    degrees = table.shape[1] - 1
    assert statistic < degrees + 4 * (2 * degrees) ** 0.5  # about one in 30,000 by chance; the seeds are fixed
