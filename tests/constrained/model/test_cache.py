"""However the same tokens reach the cache, the logits are those of one pass over all of them."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from constrained.errors import ContextTooLong
from constrained.model import Llama
from constrained.model.llama import PREFILL_CHUNK
from constrained.testing.tiny import tiny_llama

from .reference import assert_same_logits, our_logits, random_ids

LENGTH = 40
TOKEN_IDS = random_ids(2, LENGTH)
MODELS = {window: tiny_llama(seed=3, vocab_size=97, sliding_window=window) for window in (None, 9)}
WHOLE = {window: our_logits(model, TOKEN_IDS) for window, model in MODELS.items()}


@settings(max_examples=50)
@given(cuts=st.sets(st.integers(1, LENGTH - 1)), window=st.sampled_from([None, 9]), spare=st.integers(0, 9))
def test_any_cutting_gives_the_same_logits(cuts: set[int], window: int | None, spare: int) -> None:
    model = MODELS[window]
    cache = model.new_cache(2, LENGTH + spare)
    bounds = [0, *sorted(cuts), LENGTH]
    parts = [
        model.forward(TOKEN_IDS[:, start:stop], cache, all_positions=True) for start, stop in itertools.pairwise(bounds)
    ]
    assert_same_logits(torch.cat(parts, dim=1), WHOLE[window])
    assert cache.length == LENGTH


@settings(max_examples=50)
@given(
    detours=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 15)), max_size=4),
    window=st.sampled_from([None, 9]),
)
def test_rolling_back_leaves_no_trace(detours: list[tuple[int, int]], window: int | None) -> None:
    model = MODELS[window]
    cache = model.new_cache(2, LENGTH)
    other = random_ids(2, LENGTH, seed=9)
    for keep, wrong in detours:
        if cache.length < keep:
            model.forward(TOKEN_IDS[:, cache.length : keep], cache)
        kept = min(keep, cache.length)
        cache.truncate(kept)
        model.forward(other[:, :wrong], cache)
        cache.truncate(kept)
    rest = model.forward(TOKEN_IDS[:, cache.length :], cache, all_positions=True)
    assert_same_logits(rest, WHOLE[window][:, LENGTH - rest.shape[1] :])


def test_last_position_is_the_default() -> None:
    model = MODELS[None]
    last = model.forward(TOKEN_IDS, model.new_cache(2, LENGTH))
    assert last.shape == (2, 97)
    assert_same_logits(last, WHOLE[None][:, -1])


@pytest.mark.parametrize("length", [PREFILL_CHUNK - 1, PREFILL_CHUNK, PREFILL_CHUNK + 1, 2 * PREFILL_CHUNK + 3])
def test_long_prompts_run_in_chunks(length: int) -> None:
    model = MODELS[None]
    token_ids = random_ids(1, length)
    cache = model.new_cache(1, length)
    model.forward(token_ids[:, :-1], cache)
    step_by_step = model.forward(token_ids[:, -1:], cache)
    assert_same_logits(model.forward(token_ids, model.new_cache(1, length)), step_by_step)
    assert our_logits(model, token_ids).shape == (1, length, 97)


def test_rows_do_not_see_each_other() -> None:
    model = MODELS[None]
    for row in range(2):
        assert_same_logits(our_logits(model, TOKEN_IDS[row : row + 1]), WHOLE[None][row : row + 1])


def test_rows_of_any_length_run_together() -> None:
    model, caches = MODELS[None], [MODELS[None].new_cache(1, LENGTH) for _ in range(3)]
    ids = [TOKEN_IDS[0, :7].tolist(), TOKEN_IDS[1, :2].tolist(), TOKEN_IDS[1, :1].tolist()]
    last = model.forward_rows(ids, caches)
    assert_same_logits(last, torch.stack([WHOLE[None][0, 6], WHOLE[None][1, 1], WHOLE[None][1, 0]]))
    following = model.forward_rows([TOKEN_IDS[1, 1:4].tolist(), TOKEN_IDS[0, 7:8].tolist()], [caches[2], caches[0]])
    assert_same_logits(following, torch.stack([WHOLE[None][1, 3], WHOLE[None][0, 7]]))
    every = model.forward_rows([[*TOKEN_IDS[1, 2:4]], [*TOKEN_IDS[0, 8:9]]], [caches[1], caches[0]], all_positions=True)
    assert_same_logits(every, torch.cat([WHOLE[None][1, 2:4], WHOLE[None][0, 8:9]]))
    assert [cache.length for cache in caches] == [9, 4, 4]


def test_rows_that_do_not_fit_change_nothing() -> None:
    model = MODELS[None]
    short, long = model.new_cache(1, 2), model.new_cache(1, 9)
    for rows, caches, message in (
        ([[1, 2], [3, 4, 5]], [long, short], "3 tokens are needed"),
        ([[1, 2], [97]], [long, short], "expected ids from 0 to 96"),
        ([[1], []], [long, short], r"rows\[1\]: expected one token id at least"),
        ([[1]], [long, short], "as many rows as caches"),
        ([[1], [2]], [long, long], "the same cache twice"),
        ([[1]], [model.new_cache(2, 9)], "expected a cache of one row"),
    ):
        with pytest.raises((ValueError, ContextTooLong), match=message):
            model.forward_rows(rows, caches)
    assert (short.length, long.length) == (0, 0)


def test_logits_can_be_changed_in_place() -> None:
    model = MODELS[None]
    logits = model.forward(TOKEN_IDS, model.new_cache(2, LENGTH))
    logits[0, 0] = 5.0
    assert logits[0, 0] == 5.0
    assert not logits.requires_grad


def test_too_many_tokens_change_nothing() -> None:
    model = MODELS[None]
    cache = model.new_cache(2, 10)
    model.forward(TOKEN_IDS[:, :8], cache)
    with pytest.raises(ContextTooLong, match="11 tokens are needed and the KV cache holds 10") as caught:
        model.forward(TOKEN_IDS[:, 8:11], cache)
    assert (caught.value.needed, caught.value.available) == (11, 10)
    assert cache.length == 8
    assert_same_logits(model.forward(TOKEN_IDS[:, 8:9], cache), WHOLE[None][:, 8])


def test_a_cache_beyond_the_context_is_refused() -> None:
    with pytest.raises(ContextTooLong, match="4,097 tokens are needed and the model's context holds 4,096"):
        MODELS[None].new_cache(1, 4097)


@pytest.mark.parametrize("length", [-1, 6])
def test_truncate_only_shortens(length: int) -> None:
    model = MODELS[None]
    cache = model.new_cache(2, 10)
    model.forward(TOKEN_IDS[:, :5], cache)
    with pytest.raises(ValueError, match="holds 5 tokens"):
        cache.truncate(length)


@pytest.mark.parametrize(
    ("token_ids", "message"),
    [
        (torch.zeros(2, 0, dtype=torch.int64), "expected shape"),
        (torch.zeros(3, 1, dtype=torch.int64), "expected shape"),
        (torch.zeros(2, dtype=torch.int64), "expected shape"),
        (torch.tensor([[1], [97]]), "expected ids from 0 to 96, got 1 to 97"),
        (torch.tensor([[-1], [4]]), "expected ids from 0 to 96, got -1 to 4"),
    ],
)
def test_wrong_ids_are_named(token_ids: Tensor, message: str) -> None:
    model: Llama = MODELS[None]
    with pytest.raises(ValueError, match=message):
        model.forward(token_ids, model.new_cache(2, 4))


def test_tiny_model_depends_on_its_seed_only() -> None:
    again, other = tiny_llama(seed=3, vocab_size=97), tiny_llama(seed=4, vocab_size=97)
    assert torch.equal(our_logits(again, TOKEN_IDS), WHOLE[None])
    assert not torch.equal(our_logits(other, TOKEN_IDS), WHOLE[None])
