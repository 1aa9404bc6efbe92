"""Bitmasks of a whole batch, those that need a walk shared among threads.

A mask that is known is a copy of 16 KB, not worth a thread. The others are walked by threads that release the
interpreter lock. Each thread has a machine of its own for every grammar, to which configurations are carried first,
so nobody writes to tables that another reads; the finished bitmasks are put into the shared machine's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Self
from weakref import WeakKeyDictionary

import numpy as np

from ..automaton.machine import Machine
from ..automaton.memory import (
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    MASK_ROW,
    MASKS,
    MAX_MASKS,
    NUM_MASKS,
    NUM_PENDING,
    NUM_STACKS,
    NUM_WORDS,
    Memory,
)
from ..automaton.transfer import transfer
from ..ir.nodes import Int32Array
from ..jit import copy_words, kernel, threaded_kernel
from ..vocabulary.bitmask import TokenBitmask
from .walk import compute_bitmask

if TYPE_CHECKING:
    from ..compile import CompiledGrammar
    from ..matcher import Matcher

__all__ = ["BatchFiller"]

FEWEST_WALKS = 4  # a thread is not woken for fewer


@threaded_kernel
def walk_rows(
    memory: Memory, tables: Memory, configurations: Int32Array, rows: Int32Array, bitmask: TokenBitmask
) -> int:
    """Compute the bitmask of each configuration into its row; how many were done before a table was full.

    Where guards are asked the row is not done, and becomes -1: the places to ask are the shared machine's to note.
    """
    for index in range(len(rows)):
        if compute_bitmask(memory, tables, configurations[index], memory[MASKS]) < 0:
            return index
        if memory[NUM_PENDING] > 0:
            memory[NUM_PENDING] = 0
            rows[index] = -1
            continue
        copy_words(bitmask[rows[index]], 0, memory, memory[MASKS], memory[NUM_WORDS])
    return len(rows)


@kernel
def keep_bitmask(memory: Memory, configuration: int, bitmask: TokenBitmask, row: int) -> None:
    """Put a bitmask into the cache if there is room and it is not there yet."""
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    place = memory[NUM_MASKS]
    if memory[record + MASK_ROW] < 0 and place < memory[MAX_MASKS]:
        num_words = memory[NUM_WORDS]
        copy_words(memory, memory[MASKS] + place * num_words, bitmask[row], 0, num_words)
        memory[record + MASK_ROW] = place
        memory[NUM_MASKS] = place + 1


class _Job:
    """The walks of one thread over one grammar."""

    def __init__(self, grammar: CompiledGrammar, worker: Machine) -> None:
        self.grammar = grammar
        self.worker = worker
        self.rows: list[int] = []
        self.carried: list[int] = []
        self.known = np.zeros(0, np.int32)

    def add(self, matcher: Matcher, row: int) -> bool:
        """Carry a matcher's configuration over; False when the worker has no room left."""
        machine = self.grammar.machine
        with machine.lock:
            if len(self.known) < machine.memory[NUM_STACKS]:
                self.known = np.zeros(machine.memory[NUM_STACKS], np.int32)
            carried = transfer(machine.memory, self.worker.memory, matcher.configuration, self.known)
        if carried < 0:
            return False
        self.carried.append(carried)
        self.rows.append(row)
        return True

    def run(self, bitmask: TokenBitmask) -> tuple[list[int], bool]:
        """The rows that were filled, and whether a table became full."""
        rows = np.array(self.rows, np.int32)
        carried = np.array(self.carried, np.int32)
        count = walk_rows(self.worker.memory, self.grammar.tables, carried, rows, bitmask)
        return [row for row in rows[:count].tolist() if row >= 0], count < len(rows)


class BatchFiller:
    """Fills the bitmasks of many matchers at once with ``threads`` threads; use it as a context manager.

    >>> import grammars
    >>> vocabulary = grammars.Vocabulary.from_bytes([b"a", b"b", None], eos_token_ids=[2])
    >>> matchers = [grammars.compile_regex(p, vocabulary).matcher() for p in ("a", "b")]
    >>> bitmask = grammars.allocate_token_bitmask(2, vocabulary.size)
    >>> with BatchFiller(threads=2) as filler:
    ...     filler.fill(matchers, bitmask)
    >>> bitmask.tolist()
    [[1], [2]]
    """

    def __init__(self, *, threads: int = 2) -> None:
        if threads < 1:
            raise ValueError(f"threads: expected at least 1, got {threads}")
        self.threads = threads
        self._executor = ThreadPoolExecutor(threads - 1, "grammars-masks") if threads > 1 else None
        self._workers: WeakKeyDictionary[CompiledGrammar, list[Machine]] = WeakKeyDictionary()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the threads."""
        if self._executor is not None:
            self._executor.shutdown()

    def fill(self, matchers: Sequence[Matcher | None], bitmask: TokenBitmask) -> None:
        """Write ``bitmask[row]`` for each matcher; ``None``: no grammar, every token allowed."""
        if len(matchers) > len(bitmask):
            raise ValueError(f"bitmask: expected at least {len(matchers)} rows, got {len(bitmask)}")
        walks: list[tuple[Matcher, int]] = []
        seen: dict[tuple[int, int], int] = {}
        doubles: list[tuple[int, int]] = []
        again: list[tuple[Matcher, int]] = []  # in a configuration that is walked already, but its guards may deny
        for row, matcher in enumerate(matchers):
            if matcher is None:
                bitmask[row] = -1
            elif self._executor is None or matcher.knows_bitmask or matcher.grammar.spelling is not None:
                matcher.fill_next_token_bitmask(bitmask, row)
            else:
                first = seen.setdefault((id(matcher.grammar), matcher.configuration), row)
                if first == row:
                    walks.append((matcher, row))
                elif matcher.grammar.narrower is None:
                    doubles.append((first, row))
                else:
                    again.append((matcher, row))
        if len(walks) < FEWEST_WALKS:
            for matcher, row in walks:
                matcher.fill_next_token_bitmask(bitmask, row)
        else:
            self._walk(walks, bitmask)
        for first, row in doubles:
            bitmask[row] = bitmask[first]
        for matcher, row in again:
            matcher.fill_next_token_bitmask(bitmask, row)

    def _walk(self, walks: list[tuple[Matcher, int]], bitmask: TokenBitmask) -> None:
        """Split the walks among the threads and this one."""
        assert self._executor is not None
        shares = [walks[thread :: self.threads] for thread in range(self.threads)]
        jobs = [self._jobs(thread, share, bitmask) for thread, share in enumerate(shares)]
        pending: list[Future[list[tuple[list[int], bool]]]] = [
            self._executor.submit(_run_all, share, bitmask) for share in jobs[1:]
        ]
        done = [_run_all(jobs[0], bitmask), *(future.result() for future in pending)]
        by_row = {row: matcher for matcher, row in walks}
        for share, finished in zip(jobs, done, strict=True):
            for job, (rows, is_full) in zip(share, finished, strict=True):
                for row in rows:
                    matcher = by_row.pop(row)
                    with job.grammar.machine.lock:
                        keep_bitmask(job.grammar.machine.memory, matcher.configuration, bitmask, row)
                if is_full:
                    job.worker.forget_everything()
        for row, matcher in by_row.items():
            matcher.fill_next_token_bitmask(bitmask, row)

    def _jobs(self, thread: int, share: list[tuple[Matcher, int]], bitmask: TokenBitmask) -> list[_Job]:
        """The walks of one thread, by grammar."""
        jobs: dict[CompiledGrammar, _Job] = {}
        for matcher, row in share:
            matcher.check_bitmask(bitmask, row)
            job = jobs.get(matcher.grammar)
            if job is None:
                job = jobs[matcher.grammar] = _Job(matcher.grammar, self._worker(matcher.grammar, thread))
            if not job.add(matcher, row):
                job.worker.forget_everything()
                jobs[matcher.grammar] = _Job(matcher.grammar, job.worker)
        return list(jobs.values())

    def _worker(self, grammar: CompiledGrammar, thread: int) -> Machine:
        workers = self._workers.setdefault(grammar, [])
        while len(workers) <= thread:
            workers.append(Machine(grammar.machine.network, grammar.num_words, grammar.machine.limits))
        return workers[thread]


def _run_all(jobs: list[_Job], bitmask: TokenBitmask) -> list[tuple[list[int], bool]]:
    return [job.run(bitmask) for job in jobs]
