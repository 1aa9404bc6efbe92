"""A row's logits depend on its own tokens only, to the last bit: however the work is cut, shared out and laid out."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from constrained.errors import ContextTooLong
from constrained.model import CpuLlama, LlamaConfig, LoadedModel
from constrained.model.cpu import WEIGHT_KINDS, CpuCache, WeightKind
from constrained.model.cpu.plan import ROWS_AT_ONCE
from constrained.model.llama import PREFILL_CHUNK
from constrained.testing.tiny import tiny_llama

from ..reference import our_logits, random_ids

LENGTH = 75  # more than two blocks of the cache


@st.composite
def models(draw: st.DrawFn) -> CpuLlama:
    """Random weights in a random shape."""
    groups, kv_heads = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    fields: dict[str, Any] = {
        "num_attention_heads": groups * kv_heads,
        "num_key_value_heads": kv_heads,
        "head_dim": 2 * draw(st.integers(1, 20)),
        "hidden_size": draw(st.integers(1, 70)),
        "intermediate_size": draw(st.integers(1, 70)),
        "num_hidden_layers": draw(st.integers(1, 2)),
        "tie_word_embeddings": draw(st.booleans()),
        "attention_bias": draw(st.booleans()),
        "mlp_bias": draw(st.booleans()),
        "sliding_window": draw(st.none() | st.integers(1, 80)),
    }
    llama = tiny_llama(seed=draw(st.integers(0, 99)), vocab_size=97, **fields)
    model = CpuLlama.from_llama(llama, weights=draw(st.sampled_from(WEIGHT_KINDS)))
    model._plan[ROWS_AT_ONCE] = draw(st.integers(1, 8))  # as machines with fewer registers have it
    return model


def assert_same_bits(got: Tensor, expected: Tensor) -> None:
    assert got.shape == expected.shape
    assert torch.equal(got.contiguous().view(torch.int32), expected.contiguous().view(torch.int32))


def alone(model: CpuLlama, token_ids: Tensor) -> Tensor:
    """Logits (T, V) of one row, token by token, by one thread, a row at a time."""
    plain = CpuLlama(model.config, model._packed)
    plain._plan[ROWS_AT_ONCE] = 1
    cache = plain.new_cache(1, len(token_ids))
    return torch.cat([plain.forward(token_id.view(1, 1), cache) for token_id in token_ids])


@settings(max_examples=30)
@given(model=models(), rows=st.integers(1, 3), data=st.data())
def test_any_cutting_of_a_batch(model: CpuLlama, rows: int, data: st.DataObject) -> None:
    token_ids = random_ids(rows, LENGTH, seed=data.draw(st.integers(0, 99)))
    bounds = [0, *sorted(data.draw(st.sets(st.integers(1, LENGTH - 1), max_size=12))), LENGTH]
    cache = model.new_cache(rows, LENGTH + data.draw(st.integers(0, 200)))
    parts = [model.forward(token_ids[:, start:stop], cache, all_positions=True) for start, stop in pairwise(bounds)]
    row = data.draw(st.integers(0, rows - 1))
    assert_same_bits(torch.cat(parts, dim=1)[row], alone(model, token_ids[row]))


@settings(max_examples=30)
@given(model=models(), data=st.data())
def test_any_mixture_of_rows(model: CpuLlama, data: st.DataObject) -> None:
    """Rows of any length join, go back, share a beginning and go their own ways in the same passes."""
    token_ids = random_ids(4, LENGTH, seed=data.draw(st.integers(0, 99)))
    token_ids[1:, :20] = token_ids[0, :20]
    caches: dict[int, CpuCache] = {0: model.new_cache(1, LENGTH)}
    expected = [alone(model, row) for row in token_ids]
    for _ in range(data.draw(st.integers(1, 8))):
        for row in range(4):
            if row not in caches and caches[0].length <= 20 and data.draw(st.booleans()):
                caches[row] = caches[0].fork()
            elif row in caches and data.draw(st.integers(0, 4)) == 0:
                caches[row].truncate(data.draw(st.integers(0, caches[row].length)))
        counts = {row: data.draw(st.integers(0, min(20, LENGTH - cache.length))) for row, cache in caches.items()}
        taking = [row for row, count in counts.items() if count]
        if not taking:
            continue
        starts = {row: caches[row].length for row in taking}
        got = model.forward_rows(
            [token_ids[row, starts[row] : starts[row] + counts[row]].tolist() for row in taking],
            [caches[row] for row in taking],
            all_positions=True,
        )
        wanted = [expected[row][starts[row] : starts[row] + counts[row]] for row in taking]
        assert_same_bits(got, torch.cat(wanted))


@settings(max_examples=8)  # threads wait for each other, for long where other processes run
@given(model=models(), num_threads=st.integers(2, 5), cut=st.integers(1, LENGTH - 1))
def test_any_number_of_threads(model: CpuLlama, num_threads: int, cut: int) -> None:
    token_ids = random_ids(2, LENGTH)
    several = CpuLlama(model.config, model._packed, num_threads=num_threads)
    cache = several.new_cache(2, LENGTH)
    parts = [several.forward(part, cache, all_positions=True) for part in (token_ids[:, :cut], token_ids[:, cut:])]
    assert_same_bits(torch.cat(parts, dim=1), our_logits(model, token_ids))


def test_an_interrupt_leaves_no_thread_waiting() -> None:
    model = CpuLlama.from_llama(tiny_llama(vocab_size=97), num_threads=2)
    expected = model.forward(torch.tensor([[1, 2, 3]]), model.new_cache(1, 5))
    team, kernel = model._team, model._team._kernel
    ended = threading.Event()

    def interrupted(*arguments: Any) -> None:
        if arguments[-1] == 0:
            raise KeyboardInterrupt
        kernel(*arguments)
        ended.set()

    team._kernel = interrupted
    cache = model.new_cache(1, 5)
    with pytest.raises(KeyboardInterrupt):
        model.forward(torch.tensor([[1, 2, 3]]), cache)
    assert ended.wait(60)
    team._kernel = kernel
    assert cache.length == 0
    assert_same_bits(model.forward(torch.tensor([[1, 2, 3]]), cache), expected)


def test_long_rows_go_through_several_passes() -> None:
    model = CpuLlama.from_llama(tiny_llama(seed=1, vocab_size=97))
    rows = [random_ids(length, seed=length).tolist() for length in (PREFILL_CHUNK - 3, 5, PREFILL_CHUNK + 9, 1)]
    caches = [model.new_cache(1, len(row)) for row in rows]
    got = model.forward_rows(rows, caches)
    every = model.forward_rows(rows, [model.new_cache(1, len(row)) for row in rows], all_positions=True)
    ends = torch.tensor([len(row) for row in rows]).cumsum(0)
    assert_same_bits(got, every[ends - 1])
    assert_same_bits(got[2:3], model.forward(torch.tensor([rows[2]]), model.new_cache(1, len(rows[2]))))
    assert_same_bits(every[: len(rows[0])], our_logits(model, torch.tensor([rows[0]]))[0])
    assert [cache.length for cache in caches] == [len(row) for row in rows]


def test_wrong_rows_change_nothing() -> None:
    model = CpuLlama.from_llama(tiny_llama(vocab_size=97))
    short, long = model.new_cache(1, 2), model.new_cache(1, 9)
    for rows, caches, message in (
        ([[1, 2], [3, 4, 5]], [long, short], "3 tokens are needed"),
        ([[1, 2], [97]], [long, short], "expected ids from 0 to 96"),
        ([[1], []], [long, short], r"rows\[1\]: expected one token id at least"),
        ([[1], [2]], [long, long], "the same cache twice"),
    ):
        with pytest.raises((ValueError, ContextTooLong), match=message):
            model.forward_rows(rows, caches)
    with pytest.raises(ValueError, match=r"expected shape \(1, T\)"):
        model.forward(torch.zeros(2, 1, dtype=torch.int64), long)
    with pytest.raises(ContextTooLong, match="4,097 tokens"):
        model.new_cache(1, 4097)
    assert (short.length, long.length, long.num_bytes) == (0, 0, 0)


def test_a_fork_costs_no_memory_until_it_is_written_to() -> None:
    model = CpuLlama.from_llama(tiny_llama(vocab_size=97))
    cache = model.new_cache(1, 200)
    model.forward(random_ids(1, 70), cache)
    fork = cache.fork(capacity=80)
    assert (fork.length, fork.capacity) == (70, 80)
    assert (fork.addresses(0) == cache.addresses(0)).all()
    model.forward(torch.tensor([[5]]), fork)
    assert (fork.addresses(0) == cache.addresses(0)).tolist() == [True, True, False]
    with pytest.raises(ContextTooLong, match="70 tokens are needed and the KV cache holds 69"):
        cache.fork(capacity=69)


def test_logits_are_the_callers() -> None:
    model = CpuLlama.from_llama(tiny_llama(vocab_size=97))
    first = model.forward(torch.tensor([[1, 2]]), model.new_cache(1, 5))
    kept = first.clone()
    model.forward(torch.tensor([[7, 8, 9]]), model.new_cache(1, 5))
    assert torch.equal(first, kept)


@pytest.mark.real_model
@pytest.mark.parametrize("kind", WEIGHT_KINDS)
def test_real_model(loaded_real_model: LoadedModel, real_model_files: Any, kind: WeightKind) -> None:
    from constrained.model import load_model

    tokenizer = loaded_real_model.tokenizer
    model = load_model(real_model_files, device="cpu", weights=kind).model
    assert isinstance(model, CpuLlama)
    prompt = tokenizer.chat_prompt([{"role": "user", "content": "Name three rivers of France, and their lengths."}])
    token_ids = torch.tensor([prompt])
    expected = our_logits(model, token_ids)[0]
    for each in (model, CpuLlama(model.config, model._packed, num_threads=2)):
        cache, bounds = each.new_cache(1, 400), [0, 9, 10, 12, 15, 19, 24, 30, len(prompt)]
        parts = [each.forward(token_ids[:, start:stop], cache, all_positions=True) for start, stop in pairwise(bounds)]
        assert_same_bits(torch.cat(parts, dim=1)[0], expected)
        mates = [prompt[:20], prompt[5:], prompt]
        together = each.forward_rows(mates, [each.new_cache(1, 99) for _ in mates])
        assert_same_bits(together[[0, 2]], expected[[19, -1]])


def test_config_is_kept() -> None:
    llama = tiny_llama(vocab_size=97)
    model = CpuLlama.from_llama(llama, weights="int8", num_threads=2)
    assert isinstance(model.config, LlamaConfig)
    assert (model.weights, model.num_threads, model.vocab_size, model.numerics) == ("int8", 2, 97, "invariant")
    assert model.num_bytes < llama.num_bytes / 2


@pytest.mark.parametrize("kind", [None, *WEIGHT_KINDS])
def test_a_digest_names_the_weights(kind: WeightKind | None) -> None:
    def digest(seed: int, change: float = 0.0) -> str:
        llama = tiny_llama(seed=seed, vocab_size=97)
        llama.blocks[1].mlp.down.weight[3, 5] += change
        return llama.weights_digest if kind is None else CpuLlama.from_llama(llama, weights=kind).weights_digest

    assert digest(1) == digest(1)
    assert len({digest(1), digest(2), digest(1, change=0.5)}) == 3
