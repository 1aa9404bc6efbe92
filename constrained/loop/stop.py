"""Why a row ends, and what it then amounts to."""

from __future__ import annotations

import numpy as np

from constrained.loop.drawn import drawn_as
from constrained.loop.row import Row
from constrained.result import GenerationResult

__all__ = ["close", "stop_if_due"]


def stop_if_due(row: Row) -> None:
    """End a row whose output has reached a stop text, the end of its grammar, or its last token."""
    if row.text.is_stopped:
        row.stop_reason = "stop_text"
    elif nothing_may_follow(row):
        row.stop_reason = "grammar" if not row.is_narrowed else "time" if _is_late(row) else "length"
    elif row.room <= 0:
        row.stop_reason = "length"
    elif row.budget is not None and row.budget.is_out_of_time and not row.budget.closes:
        row.stop_reason = "time"


def _is_late(row: Row) -> bool:
    return row.budget is not None and row.budget.is_time


def nothing_may_follow(row: Row) -> bool:
    """Whether the output is whole and only an end token is allowed, so that no pass need be paid for it.

    The mask that has to be made for this is kept for the next draw.
    """
    if row.matcher is None or not row.matcher.is_accepting:
        return False
    bitmask = np.empty((1, row.engine.free_bitmask.shape[0]), np.int32)
    row.fill(row.matcher, bitmask, 0)
    row.bitmask = bitmask
    if (bitmask[0] & row.engine.text_bitmask).any():
        return False
    return not (row.matcher.allows_special and bitmask.any())  # an end token may be what the grammar asks for


def close(row: Row) -> GenerationResult | None:
    """The result of a row that has ended, ``None`` of one that goes on; ``value`` is left to the caller.

    Text that was held back belongs to the last step.
    """
    if row.stop_reason is None:
        return None
    row.last_text = row.text.finish()
    return GenerationResult(
        text=row.text.whole,
        token_ids=tuple(row.output_ids),
        stop_reason=row.stop_reason,
        complete=_is_complete(row),
        usage=row.usage(),
        **drawn_as(row),
    )


def _is_complete(row: Row) -> bool:
    """Whether the output is whole. One that was cut off is not, even if its text happens to be in the language: ``12``
    may have been going to be ``1234``. One that was brought to an end is."""
    if row.stop_reason in ("length", "time"):
        return row.budget is not None and row.budget.closes
    if row.stop_reason != "stop_text" or row.request.matcher is None:
        return True
    matcher, left = row.request.matcher.fork(), row.text.whole.encode()
    for token_id in row.output_ids:  # token by token: some are special, and some grammars count them
        piece = row.engine.token_bytes(token_id)
        if not left.startswith(piece) or (piece and not left) or not matcher.try_consume([token_id]):
            break
        left = left[len(piece) :]
    return matcher.consume_bytes(left) and matcher.is_accepting
