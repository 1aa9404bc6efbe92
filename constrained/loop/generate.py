"""The generation loop.

A pass is paid only where the grammar leaves a choice: what it forces is appended at once and rides along with the pass
that the next choice needs.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

from constrained.loop.decode import fill_token_bitmask, forward, step_context
from constrained.loop.engine import Engine
from constrained.loop.forced import append_forced
from constrained.loop.prefill import check_fits
from constrained.loop.request import Request
from constrained.loop.row import Row, Step
from constrained.loop.stop import close, stop_if_due
from constrained.processors import LogitsProcessor, Pipeline, standard_pipeline
from constrained.result import GenerationResult

__all__ = ["generate", "generate_tokens", "stream_text"]


def generate_tokens(
    engine: Engine, requests: Sequence[Request], *, processors: Sequence[LogitsProcessor] = ()
) -> Generator[Step, None, None]:
    """Generate all ``requests`` in step with each other, and yield each row's :class:`Step` as it comes.

    Rows share the steps, not their content: a row's output is that of its request alone. Closing the generator early
    frees what it holds. Raises at once :class:`~constrained.errors.ContextTooLong` for a prompt that does not fit;
    while it runs, :class:`~constrained.errors.LogitsError` and :class:`~constrained.errors.NoTokenAllowed`.
    """
    rows = [Row.from_request(engine, request, index=index) for index, request in enumerate(requests)]
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
    return [step.result for step in generate_tokens(engine, [request], processors=processors) if step.result][-1]


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
            drawn = pipeline.sample(step_context(engine, live, bitmask), logits)
            seconds = time.perf_counter() - started
            for row, token_id in zip(live, drawn, strict=True):
                row.note_step(seconds)
                _take(row, token_id)
                yield _settle(row)
    finally:
        for row in rows:
            row.release()


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
    return row.take_step(close(row))
