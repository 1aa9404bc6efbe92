"""The start of a row: room for it, and the pass that takes its prompt."""

from __future__ import annotations

from constrained.errors import ContextTooLong
from constrained.loop.engine import Cache
from constrained.loop.row import Row

__all__ = ["allocate_cache", "check_fits"]


def check_fits(row: Row) -> None:
    """Raise :class:`~constrained.errors.ContextTooLong` unless the prompt and one output token fit the context."""
    needed, available = len(row.request.prompt_ids) + 1, row.engine.context_length
    if needed > available:
        raise ContextTooLong(needed=needed, available=available, what="the model's context")


def allocate_cache(row: Row) -> Cache:
    """An empty cache for the prompt and all of the output that may come.

    The pass that fills it is the first one of the row: its pending ids are the prompt and what the grammar forces
    after it. The model cuts a long pass into chunks by itself.
    """
    capacity = len(row.request.prompt_ids) + row.max_output
    cache: Cache = row.engine.model.new_cache(1, capacity)
    return cache
