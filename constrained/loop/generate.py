"""The generation loop.

A pass is paid only where the grammar leaves a choice: what it forces is appended at once and rides along with the pass
that the next choice needs, and what was copied from the prompt is checked by it. Rows share their passes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

from constrained.loop.decode import draw, forward
from constrained.loop.engine import Engine
from constrained.loop.forced import append_forced
from constrained.loop.prefill import begin
from constrained.loop.request import Request
from constrained.loop.row import Row, Step
from constrained.loop.schedule import RequestSource, Schedule, source_of
from constrained.loop.stop import close, stop_if_due
from constrained.processors import LogitsProcessor, Pipeline, standard_pipeline
from constrained.result import GenerationResult

__all__ = ["generate", "generate_tokens", "run_requests", "stream_text"]


def generate_tokens(
    engine: Engine,
    requests: Sequence[Request],
    *,
    processors: Sequence[LogitsProcessor] = (),
    hold_back: bool = False,
) -> Generator[Step, None, None]:
    """Generate all ``requests`` in step with each other, and yield each row's :class:`Step` as it comes.

    Rows share the passes, not their content: a row's output is that of its request alone. Where a text has no way on,
    tokens are taken back; none that was given out in a step. So what is inside a value that a guard will be asked about
    comes in one step when the value is finished, and with ``hold_back`` everything comes in a row's last step.

    Closing the generator early frees what it holds. Raises at once :class:`~constrained.errors.ContextTooLong` for a
    prompt that does not fit and :class:`~constrained.errors.BudgetTooSmall` for a budget that cannot be kept; while it
    runs, :class:`~constrained.errors.LogitsError` and :class:`~constrained.errors.DeadEnd`.
    """
    for request in requests:
        begin(Row.from_request(engine, request))
    steps = run_requests(
        engine, source_of(requests), processors=processors, hold_back=hold_back, batch_size=max(len(requests), 1)
    )
    return _raising(steps)


def run_requests(
    engine: Engine,
    source: RequestSource,
    *,
    batch_size: int,
    processors: Sequence[LogitsProcessor] = (),
    hold_back: bool = False,
) -> Generator[Step, None, None]:
    """As :func:`generate_tokens`, but requests join as earlier ones end, ``batch_size`` of them at a time.

    What goes wrong with a row is told by the ``error`` of its last step; the others go on.
    """
    schedule = Schedule(engine, source, batch_size=batch_size, hold_back=hold_back)
    return _run(engine, schedule, standard_pipeline(processors))


def _run(engine: Engine, schedule: Schedule, pipeline: Pipeline) -> Generator[Step, None, None]:
    try:
        while schedule.is_open:
            for row in schedule.join():
                yield _settle(row)
            rows = schedule.live
            forward(engine, rows)
            while ready := [row for row in rows if row.can_draw]:
                for row, token_id in draw(engine, pipeline, ready):
                    _take(row, token_id)
                    yield _settle(row)
                yield from (_settle(row) for row in ready if row.error)
    finally:
        schedule.release()


def _take(row: Row, token_id: int) -> None:
    """Add a drawn id to a row, or end the row with it."""
    row.sampled_tokens += 1
    with row.on_its_own():
        if row.matcher is not None:
            row.matcher.consume(token_id)
        is_end = token_id in row.engine.eos_token_ids if row.matcher is None else row.matcher.is_terminated
        if is_end:
            row.stop_reason = "eos"
        else:
            row.append(token_id)


def _settle(row: Row) -> Step:
    """Append what the grammar forces next, end the row if it is due, and say what the step added."""
    with row.on_its_own():
        if row.is_live:
            append_forced(row)
            stop_if_due(row)
        row.settle()
    return row.take_step(close(row))


def _raising(steps: Generator[Step, None, None]) -> Generator[Step, None, None]:
    """The steps, up to the first that tells of an error, which is raised."""
    with closing(steps):
        for step in steps:
            if step.error is not None:
                raise step.error
            yield step


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
