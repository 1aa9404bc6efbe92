"""A whole text that was drawn, and the result that is made of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from constrained.loop import Engine, Request
from constrained.result import GenerationResult, Usage

__all__ = ["DrawnText", "generator_of", "result_of"]


@dataclass(frozen=True, slots=True)
class DrawnText:
    """Token ids without the end token, and what they weigh."""

    token_ids: tuple[int, ...]
    log_weight: float
    """ln W: the log of the product of what the masks on its way allowed."""
    mean_logprob: float
    """Mean log-probability of its tokens, the end token too, before masks."""


def generator_of(request: Request, stream: int) -> np.random.Generator:
    """Randomness of its own for one seed and stream."""
    return np.random.Generator(np.random.Philox(key=np.array([request.sampling.seed, stream], np.uint64)))


def result_of(
    engine: Engine, request: Request, drawn: DrawnText, *, started: float, tokens: int, passes: int
) -> GenerationResult:
    """The result; ``tokens`` and ``passes`` count what it cost, discarded texts too."""
    text = b"".join(map(engine.token_bytes, drawn.token_ids)).decode("utf-8", "replace")
    seconds = time.perf_counter() - started
    return GenerationResult(
        text=text,
        token_ids=drawn.token_ids,
        stop_reason="eos",
        complete=True,
        usage=_usage(request, tokens, passes, seconds),
        log_weight=drawn.log_weight,
        mean_logprob=drawn.mean_logprob,
    )


def _usage(request: Request, tokens: int, passes: int, seconds: float) -> Usage:
    return Usage(
        prompt_tokens=len(request.prompt_ids),
        sampled_tokens=tokens,
        forced_tokens=0,
        forward_passes=passes,
        prefill_seconds=0.0,
        decode_seconds=seconds,
        mask_microseconds_mean=0.0,
        mask_microseconds_max=0.0,
        forced_mode="off",
    )


def log_sum_exp(values: Sequence[float]) -> float:
    """Log of the summed exponentials; -inf of none."""
    array = np.array(values, np.float64)
    top = array.max(initial=-np.inf)
    return float(top + np.log(np.exp(array - top).sum())) if top > -np.inf else -np.inf
