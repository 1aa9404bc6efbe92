"""Which rows are live: as many as a batch holds, and as one ends the next one joins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from constrained.loop.engine import Engine
from constrained.loop.prefill import begin
from constrained.loop.request import Request
from constrained.loop.row import Row

__all__ = ["RequestSource", "Schedule", "source_of"]

RequestSource = Callable[[], Request | None]
"""Gives the next request; ``None`` when there is none now. It is asked again when a row has ended."""


def source_of(requests: Iterable[Request]) -> RequestSource:
    """The requests one after another, each taken when there is room for it."""
    iterator = iter(requests)
    return lambda: next(iterator, None)


class Schedule:
    """The rows of one batch of at most ``batch_size``; rows are numbered in the order of their requests."""

    def __init__(self, engine: Engine, source: RequestSource, *, batch_size: int, hold_back: bool) -> None:
        self._engine = engine
        self._source = source
        self._batch_size = batch_size
        self._hold_back = hold_back
        self._rows: list[Row] = []
        self._waiting: Row | None = None
        self._count = 0

    @property
    def live(self) -> list[Row]:
        """The rows that go on; those that do not are let go."""
        for row in self._rows:
            if not row.is_live:
                row.release()
        self._rows = [row for row in self._rows if row.is_live]
        return self._rows

    @property
    def is_open(self) -> bool:
        """Whether there is anything to do, now."""
        return bool(self.live) or self._fetch() is not None

    def join(self) -> Iterator[Row]:
        """Let waiting rows join while there is room, each as it is asked for."""
        while len(self.live) < self._batch_size and (row := self._fetch()) is not None:
            if self._awaits_prefix(row):
                return
            self._waiting = None
            self._rows.append(row)
            with row.on_its_own():
                begin(row)
            yield row

    def release(self) -> None:
        """Let go of everything."""
        for row in self._rows:
            row.release()

    def _fetch(self) -> Row | None:
        """The row that joins next."""
        if self._waiting is None:
            request = self._source()
            if request is not None:
                index, self._count = self._count, self._count + 1
                self._waiting = Row.from_request(self._engine, request, index=index, holds_back=self._hold_back)
        return self._waiting

    def _awaits_prefix(self, row: Row) -> bool:
        """Whether a live row is just computing a part of the prompt that this one begins with too."""
        prefix_cache = self._engine.prefix_cache
        if prefix_cache is None or prefix_cache.max_bytes == 0:
            return False
        begun = [other for other in self._rows if not other.forward_passes]
        block = prefix_cache.next_block(row.request.prompt_ids) if begun else None
        return block is not None and any(tuple(other.request.prompt_ids[: len(block)]) == block for other in begun)
