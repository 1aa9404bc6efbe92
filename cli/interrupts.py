"""Ctrl-C between two lines, never inside one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupt_deferred"]


@contextmanager
def interrupt_deferred() -> Iterator[None]:
    """Let the block finish before an interrupt is raised. A second one does not wait (the block may be stuck)."""
    if threading.current_thread() is not threading.main_thread():
        yield  # interrupts arrive in the main thread only
        return
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
