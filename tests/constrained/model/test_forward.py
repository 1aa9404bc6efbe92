"""Our logits are transformers' logits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from constrained.model import LoadedModel
from constrained.model.llama import PREFILL_CHUNK

from .reference import (
    assert_same_logits,
    our_logits,
    ours_of,
    random_ids,
    transformers_logits,
    transformers_model,
)

LLAMA3_SCALING = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tied": {"tie_word_embeddings": True},
    "one key/value head": {"num_key_value_heads": 1},
    "a key/value head each": {"num_key_value_heads": 4},
    "wide heads": {"head_dim": 24},
    "narrow heads": {"head_dim": 4},
    "attention bias": {"attention_bias": True},
    "mlp bias": {"mlp_bias": True},
    "llama3 scaling": {"rope_parameters": {"rope_theta": 5000.0, **LLAMA3_SCALING}},
    "linear scaling": {"rope_parameters": {"rope_theta": 5000.0, "rope_type": "linear", "factor": 3.0}},
    "other epsilon": {"rms_norm_eps": 1e-2},
}


@pytest.mark.parametrize("fields", KINDS.values(), ids=KINDS)
def test_llama(fields: dict[str, Any]) -> None:
    reference = transformers_model(**fields)
    token_ids = random_ids(2, 130)
    assert_same_logits(our_logits(ours_of(reference), token_ids), transformers_logits(reference, token_ids))


@pytest.mark.parametrize("window", [None, 7, 50])
def test_mistral(window: int | None) -> None:
    reference = transformers_model(mistral=True, sliding_window=window)
    token_ids = random_ids(2, 130)
    assert_same_logits(our_logits(ours_of(reference), token_ids), transformers_logits(reference, token_ids))


@pytest.mark.parametrize("window", [3, 16])
def test_mistral_steps_look_back_one_window(window: int) -> None:
    reference = transformers_model(mistral=True, sliding_window=window)
    model = ours_of(reference)
    token_ids = random_ids(1, 40)
    cache = model.new_cache(1, 40)
    steps = [model.forward(token_ids[:, place : place + 1], cache) for place in range(40)]
    assert_same_logits(torch.stack(steps, dim=1), transformers_logits(reference, token_ids))


@settings(max_examples=25)
@given(
    groups=st.integers(1, 4),
    key_value_heads=st.integers(1, 3),
    half_head=st.integers(1, 8),
    layers=st.integers(1, 3),
    tied=st.booleans(),
    attention_bias=st.booleans(),
    mlp_bias=st.booleans(),
    length=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_shape(
    groups: int,
    key_value_heads: int,
    half_head: int,
    layers: int,
    tied: bool,
    attention_bias: bool,
    mlp_bias: bool,
    length: int,
    seed: int,
) -> None:
    heads = groups * key_value_heads
    reference = transformers_model(
        seed=seed,
        hidden_size=8 * heads,
        num_attention_heads=heads,
        num_key_value_heads=key_value_heads,
        head_dim=2 * half_head,
        num_hidden_layers=layers,
        tie_word_embeddings=tied,
        attention_bias=attention_bias,
        mlp_bias=mlp_bias,
    )
    token_ids = random_ids(2, length, seed=seed)
    assert_same_logits(our_logits(ours_of(reference), token_ids), transformers_logits(reference, token_ids))


def test_bfloat16_stays_as_close_as_transformers_does() -> None:
    reference = transformers_model(num_hidden_layers=3)
    token_ids = random_ids(2, 60)
    exact = transformers_logits(reference, token_ids)
    ours = our_logits(ours_of(reference, dtype=torch.bfloat16), token_ids)
    theirs = transformers_logits(reference.to(torch.bfloat16), token_ids)
    assert ours.dtype == torch.float32
    assert (ours - exact).abs().mean() < 1.5 * (theirs - exact).abs().mean()


@pytest.mark.real_model
def test_real_model(loaded_real_model: LoadedModel, real_model_files: Any) -> None:
    from transformers import LlamaForCausalLM

    reference = LlamaForCausalLM.from_pretrained(real_model_files, dtype=torch.float32).eval()
    tokenizer, model = loaded_real_model.tokenizer, loaded_real_model.model
    text = "Dear Ms. Okafor, invoice 2024-113 of 3 May is due: 1,240.50 EUR for 7 chairs. Grüße, 東京支店.\n\n{"
    chat = tokenizer.chat_prompt([{"role": "user", "content": "Name three rivers of France."}])
    for prompt in (tokenizer.tokenize(text), chat):
        token_ids = torch.tensor([prompt])
        expected = transformers_logits(reference, token_ids)
        assert_same_logits(our_logits(model, token_ids), expected)
        cache = model.new_cache(1, len(prompt))
        split = len(prompt) - 6
        model.forward(token_ids[:, :split], cache)
        for place in range(split, len(prompt)):
            assert_same_logits(model.forward(token_ids[:, place : place + 1], cache), expected[:, place])
    in_two_chunks = random_ids(1, PREFILL_CHUNK + 20, vocab_size=model.vocab_size)
    last = model.forward(in_two_chunks, model.new_cache(1, in_two_chunks.shape[1]))
    assert_same_logits(last, transformers_logits(reference, in_two_chunks)[:, -1])
