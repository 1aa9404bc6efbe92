"""What a pass costs: of several tokens, of several rows, and beside the reading of memory that it cannot do without.

`benchmarks.decode` prints these after its table.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
import torch

from constrained.model import CpuLlama
from constrained.model.weights import expected_shapes

Clock = Callable[[], float]

STEPS = 4
"""Passes that are timed together."""
_READ_BYTES = 2**29


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _fold(words: Any) -> int:
    folded = 0
    for word in words:
        folded ^= word
    return folded


class Reader:
    """Reads half a gigabyte and does next to nothing with it."""

    def __init__(self) -> None:
        self._words = np.ones(_READ_BYTES // 8, np.int64)
        _fold(self._words[:8])

    def bytes_per_second(self, clock: Clock) -> float:
        """Of one reading."""
        start = clock()
        _fold(self._words)
        return _READ_BYTES / (clock() - start)


def seconds_of_pass(model: CpuLlama, prompt: list[int], *, tokens: int, rows: int, clock: Clock) -> float:
    """One pass of ``tokens`` tokens for each of ``rows`` rows, that stand behind the prompt."""
    first = model.new_cache(1, len(prompt) + tokens)
    model.forward(torch.tensor([prompt]), first)
    caches = [first, *(first.fork() for _ in range(rows - 1))]
    inputs = [prompt[:tokens]] * rows
    model.forward_rows(inputs, caches)
    start = clock()
    for _ in range(STEPS):
        for cache in caches:
            cache.truncate(len(prompt))
        model.forward_rows(inputs, caches)
    return (clock() - start) / STEPS


def pass_figures(
    models: Sequence[CpuLlama], prompt: list[int], *, lengths: Sequence[int], batch: int, rounds: int, clock: Clock
) -> list[dict[str, Any]]:
    """For each model: milliseconds of a pass by its tokens, ratios to one token, and what a batch of rows gains."""
    reader = Reader()
    square = torch.ones(1024, 1024)
    matmul = []
    shapes = [(tokens, 1) for tokens in lengths] + [(1, batch)]
    seconds: dict[tuple[int, tuple[int, int]], list[float]] = {}
    shares: list[list[float]] = [[] for _ in models]
    for _ in range(rounds):
        for index, model in enumerate(models):
            for shape in shapes:
                took = seconds_of_pass(model, prompt, tokens=shape[0], rows=shape[1], clock=clock)
                seconds.setdefault((index, shape), []).append(took)
            least = model.num_bytes / reader.bytes_per_second(clock)
            shares[index].append(least / seconds[index, (1, 1)][-1])
        start = clock()
        square @ square
        matmul.append(2 * 1024**3 / (clock() - start))
    figures = []
    for index, model in enumerate(models):
        one, longest = seconds[index, (1, 1)], seconds[index, (lengths[-1], 1)]
        ratios = {shape: _median_ratio(seconds[index, shape], one) for shape in shapes}
        figures.append(
            {
                "weights": model.weights,
                "pass_ms": {
                    tokens: round(1e3 * statistics.median(seconds[index, (tokens, 1)]), 2) for tokens in lengths
                },
                "pass_ratio": {tokens: round(ratios[tokens, 1], 2) for tokens in lengths},
                "batch": batch,
                "batch_gain": round(batch / ratios[1, batch], 2),
                "share_of_bandwidth": round(statistics.median(shares[index]), 2),
                "gflops": round(_flops(model, lengths[-1]) / statistics.median(longest) / 1e9, 1),
                "torch_matmul_gflops": round(statistics.median(matmul) / 1e9, 1),
            }
        )
    return figures


def _flops(model: CpuLlama, tokens: int) -> int:
    """Of the products with all weights."""
    shapes = expected_shapes(model.config)
    looked_up = 0 if model.config.tie_word_embeddings else math.prod(shapes["model.embed_tokens.weight"])
    return 2 * tokens * (sum(map(math.prod, shapes.values())) - looked_up)


def _median_ratio(ours: Sequence[float], others: Sequence[float]) -> float:
    return statistics.median(mine / other for mine, other in zip(ours, others, strict=True))


def print_passes(figures: Sequence[dict[str, Any]]) -> None:
    """The figures for people."""
    for of_model in figures:
        passes = "   ".join(
            f"{tokens}: {of_model['pass_ms'][tokens]:.1f} ms ({ratio:.2f})"
            for tokens, ratio in of_model["pass_ratio"].items()
        )
        print(f"{of_model['weights']}: tokens of a pass {passes}")
        print(
            f"{of_model['weights']}: {of_model['batch']} rows at once give {of_model['batch_gain']:.2f} x the tokens a "
            f"second of one; one row takes {of_model['share_of_bandwidth']:.0%} of the memory's speed; "
            f"{max(of_model['pass_ms'])} tokens compute at {of_model['gflops']} GFLOP/s (torch's matmul: "
            f"{of_model['torch_matmul_gflops']})"
        )
