"""The GPU benchmark runs from end to end on a small model, wherever the tests run."""

from __future__ import annotations

import argparse

from benchmarks.gpu import run


def test_every_section_of_the_gpu_benchmark_runs() -> None:
    result = run(argparse.Namespace(tiny=True, seconds=300.0, without_transformers=False))
    assert result["left_out"] == {}
    for name in ("prefill", "decode_1", "decode_2", "masked_1", "masked_2", "forced", "transformers_decode_1"):
        assert all(value > 0 for value in result[name].values()), name
    assert result["forced"]["canonical_passes"] < result["forced"]["off_passes"]
