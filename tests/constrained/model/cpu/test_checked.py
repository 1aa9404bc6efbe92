"""A model small enough for the checked mode, in which every access of the kernels is looked at.

`make test` runs this file twice: as checked Python, and compiled.
"""

from __future__ import annotations

import pytest
import torch

from constrained.model import CpuLlama
from constrained.model.cpu import WEIGHT_KINDS, WeightKind
from constrained.testing.tiny import tiny_llama

from .twin import twin_logits


@pytest.mark.parametrize("kind", WEIGHT_KINDS)
def test_bits_are_the_twins(kind: WeightKind) -> None:
    llama = tiny_llama(
        vocab_size=40, num_hidden_layers=1, hidden_size=20, intermediate_size=40, mlp_bias=True, sliding_window=30
    )
    model = CpuLlama.from_llama(llama, weights=kind)
    first, second = [3, 1, 4, 1, 5, 9, 2, 6] * 4, [2, 7, 1, 8]
    caches = [model.new_cache(1, 40), model.new_cache(1, 4)]
    got = model.forward_rows([first, second[:3]], caches, all_positions=True)
    rest = model.forward_rows([[9, 9], second[3:]], caches, all_positions=True)
    expected = [torch.from_numpy(twin_logits(llama, row, kind=kind)) for row in ([*first, 9, 9], second)]
    assert torch.equal(torch.cat([got[:32], rest[:2]]), expected[0])
    assert torch.equal(torch.cat([got[32:], rest[2:]]), expected[1])
