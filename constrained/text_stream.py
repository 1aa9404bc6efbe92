"""The pieces of a text as they are written, and the result when it is whole."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Self

from .loop import Step
from .result import GenerationResult

__all__ = ["TextStream"]


class TextStream(Iterator[str]):
    """Iterate to get the text piece by piece; none is empty, and none is taken back.

    Ending early frees what the generation holds: leave a ``with`` block, call :meth:`close`, or drop the stream.
    """

    def __init__(
        self, steps: Generator[Step, None, None], finish: Callable[[GenerationResult], GenerationResult]
    ) -> None:
        self._steps = steps
        self._finish = finish
        self._result: GenerationResult | None = None

    def __next__(self) -> str:
        for step in self._steps:
            if step.result is not None:
                self._result = step.result
            if step.text:
                return step.text
        if self._result is not None:
            self._result = self._finish(self._result)
            self._finish = _as_it_is
        raise StopIteration

    @property
    def result(self) -> GenerationResult:
        """The whole of it, with the value, once the stream has ended. Raises RuntimeError before."""
        if self._result is None or self._finish is not _as_it_is:
            raise RuntimeError("the stream has not ended: iterate over it to the end, then ask for its result")
        return self._result

    def close(self) -> None:
        """End the generation where it is; there is no result then."""
        self._steps.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _as_it_is(result: GenerationResult) -> GenerationResult:
    return result
