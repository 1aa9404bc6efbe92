"""The threads that run a pass together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np

__all__ = ["Team"]


class Team:
    """Runs ``kernel``, one pass at a time, by ``num_threads`` threads, the caller's among them.

    As a context manager it holds the memory that passes share, against other threads.
    """

    def __init__(self, kernel: Callable[..., None], num_threads: int) -> None:
        if num_threads < 1:
            raise ValueError(f"num_threads: expected at least 1, got {num_threads}")
        self.num_threads = num_threads
        self._kernel = kernel
        self._lock = threading.RLock()
        self._others = ThreadPoolExecutor(num_threads - 1, "forward pass") if num_threads > 1 else None

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def run(self, *arguments: Any) -> None:
        """Run the kernel with these arguments, a place to meet, and each thread's number."""
        meeting = np.zeros(2, np.int64)
        others = self._others
        numbers = range(1, self.num_threads)
        try:
            started = [others.submit(self._kernel, *arguments, meeting, worker) for worker in numbers] if others else []
            self._kernel(*arguments, meeting, 0)
        except BaseException:  # an interrupt: the others would wait for one that never comes
            meeting[1] = 1
            raise
        for other in started:
            other.result()
