"""A token bitmask held against its meaning."""

from __future__ import annotations

import numpy as np

import grammars

__all__ = ["allowed_as_consumed"]


def allowed_as_consumed(matcher: grammars.Matcher) -> list[int]:
    """The tokens that the next bitmask allows; asserts that each of these, and no other, is consumed."""
    size = matcher.grammar.vocabulary.size
    bitmask = grammars.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(bitmask)
    allowed: list[int] = np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")[:size]).tolist()
    taken = []
    for token in range(size):
        if matcher.try_consume([token]):
            taken.append(token)
            matcher.rollback(1)
    assert allowed == taken
    return allowed
