"""Samples, the best of them, beams, whole choices and forbidden words, as callers ask for them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any

import pytest
import torch
from annotated_types import Predicate

from constrained import choice
from constrained.api import Model
from constrained.errors import DeadEnd, ValidationFailed
from constrained.model import LoadedModel
from constrained.testing.tiny import tiny_llama, tiny_tokenizer


@lru_cache(maxsize=1)
def model() -> Model:
    return Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))


def test_samples_are_those_of_their_streams() -> None:
    several = model().generate("hi", temperature=1.0, n=3, max_tokens=8)
    alone = model().generate("hi", temperature=1.0, max_tokens=8)
    assert len({sample.text for sample in several.samples}) == 3
    assert several.text == several.samples[0].text == alone.text
    assert alone.samples == ()


def test_the_best_of_many_have_the_highest_mean_log_probability() -> None:
    every = model().generate("hi", temperature=1.0, n=6, best_of=6, max_tokens=8).samples
    means = [sample.mean_logprob or -math.inf for sample in every]
    assert means == sorted(means, reverse=True)
    best = model().generate("hi", temperature=1.0, best_of=6, max_tokens=8)
    assert (best.text, best.samples) == (every[0].text, ())


def test_log_probabilities_are_those_of_the_tokens() -> None:
    result = model().generate("hi", {"enum": ["x", "yz"]}, top_logprobs=2)
    assert result.logprobs is not None
    assert [token.token_id for token in result.logprobs] == list(result.token_ids)
    assert "".join(token.text for token in result.logprobs) == result.text
    drawn = [token for token in result.logprobs if token.logprob is not None]
    assert drawn
    for token in drawn:
        assert token.unmasked_logprob is not None
        assert token.unmasked_logprob <= (token.logprob or 0.0) <= 0.0
        assert token.top[0][0] == token.token_id  # greedy
    # Where one token is allowed or two, their masked probabilities sum to 1.
    assert sum(math.exp(masked) for _, masked, _ in drawn[0].top) == pytest.approx(1.0, abs=1e-4)
    assert result.to_dict()["logprobs"][0]["token_id"] == result.token_ids[0]
    assert model().generate("hi", {"enum": ["x"]}).logprobs is None


@pytest.mark.parametrize("forced", ["canonical", "exact", "off"])
def test_the_weight_of_masks_is_zero_where_they_forbid_nothing(forced: Any) -> None:
    free = model().generate("hi", temperature=1.0, max_tokens=6, forced=forced)
    bound = model().generate("hi", {"enum": ["x", "yz"]}, temperature=1.0, forced=forced)
    assert -0.5 < free.log_weight <= 1e-5  # special tokens are never free
    assert bound.log_weight < -1.0


def test_beams_give_values_and_the_best_first() -> None:
    result = model().generate("hi", {"enum": ["x", "yz", "w"]}, num_beams=4, n=3, max_tokens=20)
    assert len({sample.value for sample in result.samples}) == 3
    scores = [(sample.mean_logprob or 0.0) * (len(sample.token_ids) + 1) for sample in result.samples]
    assert scores == sorted(scores, reverse=True)
    odd = Annotated[int, Predicate(lambda number: number > 10**9)]
    with pytest.raises(ValidationFailed, match="raise num_beams"):
        model().generate("hi", odd, num_beams=2, max_tokens=3)


def test_whole_choices_are_weighed_by_all_their_tokens() -> None:
    options = ["true", "trouble", "total", "x", "the total", "the value"]
    result = model().generate("hi", choice(options, score="sequence"))
    scores = result.choice_logprobs
    assert scores is not None
    assert sum(map(math.exp, scores.values())) == pytest.approx(1.0)
    assert result.value == max(options, key=scores.__getitem__)

    engine, prompt = model().engine, model().tokenizer.chat_prompt([{"role": "user", "content": "hi"}])
    wanted = {}
    for option in options:
        ids = model().tokenizer.tokenize(option)
        cache = engine.model.new_cache(1, len(prompt) + len(ids) + 1)
        logits = engine.model.forward_rows([[*prompt, *ids]], [cache], all_positions=True)
        logprobs = logits.double().log_softmax(1)
        places = range(len(prompt) - 1, len(prompt) + len(ids) - 1)
        score = sum(float(logprobs[place, token_id]) for place, token_id in zip(places, ids, strict=True))
        wanted[option] = score + float(logprobs[-1, sorted(engine.eos_token_ids)].logsumexp(0))
    total = torch.tensor(list(wanted.values())).logsumexp(0)
    for option in options:
        assert scores[option] == pytest.approx(wanted[option] - float(total), abs=1e-3)

    drawn = {
        model().generate("hi", choice(options, score="sequence"), temperature=3.0, seed=seed).value for seed in range(9)
    }
    assert len(drawn) > 1
    with pytest.raises(ValueError, match="stream: expected one text drawn token by token"):
        model().stream("hi", choice(options, score="sequence"))


def test_whole_choices_are_given_back_among_many_requests() -> None:
    from constrained import GenerationRequest

    wanted = choice(["true", "x"], score="sequence")
    (outcome,) = model().generate_many([GenerationRequest("hi", wanted)])
    assert outcome.value == model().generate("hi", wanted).value


def test_bad_words_are_not_written_however_they_are_cut() -> None:
    words = ["a", "e", "tr"]
    for output_type in (None, {"type": "string", "maxLength": 30}):
        for seed in range(6):
            result = model().generate("hi", output_type, temperature=1.5, bad_words=words, seed=seed, max_tokens=40)
            assert not any(word in result.text for word in words)
    with pytest.raises(DeadEnd, match="none of the bad words"):
        model().generate("hi", {"enum": ["abc"]}, bad_words=["b"])


@pytest.mark.parametrize("method", ["cars", "asap", "smc", "awrs"])
def test_whole_texts_are_drawn_with_values(method: Any) -> None:
    result = model().generate(
        "hi", choice(["x", "y", "z"]), temperature=1.0, sampling=method, max_draws=3000 if method == "cars" else 5, n=2
    )
    assert all(sample.value in ("x", "y", "z") for sample in result.samples)
    assert result.log_weight < 0.0
    with pytest.raises(ValueError, match="n, best_of, num_beams, sampling and whole choices are for generate"):
        model().stream("hi", temperature=1.0, sampling=method)
