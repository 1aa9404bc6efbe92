"""Many requests at once: they share the passes of the model, and each result is what it would be alone."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from grammars.errors import GrammarError

from .arguments import shown
from .errors import ConstrainedError, DeadEnd
from .loop import Request, Step, run_requests
from .output_types import InvalidText
from .result import GenerationResult

if TYPE_CHECKING:
    from .api import Model, Prompt
    from .job import Job
    from .processors import LogitsProcessor

__all__ = ["GenerationRequest", "Outcome", "in_order", "run_many"]


class GenerationRequest:
    """One of many requests: what :meth:`Model.generate` takes, to be run later. ``stream``: which draws of the seed.

    >>> request = GenerationRequest("Is the sky blue?", bool, seed=7)
    >>> request
    GenerationRequest('Is the sky blue?', bool, seed=7)
    """

    def __init__(self, prompt: Prompt, output_type: Any = None, *, stream: int = 0, **options: Any) -> None:
        self.prompt = prompt
        self.output_type = output_type
        self.stream = stream
        self.options: dict[str, Any] = options

    def __repr__(self) -> str:
        wanted = getattr(self.output_type, "__name__", repr(self.output_type))
        given = [repr(self.prompt), wanted, *(f"{name}={value!r}" for name, value in self.options.items())]
        return f"GenerationRequest({', '.join(given)})"


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one of many requests: a result, or the error that it alone ended with."""

    index: int
    """Of the request, from 0, in the order in which they were given."""
    error: Exception | None
    """``None`` where there is a result."""
    _result: GenerationResult | None

    @property
    def result(self) -> GenerationResult:
        """The result; the error is raised where there is none."""
        if self._result is None:
            assert self.error is not None
            raise self.error
        return self._result

    @property
    def value(self) -> Any:
        """The result's value."""
        return self.result.value


def in_order(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """The same by ascending index: each as soon as all before it are there."""
    waiting: dict[int, Outcome] = {}
    following = 0
    for outcome in outcomes:
        waiting[outcome.index] = outcome
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def run_many(
    model: Model, requests: Iterable[GenerationRequest], *, batch_size: int, processors: Sequence[LogitsProcessor]
) -> Iterator[Outcome]:
    """The outcomes as they come; each request is taken from the iterable when there is room for it."""
    run = _Run(model, requests)
    processors = (model.observer, *processors)  # it looks at those that are to be recorded, and no others
    steps = run_requests(model.engine, run.next_request, batch_size=batch_size, processors=processors, hold_back=True)
    try:
        for step in steps:
            run.note(step)
            yield from run.take()
    finally:
        steps.close()
    yield from run.take()


@dataclasses.dataclass(frozen=True, slots=True)
class _Draw:
    """One draw of a request that is on its way."""

    index: int
    job: Job
    attempt: int

    @property
    def request(self) -> Request:
        return self.job.draw(sample=0, attempt=self.attempt)


class _Run:
    """Which row belongs to which request, and which are to be drawn again."""

    def __init__(self, model: Model, requests: Iterable[GenerationRequest]) -> None:
        self._model = model
        self._requests = enumerate(requests)
        self._rows: list[_Draw] = []
        self._again: deque[_Draw] = deque()
        self._done: deque[Outcome] = deque()

    def next_request(self) -> Request | None:
        """What the next free row is to write; ``None`` if there is nothing now."""
        draw = self._again.popleft() if self._again else self._next_draw()
        if draw is None:
            return None
        self._rows.append(draw)
        return draw.request

    def note(self, step: Step) -> None:
        """Take what a row ended with."""
        if step.result is None and step.error is None:
            return
        draw = self._rows[step.row]
        can_draw_again = draw.attempt < draw.job.retries
        if step.result is None:
            if isinstance(step.error, DeadEnd) and can_draw_again:
                self._again.append(dataclasses.replace(draw, attempt=draw.attempt + 1))
            else:
                self._done.append(Outcome(draw.index, step.error, None))
            return
        try:
            self._done.append(Outcome(draw.index, None, draw.job.with_value(step.result)))
        except InvalidText as error:
            if can_draw_again:
                self._again.append(dataclasses.replace(draw, attempt=draw.attempt + 1))
            else:
                failure = draw.job.failed(step.result, error, attempts=draw.attempt + 1)
                self._done.append(Outcome(draw.index, failure, None))

    def take(self) -> Iterator[Outcome]:
        """The outcomes that are there and were not taken yet."""
        while self._done:
            yield self._done.popleft()

    def _next_draw(self) -> _Draw | None:
        """Of the next request that can be run in a row; faults of a request are its outcome."""
        for index, request in self._requests:
            try:
                job = self._model.job_of(_checked(request))
                if job.is_one_row:
                    return _Draw(index, job, 0)
                self._done.append(Outcome(index, None, self._model.run(job)))
            except (ConstrainedError, GrammarError, ValueError, TypeError) as error:
                self._done.append(Outcome(index, error, None))
        return None


def _checked(request: GenerationRequest) -> GenerationRequest:
    """One that can be among many. Raises TypeError for what is none, ValueError for processors of its own."""
    if not isinstance(request, GenerationRequest):
        raise TypeError(f"requests: expected GenerationRequest(prompt, output_type, ...), got {shown(request)}")
    if request.options.get("processors"):
        raise ValueError("processors: rows that share passes share them; pass them to generate_many itself")
    return request
