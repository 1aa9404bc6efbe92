"""Texts that must not be written: a second grammar beside the first, byte by byte, so no spelling slips through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from grammars.errors import TokenRefused

if TYPE_CHECKING:
    from .api import Model
    from .loop.engine import TokenMatcher

__all__ = ["BothMatchers", "without_bad_words"]


def without_bad_words(matcher: TokenMatcher | None, model: Model, bad_words: Sequence[str]) -> TokenMatcher | None:
    """``matcher`` (``None``: any text), narrowed to texts that hold none of ``bad_words``.

    Raises :class:`~constrained.errors.DeadEnd` later, while it runs, where the grammar asks for such a text.
    """
    if not bad_words:
        return matcher
    from .combinators import alt, many, special, text_without

    piece = text_without(*bad_words)
    grammar: Any = getattr(matcher, "grammar", None)
    if (
        grammar is not None and grammar.special_ids
    ):  # they may come anywhere, and part what is before from what is behind
        piece = many(piece, sep=alt(*map(special, sorted(grammar.special_ids))), minimum=1)
    guard = model.compile(piece).matcher()
    return guard if matcher is None else BothMatchers(matcher, guard)


class BothMatchers:
    """Follows one sequence through two grammars; what it allows, both allow."""

    def __init__(self, first: TokenMatcher, second: TokenMatcher) -> None:
        self._both = (first, second)

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete in both."""
        return all(matcher.is_accepting for matcher in self._both)

    @property
    def is_terminated(self) -> bool:
        """Whether an end token was consumed."""
        return self._both[0].is_terminated

    @property
    def allows_special(self) -> bool:
        """Whether a special token that the grammar asks for may come next."""
        return self._both[0].allows_special

    @property
    def has_open_guard(self) -> bool:
        """Whether the text so far may turn out to have no way on."""
        return any(matcher.has_open_guard for matcher in self._both)

    def denials(self) -> tuple[str, ...]:
        """What is denied here, in words."""
        return (*self._both[0].denials(), *self._both[1].denials(), "none of the bad words")

    def fill_next_token_bitmask(self, bitmask: NDArray[np.int32], row: int = 0) -> None:
        """Write into ``bitmask[row]`` which tokens may come next."""
        self._both[0].fill_next_token_bitmask(bitmask, row)
        other = np.empty((1, bitmask.shape[1]), np.int32)
        self._both[1].fill_next_token_bitmask(other, 0)
        bitmask[row] &= other[0]

    def consume(self, token_id: int) -> None:
        """Append a token; :class:`~grammars.TokenRefused` where one of the two does not allow it."""
        if not self.try_consume([token_id]):
            raise TokenRefused(token_id, "expected a token that the grammar allows and that writes no bad word")

    def try_consume(self, token_ids: list[int]) -> int:
        """Append tokens until one is not allowed; how many were taken."""
        first, second = self._both
        count = first.try_consume(token_ids)
        taken = second.try_consume(token_ids[:count])
        first.rollback(count - taken)
        return taken

    def consume_bytes(self, data: bytes) -> bool:
        """Append text that is not cut into tokens."""
        first, second = self._both
        if not first.consume_bytes(data):
            return False
        if second.consume_bytes(data):
            return True
        first.rollback(1)
        return False

    def forced_bytes(self) -> bytes:
        """Bytes that must follow, as far as one of the two alone says so and the other allows it."""
        first, second = self._both
        forced = first.forced_bytes() or second.forced_bytes()
        while forced:
            ahead = self.fork()
            if ahead.consume_bytes(forced):
                return forced
            forced = forced[:-1]
        return b""

    def forced_special(self) -> int | None:
        """The special token that must follow now, if one must."""
        return self._both[0].forced_special()

    def forced_tokens(self) -> list[int]:
        """Tokens that must follow because each is the only one allowed; empty: the mask tells."""
        return []

    def rollback(self, num_tokens: int) -> None:
        """Undo the last tokens."""
        for matcher in self._both:
            matcher.rollback(num_tokens)

    def fork(self) -> Self:
        """An independent one that stands where this one does."""
        return type(self)(*(matcher.fork() for matcher in self._both))
