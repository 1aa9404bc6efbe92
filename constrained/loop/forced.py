"""Forced text: what the grammar leaves no choice about is appended without a pass of its own (jump-forward).

``exact``: where a single token id is allowed, it is appended; the ids are those of plain decoding.

``canonical``: where a single next *byte* is possible, for as long as that holds, these bytes are tokenised as the
tokenizer itself writes them after their left context. Trailing tokens that some allowed token could outgrow, past the
end of the forced bytes, are left to the model: forcing ``order`` must not rule out ``orderId``. Where the tokens so far
end in the middle of what the tokenizer would write as one, the model goes on by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from constrained.loop.engine import Engine, TokenMatcher
from constrained.result import ForcedMode

if TYPE_CHECKING:
    from constrained.loop.row import Row

__all__ = ["append_forced", "consume_forced", "left_context", "tokens_after"]

#: How many tokens of left context are read; what lies further back does not change how text is cut into tokens.
_LEFT_TOKENS = 16
#: How many trailing tokens are tested for being outgrown.
_LOOK_BACK = 4


def append_forced(row: Row) -> None:
    """Append to a row what its grammar forces; the next pass takes it along."""
    if row.matcher is None or row.text.is_stopped or (row.dead_ends and row.dead_ends.is_ahead(row.written)):
        return
    ids = consume_forced(row.engine, row.matcher, left_context(row), mode=row.request.forced, limit=row.room)
    if row.budget is not None:
        del ids[row.budget.count_affordable(row.matcher, ids, written=len(row.output_ids)) :]
    for token_id in ids:
        row.append(token_id, forced=True)
        if row.text.is_stopped:
            return


def left_context(row: Row) -> list[int]:
    """The last ids of prompt and output: as many as say how what follows is cut into tokens."""
    left_ids = row.output_ids[-_LEFT_TOKENS:]
    if len(left_ids) < _LEFT_TOKENS:
        left_ids = [*row.request.prompt_ids[-_LEFT_TOKENS:], *left_ids]
    return left_ids


def consume_forced(
    engine: Engine, matcher: TokenMatcher, left_ids: Sequence[int], *, mode: ForcedMode, limit: int
) -> list[int]:
    """The ids forced after ``left_ids`` (prompt and output), at most ``limit``; ``matcher`` has consumed them then."""
    if mode == "off":
        return []
    run: list[int] = []
    while len(run) < limit:
        forced = matcher.forced_bytes()
        ids: list[int] = []
        if not forced:  # a choice of bytes is a choice of tokens; asking for these costs more
            special = matcher.forced_special()
            if special is None:
                break
            ids = [special][: matcher.try_consume([special])]
        elif mode == "canonical":
            ids = _consume_canonical(engine, matcher, forced, [*left_ids[-_LEFT_TOKENS:], *run][-_LEFT_TOKENS:])
        if not ids:
            ids = _consume_single(matcher)
        if not ids:
            break
        run += ids
    if len(run) > limit:
        matcher.rollback(len(run) - limit)
    return run[:limit]


def _consume_single(matcher: TokenMatcher) -> list[int]:
    """Consume the run of positions that allow a single id."""
    ids = matcher.forced_tokens()
    return ids[: matcher.try_consume(ids)] if ids else ids


def _consume_canonical(engine: Engine, matcher: TokenMatcher, forced: bytes, left_ids: Sequence[int]) -> list[int]:
    """Consume the forced bytes, as the tokenizer writes them, but for what could grow past their end."""
    ids = tokens_after(engine, left_ids, forced)
    if not ids:
        return []
    count = matcher.try_consume(ids)
    ids = ids[:count]
    ends = list(accumulate(len(engine.token_bytes(token_id)) for token_id in ids))
    kept = count
    for index in range(count - 1, max(count - 1 - _LOOK_BACK, -1), -1):
        matcher.rollback(1)
        start = ends[index - 1] if index else 0
        if _may_outgrow(engine, matcher, forced[start : ends[-1]]):
            kept = index
    matcher.try_consume(ids[max(count - _LOOK_BACK, 0) : kept])
    return ids[:kept]


def _may_outgrow(engine: Engine, matcher: TokenMatcher, rest: bytes) -> bool:
    """Whether a token allowed here begins with ``rest``, the last of the forced text, and goes on after it."""
    longer = engine.ids_that_extend(rest)
    if not len(longer):
        return False
    bitmask = np.empty((1, engine.free_bitmask.shape[0]), np.int32)
    matcher.fill_next_token_bitmask(bitmask, 0)
    return bool(((bitmask[0, longer >> 5] >> (longer & 31)) & 1).any())


def tokens_after(engine: Engine, left_ids: Sequence[int], data: bytes) -> list[int]:
    """The ids that the tokenizer writes for ``data`` after the text of ``left_ids``.

    Empty where it would not begin a token between the two, or where the bytes are no text. An incomplete character at
    the end of ``data`` is left out.
    """
    left = left_text(engine, left_ids)
    whole = _whole_characters(left + data)
    try:
        text = whole.decode("utf-8")
    except UnicodeDecodeError:
        return []
    ids = engine.tokenizer.tokenize(text)
    pieces = [engine.token_bytes(token_id) for token_id in ids]
    written = b"".join(pieces)
    # SentencePiece may put a space before all text.
    shift = len(written) - len(whole)
    if written[shift:] != whole or written[:shift] not in (b"", b" "):
        return []
    ends = [0, *accumulate(len(piece) for piece in pieces)]
    boundary = len(left) + shift
    if boundary not in ends:
        return []
    return ids[len(ends) - 1 - ends[::-1].index(boundary) :]


def left_text(engine: Engine, left_ids: Sequence[int]) -> bytes:
    """The text of the last of ``left_ids``, back to the last id that has no text; begins with a whole character."""
    pieces: list[bytes] = []
    for token_id in reversed(left_ids[-_LEFT_TOKENS:]):
        piece = engine.vocabulary.tokens[token_id]
        if piece is None:
            break
        pieces.append(piece)
    text = b"".join(reversed(pieces))
    start = next((index for index, byte in enumerate(text) if byte & 0xC0 != 0x80), len(text))
    return text[start:]


def _whole_characters(data: bytes) -> bytes:
    """``data`` without an incomplete UTF-8 character at its end."""
    for back in range(1, min(len(data), 4) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            needed = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if back < needed else data
    return data
