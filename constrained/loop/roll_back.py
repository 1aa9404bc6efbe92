"""Going back from a dead end: where no token may follow, the last choice is undone, and not made again.

A guard is asked where a value ends, so that a text may turn out to have no way on after some of it was written: when of
three items that must differ the last was begun as the first was, say. Then tokens are taken back to the last place with
another way on. What was tried is remembered as text, not as tokens: no other spelling of it is tried.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrained.errors import DeadEnd
from constrained.loop.engine import TokenMatcher
from constrained.loop.row import Row

__all__ = ["go_back", "is_stuck"]

_SHOWN = 60


def is_stuck(bitmask: NDArray[np.int32]) -> bool:
    """Whether a mask (W,) allows nothing."""
    return not bitmask.any()


def go_back(row: Row) -> None:
    """Take back what led into a dead end, down to a place with another way on; the mask for the next draw is there.

    Raises :class:`~constrained.errors.DeadEnd` where that would take back text that was given out, or more tokens than
    the request allows.
    """
    assert row.matcher is not None
    engine, matcher = row.engine, row.matcher
    position, questions = len(row.output_ids), matcher.denials()
    dead = row.written
    while True:
        if len(row.output_ids) <= row.step_start:
            why = (
                "what came before is given out already (without streaming it is not)"
                if row.step_start
                else "there is no other way at all"
            )
            raise _dead_end(row, position, questions, why)
        if row.rolled_back_tokens >= row.request.max_rolled_back_tokens:
            why = f"max_rolled_back_tokens={row.request.max_rolled_back_tokens} are taken back already"
            raise _dead_end(row, position, questions, why)
        matcher.rollback(1)
        row.take_back()
        here = row.written
        first_dead = _shortest_forced(matcher, here, dead)
        if len(first_dead) > len(here):
            row.dead_ends.add(first_dead)
            bitmask = np.empty((1, engine.free_bitmask.shape[0]), np.int32)
            row.fill(matcher, bitmask, 0)
            if not is_stuck(bitmask[0]):
                row.bitmask = bitmask
                row.begin_again()
                return
        dead = here


def _shortest_forced(matcher: TokenMatcher, here: bytes, dead: bytes) -> bytes:
    """The shortest text from ``here`` on, where ``matcher`` stands, from which only ``dead`` can come."""
    ahead = matcher.fork()
    for end in range(len(here), len(dead)):
        if ahead.forced_bytes().startswith(dead[end:]):
            return dead[:end]
        if not ahead.consume_bytes(dead[end : end + 1]):
            break
    return dead


def _dead_end(row: Row, position: int, questions: tuple[str, ...], why: str) -> DeadEnd:
    text = b"".join(map(row.engine.token_bytes, row.output_ids)).decode("utf-8", "replace")
    return DeadEnd(position=position, row=row.index, questions=questions, why=why, text=text[-_SHOWN:])
