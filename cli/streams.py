"""Standard output is for results: whatever else is printed goes to stderr."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import BinaryIO

__all__ = ["stdout_to_stderr"]


@contextmanager
def stdout_to_stderr() -> Iterator[BinaryIO]:
    """Within the block, what code of the user's or of a library prints goes to stderr. Gives the true stdout.

    That holds for ``print``, and for what child processes and code in C write to the file descriptor.
    """
    sys.stdout.flush()
    descriptor = _descriptor_of_stdout()
    if descriptor is None:  # embedded in another program: there is nothing below Python's level to redirect
        results = sys.stdout.buffer
        with redirect_stdout(sys.stderr):
            yield results
        return
    kept = os.dup(descriptor)
    try:
        os.dup2(sys.stderr.fileno(), descriptor)
        with redirect_stdout(sys.stderr), open(kept, "wb", closefd=False) as results:
            yield results
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


def _descriptor_of_stdout() -> int | None:
    try:
        sys.stderr.fileno()
        return sys.stdout.fileno()
    except (OSError, io.UnsupportedOperation):
        return None
