"""The generation loop.

A pass is paid only where the grammar leaves a choice: what it forces is appended at once and rides along with the pass
that the next choice needs.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from constrained.loop.decode import fill_token_bitmask, forward, step_context
from constrained.loop.engine import Engine
from constrained.loop.forced import append_forced
from constrained.loop.prefill import check_fits
from constrained.loop.request import Request
from constrained.loop.roll_back import go_back, is_stuck
from constrained.loop.row import Row, Step
from constrained.loop.stop import close, stop_if_due
from constrained.processors import LogitsProcessor, Pipeline, standard_pipeline
from constrained.result import GenerationResult

__all__ = ["generate", "generate_tokens", "stream_text"]


def generate_tokens(
    engine: Engine,
    requests: Sequence[Request],
    *,
    processors: Sequence[LogitsProcessor] = (),
    hold_back: bool = False,
) -> Generator[Step, None, None]:
    """Generate all ``requests`` in step with each other, and yield each row's :class:`Step` as it comes.

    Rows share the steps, not their content: a row's output is that of its request alone. Where a text has no way on,
    tokens are taken back; none that was given out in a step. So what is inside a value that a guard will be asked about
    comes in one step when the value is finished, and with ``hold_back`` everything comes in a row's last step.

    Closing the generator early frees what it holds. Raises at once :class:`~constrained.errors.ContextTooLong` for a
    prompt that does not fit; while it runs, :class:`~constrained.errors.LogitsError` and
    :class:`~constrained.errors.DeadEnd`.
    """
    rows = [
        Row.from_request(engine, request, index=index, holds_back=hold_back) for index, request in enumerate(requests)
    ]
    for row in rows:
        check_fits(row)
    return _run(engine, rows, standard_pipeline(processors))


def generate(engine: Engine, request: Request, *, processors: Sequence[LogitsProcessor] = ()) -> GenerationResult:
    """Generate one request to its end; the errors of :func:`generate_tokens`.

    >>> from constrained.testing.tiny import tiny_llama, tiny_tokenizer
    >>> engine = Engine.from_model(tiny_llama(), tiny_tokenizer())
    >>> result = generate(engine, Request(prompt_ids=[1, 2, 3], max_tokens=5))
    >>> len(result.token_ids), result.stop_reason, result.complete
    (5, 'length', False)
    """
    steps = generate_tokens(engine, [request], processors=processors, hold_back=True)
    return [step.result for step in steps if step.result][-1]


def stream_text(engine: Engine, request: Request, *, processors: Sequence[LogitsProcessor] = ()) -> Iterator[str]:
    """Generate one request and yield its text as it comes, in pieces that are not empty."""
    return _texts(generate_tokens(engine, [request], processors=processors))


def _texts(steps: Generator[Step, None, None]) -> Iterator[str]:
    with closing(steps):
        for step in steps:
            if step.text:
                yield step.text


def _run(engine: Engine, rows: list[Row], pipeline: Pipeline) -> Generator[Step, None, None]:
    try:
        for row in rows:
            yield _settle(row)
        while live := [row for row in rows if row.is_live]:
            started = time.perf_counter()
            logits = forward(engine, live)  # (B, V); on an accelerator this only launches the pass
            bitmask = fill_token_bitmask(engine, live)  # (B, W), made meanwhile
            if any(map(is_stuck, bitmask)):
                live, logits, bitmask = _without_stuck(live, logits, bitmask)
                if not live:
                    continue
            drawn = pipeline.sample(step_context(engine, live, bitmask), logits)
            seconds = time.perf_counter() - started
            for row, token_id in zip(live, drawn, strict=True):
                row.note_step(seconds)
                _take(row, token_id)
                yield _settle(row)
    finally:
        for row in rows:
            row.release()


def _without_stuck(
    rows: list[Row], logits: Tensor, bitmask: NDArray[np.int32]
) -> tuple[list[Row], Tensor, NDArray[np.int32]]:
    """Let the rows that have no way on go back, for the next step; the others."""
    kept = [place for place in range(len(rows)) if not is_stuck(bitmask[place])]
    for row, words in zip(rows, bitmask, strict=True):
        if is_stuck(words):
            go_back(row)
    return [rows[place] for place in kept], logits[kept], bitmask[kept]


def _take(row: Row, token_id: int) -> None:
    """Add a drawn id to a row, or end the row with it."""
    row.sampled_tokens += 1
    if row.matcher is not None:
        row.matcher.consume(token_id)
    if token_id in row.engine.eos_token_ids:
        row.stop_reason = "eos"
    else:
        row.append(token_id)


def _settle(row: Row) -> Step:
    """Append what the grammar forces next, end the row if it is due, and say what the step added."""
    if row.is_live:
        append_forced(row)
        stop_if_due(row)
    row.settle()
    return row.take_step(close(row))
