"""What goes to stdout (JSON Lines, nothing else) and to stderr (progress and messages)."""

from __future__ import annotations

import re
import sys
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
    """Writes results, one a line, each whole line at once, to stdout or a file.

    A file is replaced when the first line is written, not before; a crash later leaves the lines written so far.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def write(self, line: str) -> None:
        """Write one line and pass it on."""
        data = line.encode("utf-8") + b"\n"
        if self._path is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        if self._file is None:
            self._file = open(self._path, "wb", buffering=0)  # noqa: SIM115  (closed by __exit__)
        self._file.write(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


class Reporter:
    """Messages on stderr, above a progress bar where stderr is a terminal and stdout is not.

    With both on the terminal the lines themselves show how far it is, and a bar would be drawn across them.
    """

    def __init__(self, *, total: int | None, results_on_stdout: bool) -> None:
        self._total = total
        self._shows_bar = sys.stderr.isatty() and not (results_on_stdout and sys.stdout.isatty())
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._shows_bar:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
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
        """A document is being worked on."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=name)

    def finish_one(self) -> None:
        """One document is done, well or not."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)

    def say(self, message: str) -> None:
        """One message on stderr."""
        if self._progress is None:
            click.echo(message, err=True)
        else:
            self._progress.console.print(message, markup=False, highlight=False, soft_wrap=True)
