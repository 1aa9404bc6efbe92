"""The kernels give the bits that a slow twin gives, and what they round differs little from what is exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from constrained.model import CpuLlama
from constrained.model.cpu import WEIGHT_KINDS, WeightKind
from constrained.model.cpu.exact import fused
from constrained.model.cpu.lanewise import exponential_lanes
from constrained.testing.tiny import tiny_llama
from grammars.jit import kernel

from ..reference import assert_same_logits, our_logits, random_ids
from .twin import exponential, twin_logits

SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "untied, with biases, odd sizes": {
        "hidden_size": 37,
        "intermediate_size": 45,
        "num_attention_heads": 6,
        "head_dim": 10,
        "attention_bias": True,
        "mlp_bias": True,
        "tie_word_embeddings": False,
    },
    "a window": {"sliding_window": 9},
    "wide heads": {"head_dim": 40, "num_key_value_heads": 1, "num_hidden_layers": 1},
    "a key/value head each": {"num_key_value_heads": 4, "hidden_size": 96},
}
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("kind", WEIGHT_KINDS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_bits_are_the_twins(shape: dict[str, Any], kind: WeightKind) -> None:
    llama = tiny_llama(seed=5, vocab_size=67, **shape)
    token_ids = random_ids(1, 41, vocab_size=67)
    got = our_logits(CpuLlama.from_llama(llama, weights=kind), token_ids)[0]
    expected = torch.from_numpy(twin_logits(llama, token_ids[0].tolist(), kind=kind))
    assert torch.equal(got.view(torch.int32), expected.view(torch.int32))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_logits_are_torchs(shape: dict[str, Any]) -> None:
    llama = tiny_llama(seed=6, vocab_size=97, **shape)
    token_ids = random_ids(2, 130)
    expected = our_logits(llama, token_ids)
    assert_same_logits(our_logits(CpuLlama.from_llama(llama), token_ids), expected, tolerance=1e-4)
    for kind, most in (("bf16", 0.05), ("int8", 0.15)):
        rounded = our_logits(CpuLlama.from_llama(llama, weights=kind), token_ids)
        assert 0 < (rounded - expected).abs().mean() < most


@settings(max_examples=300)
@given(singles, singles, singles)
def test_one_rounding(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    got = float(fused(np.float32(a), np.float32(b), np.float32(c)))
    if math.isinf(got):
        assert abs(exact) > Fraction(float(np.finfo(np.float32).max))
        return
    below, above = (Fraction(float(np.nextafter(np.float32(got), np.float32(end)))) for end in (-3e38, 3e38))
    assert abs(exact - Fraction(got)) <= min(abs(exact - below), abs(exact - above))


@kernel
def _exponentials(x: Any) -> None:
    for place in range(0, x.shape[0], 32):
        exponential_lanes(x, place, np.float32(0))


def test_exponential() -> None:
    x = np.concatenate([np.linspace(-90, 88, 20_001), np.linspace(-1e-3, 1e-3, 101), [-np.inf]]).astype(np.float32)
    x = np.pad(x, (0, -len(x) % 32))
    got = x.copy()
    _exponentials(got)
    assert np.array_equal(got.view(np.int32), exponential(x).view(np.int32))
    inside = x >= -87
    exact = np.exp(x[inside].astype(np.float64))
    assert (np.abs(got[inside] - exact) <= 2 * np.spacing(exact.astype(np.float32))).all()
    assert not got[~inside].any()
