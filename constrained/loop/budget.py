"""Budgets of tokens and seconds, and how an output is brought to a complete end within them.

Under ``on_budget="close"`` it is known of each place in a grammar how many tokens are enough to complete the text from
there. A row begins only if its budget is enough; then each mask keeps the tokens behind which what is left is enough
still. So there is always a way on, and at the end of the budget the text is complete.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrained.errors import BudgetTooSmall
from constrained.loop.engine import Completions, TokenMatcher
from constrained.loop.request import Request

__all__ = ["Budget"]

_CAUTION = 1.25  # a pass may take longer than those before it did


class Budget:
    """What one row may still spend. Raises :class:`~constrained.errors.BudgetTooSmall` where it is not enough.

    ``max_output`` is what ``max_tokens`` and the model's context allow, in tokens.
    """

    def __init__(self, request: Request, max_output: int) -> None:
        self._request = request
        self.max_output = max_output
        self._deadline = None if request.time_budget is None else time.perf_counter() + request.time_budget
        self._completions = _completions_of(request)
        self.narrowed_masks = 0
        self.is_time = False
        """Whether it was time, not tokens, that narrowed the last mask."""
        if self._completions is not None:
            shortest = self._completions.tokens_to_end(request.matcher)
            if shortest is None or shortest > max_output:
                raise BudgetTooSmall(shortest=shortest, budget=max_output, asked=request.max_tokens)

    @property
    def closes(self) -> bool:
        """Whether the output is brought to an end within it."""
        return self._completions is not None

    @property
    def is_out_of_time(self) -> bool:
        """Whether the seconds are spent."""
        return self._deadline is not None and time.perf_counter() >= self._deadline

    def narrow(
        self, matcher: TokenMatcher, bitmask: NDArray[np.int32], place: int, *, written: int, pass_seconds: float
    ) -> bool:
        """Take out of a row's mask the tokens behind which the budget is not enough; whether there were any."""
        if self._completions is None:
            return False
        enough = self.max_output - written
        self.is_time = False
        if self._deadline is not None:
            left = (self._deadline - time.perf_counter()) / max(_CAUTION * pass_seconds, 1e-6)
            shortest = self._completions.tokens_to_end(matcher)
            assert shortest is not None
            in_time = max(shortest, int(max(left, 0.0)))
            self.is_time, enough = in_time < enough, min(in_time, enough)
        is_narrowed = self._completions.keep_within(matcher, bitmask, place, num_tokens=enough) > 0
        self.narrowed_masks += is_narrowed
        return is_narrowed

    def count_affordable(self, matcher: TokenMatcher, ids: list[int], *, written: int) -> int:
        """Of ``ids``, which a matcher has just consumed, how many leave enough; the matcher goes back to behind these.

        The tokenizer may write forced text with more tokens than there need be.
        """
        count = len(ids)
        if self._completions is not None:
            while count and (self._completions.tokens_to_end(matcher) or 0) > self.max_output - written - count:
                matcher.rollback(1)
                count -= 1
        return count


def _completions_of(request: Request) -> Completions | None:
    """Raises :class:`grammars.errors.NoShortestCompletion` where a grammar asks questions."""
    if request.on_budget == "cut":
        return None
    grammar: Any = getattr(request.matcher, "grammar", None)
    if grammar is None:
        raise TypeError(
            f"on_budget: 'close' needs a matcher of a compiled grammar, got {type(request.matcher).__name__}; "
            "pass on_budget='cut'"
        )
    completions: Completions = grammar.completions
    return completions
