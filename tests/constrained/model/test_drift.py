"""Drift is measured on what the exact model writes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from constrained.model import load_model
from constrained.model.cpu import WEIGHT_KINDS, packed_bytes
from constrained.model.drift import measure_drift
from constrained.testing.tiny import tiny_tokenizer, tiny_tokenizer_json

from .reference import transformers_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    transformers_model(vocab_size=tiny_tokenizer().size + 3).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(tiny_tokenizer_json(), encoding="utf-8")
    return tmp_path


def test_rounding_is_seen(folder: Path) -> None:
    lines: list[str] = []
    bf16, int8, exact = measure_drift(folder, kinds=("bf16", "int8", "fp32"), num_tokens=9, progress=lines.append)
    assert (bf16.weights, int8.weights) == ("bf16", "int8")
    assert exact.positions == exact.same_best == 36
    assert exact.largest_difference == 0
    assert math.isclose(exact.mean_divergence, 0, abs_tol=1e-9)
    assert 0 < bf16.largest_difference < int8.largest_difference < 1
    assert 0 < bf16.mean_divergence < int8.mean_divergence
    assert bf16.to_dict()["positions"] == 36
    assert lines[0] == "writing text with exact weights"
    assert "reading it with int8 weights" in lines


def test_weights_take_what_is_said(folder: Path) -> None:
    for kind in WEIGHT_KINDS:
        model = load_model(folder, device="cpu", weights=kind).model
        assert model.num_bytes == packed_bytes(model.config, kind=kind)
