"""Rows in slots, one pass for all: the same logits as each row alone. Without a GPU the pass runs uncaptured."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch

from constrained.errors import ContextTooLong
from constrained.model.cuda import CudaLlama, Slots
from constrained.model.llama import Llama
from constrained.testing.tiny import tiny_llama

SHAPES: list[dict[str, Any]] = [
    {},
    {"num_attention_heads": 4, "num_key_value_heads": 1},
    {"num_attention_heads": 4, "num_key_value_heads": 4},
    {"sliding_window": 5},
    {"attention_bias": True, "mlp_bias": True},
    {"tie_word_embeddings": False},
]


def pair(**changes: Any) -> tuple[Llama, CudaLlama]:
    model = tiny_llama(seed=1, **changes)
    return model, CudaLlama.from_llama(model)


def same(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("changes", SHAPES, ids=str)
def test_rows_that_share_passes_get_the_logits_of_rows_alone(changes: dict[str, Any]) -> None:
    alone, shared = pair(**changes)
    prompts = [[1, 2, 3, 4, 5, 6, 7, 8], [9], [4, 4, 4]]
    caches = [(alone.new_cache(1, 20), shared.new_cache(1, 20 + row)) for row in range(3)]
    same(
        alone.forward_rows(prompts, [one for one, _ in caches]),
        shared.forward_rows(prompts, [other for _, other in caches]),
    )
    for step in range(8):
        live = [row for row in range(3) if (step + row) % 3 or step < 2]  # rows sit out in turn
        ids = [[10 + step + row] for row in live]
        same(
            alone.forward_rows(ids, [caches[row][0] for row in live]),
            shared.forward_rows(ids, [caches[row][1] for row in live]),
        )
    assert [one.length for one, _ in caches] == [other.length for _, other in caches]


@pytest.mark.parametrize("all_positions", [False, True])
def test_rows_of_one_token_share_a_pass_beside_longer_ones(all_positions: bool) -> None:
    alone, shared = pair()
    caches = [(alone.new_cache(1, 20), shared.new_cache(1, 20)) for _ in range(4)]
    for rows in ([[1, 2], [3], [4, 5, 6], [7]], [[8], [9, 1], [2], [3]], [[4], [5], [6], [7, 7]]):
        same(
            alone.forward_rows(rows, [one for one, _ in caches], all_positions=all_positions),
            shared.forward_rows(rows, [other for _, other in caches], all_positions=all_positions),
        )


def test_a_row_may_be_rolled_back_and_fill_its_cache() -> None:
    alone, shared = pair()
    one, other = alone.new_cache(1, 6), shared.new_cache(1, 6)
    for cache, model in ((one, alone), (other, shared)):
        model.forward_rows([[1, 2, 3, 4]], [cache])
        model.forward_rows([[5]], [cache])
        cache.truncate(3)
        model.forward_rows([[6]], [cache])
        model.forward_rows([[7]], [cache])
    same(alone.forward_rows([[8]], [one]), shared.forward_rows([[8]], [other]))
    with pytest.raises(ContextTooLong):
        shared.forward_rows([[9]], [other])


def test_rows_keep_what_they_hold_when_the_block_grows() -> None:
    alone, shared = pair()
    one, other = alone.new_cache(1, 9), shared.new_cache(1, 9)
    same(alone.forward_rows([[1, 2, 3]], [one]), shared.forward_rows([[1, 2, 3]], [other]))
    others = [shared.new_cache(1, 40) for _ in range(3)]
    shared.forward_rows([[7], [8], [9]], others)
    same(alone.forward_rows([[4]], [one]), shared.forward_rows([[4]], [other]))


def test_a_slot_is_free_again_once_its_row_is_forgotten() -> None:
    slots = Slots(tiny_llama().config, device=torch.device("cpu"), dtype=torch.float32)
    first, second = slots.take(4), slots.take(4)
    del first
    gc.collect()
    assert slots.take(4).slot == 0
    assert second.slot == 1


def test_a_cache_longer_than_the_context_is_refused() -> None:
    _, shared = pair()
    with pytest.raises(ContextTooLong):
        shared.new_cache(1, shared.config.max_position_embeddings + 1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="captures a graph: needs CUDA")
def test_graphs_give_the_logits_of_the_plain_pass() -> None:
    model = tiny_llama(seed=1)
    on_device = Llama(model.config, device="cuda", dtype=torch.float32)
    on_device.load_state_dict(model.state_dict())
    shared = CudaLlama.from_llama(on_device)
    caches = [(model.new_cache(1, 30), shared.new_cache(1, 30)) for _ in range(3)]
    for step in range(20):
        ids = [[step + row] for row in range(3)]
        logits = shared.forward_rows(ids, [other for _, other in caches])
        same(model.forward_rows(ids, [one for one, _ in caches]), logits.cpu())
