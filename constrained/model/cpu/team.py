"""The threads that run a pass together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .forward import run_pass

__all__ = ["Team"]

_run_pass: Callable[..., None] = run_pass


class Team:
    """Runs passes, one at a time, by ``num_threads`` threads, the caller's among them."""

    def __init__(self, num_threads: int) -> None:
        if num_threads < 1:
            raise ValueError(f"num_threads: expected at least 1, got {num_threads}")
        self.num_threads = num_threads
        self._lock = threading.RLock()
        self._others = ThreadPoolExecutor(num_threads - 1, "forward pass") if num_threads > 1 else None

    def __enter__(self) -> Team:
        """Hold the memory that passes share."""
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def run(self, *arguments: Any) -> None:
        """Run :func:`run_pass` with these arguments, each thread as one of its workers."""
        meeting = np.zeros(1, np.int64)
        if self._others is None:
            _run_pass(*arguments, meeting, 0)
            return
        started = [self._others.submit(_run_pass, *arguments, meeting, worker) for worker in range(1, self.num_threads)]
        _run_pass(*arguments, meeting, 0)
        for other in started:
            other.result()
