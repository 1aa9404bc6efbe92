"""The audit finds what depends on the batch, and nothing where nothing does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from constrained.determinism.audit import BATCH_SIZES, audit_model
from constrained.determinism.auditing import audit_all
from constrained.determinism.operations import audit_operations
from constrained.loop import Engine
from constrained.model import CpuLlama
from constrained.testing.tiny import tiny_config, tiny_llama, tiny_tokenizer


class Leaky:
    """A model whose logits feel how many rows there are."""

    def __init__(self, model: CpuLlama) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward_rows(self, rows: Any, caches: Any, *, all_positions: bool = False) -> torch.Tensor:
        logits = self._model.forward_rows(rows, caches, all_positions=all_positions)
        return logits if len(rows) < 8 else logits * (1 + 2**-22)


@pytest.mark.parametrize("weights", ["fp32", "bf16", "int8"])
def test_our_own_numerics_are_invariant(weights: Any) -> None:
    model = CpuLlama.from_llama(tiny_llama(), weights=weights)
    found = audit_model(Engine.from_model(model, tiny_tokenizer()), num_tokens=24)
    assert found.is_invariant
    assert found.classes == ((1, *BATCH_SIZES),)
    assert found.distinct_outputs == (1, 1)
    assert {condition.kind for condition in found.conditions} == {"batch", "chunk", "slot", "capacity", "threads"}


def test_a_model_that_feels_its_batch_is_found() -> None:
    found = audit_model(Engine.from_model(Leaky(CpuLlama.from_llama(tiny_llama())), tiny_tokenizer()), num_tokens=24)
    assert not found.is_invariant
    different = {
        condition.value for condition in found.conditions if condition.kind == "batch" and condition.num_different
    }
    assert different == {size for size in BATCH_SIZES if size >= 8}
    assert found.classes[0] == (1, 2, 3, 4, 5, 7)


def test_operations_are_tried_at_every_size() -> None:
    for found in audit_operations(tiny_config()):
        assert sorted(size for sizes in found.classes for size in sizes) == [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 33, 64]
        assert found.is_invariant == (found.smallest_safe_tile == 1)


def test_the_same_weights_by_torch_stand_beside(folder: Path) -> None:
    found = audit_all(folder, num_tokens=20)
    assert found.invariant.is_invariant
    assert found.native is not None
    assert found.native.numerics == "native"
    assert found.to_dict()["invariant"]["is_invariant"] is True
