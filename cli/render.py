"""What goes to stdout (JSON Lines, nothing else) and to stderr (progress and messages)."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["LineWriter", "Reporter", "compact_json"]

_STRING_OR_BLANK = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\r\n]+')


def compact_json(text: str) -> str:
    """JSON text without the whitespace between its tokens; numbers and strings stay as they were written.

    >>> compact_json('{ "a b": [1.50,\\n 2] }')
    '{"a b":[1.50,2]}'
    """
    return _STRING_OR_BLANK.sub(lambda match: match[1] or "", text)


class LineWriter:
    """Writes results, one a line, each whole line at once, to ``results`` or to the file ``path``.

    The file is opened at once, so that one that cannot be written is told before any work; what it held is replaced
    when the first line is written, not before. A crash later leaves the lines written so far.
    """

    def __init__(self, results: BinaryIO, *, path: Path | None = None) -> None:
        self._results = results
        self._path = path
        self._file: BinaryIO | None = None
        self._is_new = False
        self._has_written = False

    def write(self, line: str) -> None:
        """Write one line and pass it on."""
        target = self._results if self._file is None else self._file
        if self._file is not None and not self._has_written and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            self._file.truncate(0)
        self._has_written = True
        target.write(line.encode("utf-8") + b"\n")
        target.flush()

    def __enter__(self) -> Self:
        """Open the file. Raises OSError where it cannot be written."""
        if self._path is not None:
            self._is_new = not self._path.exists()
            self._file = open(self._path, "wb", opener=_open_without_truncating)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None or self._path is None:
            return
        self._file.close()
        if self._is_new and not self._has_written:
            self._path.unlink(missing_ok=True)


def _open_without_truncating(path: str, flags: int) -> int:
    return os.open(path, flags & ~os.O_TRUNC, 0o666)


class Reporter:
    """Messages on stderr, above a progress bar where stderr is a terminal."""

    def __init__(self, *, total: int | None, results: BinaryIO) -> None:
        self._total = total
        self._results_are_shown = results.isatty()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=False,
            )
            self._task = self._progress.add_task("", total=self._total)
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def begin(self, name: str) -> None:
        """Something is being worked on: a document, or the model."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=name)

    def finish_one(self) -> None:
        """One document is done, well or not."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away while a result is written to the same terminal."""
        progress = self._progress if self._results_are_shown else None
        if progress is not None:
            progress.stop()
        try:
            yield
        finally:
            if progress is not None:
                progress.start()

    def say(self, message: str) -> None:
        """One message on stderr."""
        if self._progress is None:
            click.echo(message, err=True)
        else:
            self._progress.console.print(message, markup=False, highlight=False, soft_wrap=True)
