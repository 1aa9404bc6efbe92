"""The start of a row: whether it fits, room for it, and what is known of its prompt already."""

from __future__ import annotations

from collections.abc import Sequence

from constrained.errors import ContextTooLong
from constrained.loop.budget import Budget
from constrained.loop.drafts import Drafter
from constrained.loop.engine import Cache
from constrained.loop.row import Row

__all__ = ["SHARED_CHUNK", "WHOLE_CHUNK", "begin", "chunk_size", "keep_prefix", "open_cache"]

#: Most tokens of one row in a pass; the rest of a longer prompt waits for the next.
WHOLE_CHUNK = 512
#: The same where other rows are in the middle of their output and would wait for it.
SHARED_CHUNK = 128


def begin(row: Row) -> None:
    """Refuse a row whose output has no room, before any pass.

    Raises :class:`~constrained.errors.ContextTooLong` unless the prompt and one output token fit the context,
    :class:`~constrained.errors.BudgetTooSmall` unless a complete output fits the budget that has to be kept.
    """
    request = row.request
    needed, available = len(request.prompt_ids) + 1, row.engine.context_length
    if needed > available:
        raise ContextTooLong(needed=needed, available=available, what="the model's context")
    if request.on_budget == "close" or request.time_budget is not None:
        row.budget = Budget(request, row.max_output)
    if request.drafts:
        row.drafter = Drafter(row.engine, list(request.prompt_ids), most=request.drafts)


def open_cache(row: Row) -> Cache:
    """A cache for the prompt and all of the output that may come, with what is known of the prompt in it."""
    capacity = len(row.request.prompt_ids) + row.max_output
    cache: Cache = row.engine.model.new_cache(1, capacity)
    if row.engine.prefix_cache is not None:
        row.cached_prompt_tokens = row.engine.prefix_cache.load(cache, row.request.prompt_ids)
        del row.pending[: row.cached_prompt_tokens]
    return cache


def keep_prefix(row: Row) -> None:
    """Keep what a pass has brought of a prompt, for rows whose prompts begin alike."""
    if row.engine.prefix_cache is not None and row.cache is not None and row.forward_passes <= 1:
        row.engine.prefix_cache.store(row.cache, row.request.prompt_ids)


def chunk_size(rows: Sequence[Row]) -> int:
    """Most tokens that a row may bring to a pass."""
    return SHARED_CHUNK if any(row.sampled_tokens for row in rows) and len(rows) > 1 else WHOLE_CHUNK
