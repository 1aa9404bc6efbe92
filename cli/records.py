"""Where run records go: a folder, with a file for each request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["RecordFolder", "record_folder", "record_option"]

Command = TypeVar("Command", bound=Callable[..., Any])


class RecordFolder:
    """A folder that is made when it is not there; records are numbered, and none is replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._number = 0

    def next_file(self) -> Path:
        """A file that is not there yet."""
        while True:
            self._number += 1
            file = self.path / f"{self._number:05}.json"
            if not file.exists():
                return file


def record_option(command: Command) -> Command:
    """The option, for :func:`record_folder`."""
    return click.option(
        "--record",
        metavar="DIR",
        help="Write a run record of each output to this folder, for `constrained replay`.",
    )(command)


def record_folder(options: dict[str, Any]) -> RecordFolder | None:
    """Take the option out of a command's. Raises a usage error for a folder that cannot be made."""
    name = options.pop("record")
    if name is None:
        return None
    try:
        if not name.strip():
            raise click.BadParameter("this is empty; name a folder", param_hint="'--record'")
        Path(name).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise click.BadParameter(
            f"{name!r} cannot be a folder for records: {reason}", param_hint="'--record'"
        ) from None
    return RecordFolder(Path(name))
