"""Drafts: what the output may go on with, copied from the prompt, for the next pass to check along the way.

What is extracted from a document stands in it. So where the output ends with text of the prompt, what follows there is
proposed; inside a JSON string only the text since its opening quote has to be found, so that a value is completed
from the document whatever the keys around it. At the beginning of a value, what stands behind its name there is
proposed (``"due_date": "`` and ``Due date: 2024-03-01``). A draft changes no output: the loop draws every token as if
it were not there, and goes on without a pass for as long as what it draws is what was proposed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from constrained.loop.engine import Engine, TokenMatcher
from constrained.loop.forced import consume_forced, left_context, tokens_after

if TYPE_CHECKING:
    from constrained.loop.row import Row

__all__ = ["Drafter"]

_READ_TOKENS = 24  # of the output, to find its end in the prompt
_LEAST_BYTES = 3  # found of text that goes on from elsewhere
_FIRST_LENGTH = 4
_BYTES_A_TOKEN = 8  # more than most tokens have
_WORTH_IT = 0.75  # tokens that a draft must bring, on average: a pass over a few tokens costs about as much more
_PAUSE = 8  # draws without a draft after they were not worth it; twice as many each time
_VALUE = re.compile(rb'[^"]*\Z')
_NAME_BEFORE_VALUE = re.compile(rb'"([^"\\]{2,64})"\s*:\s*"?\Z')
_NOT_IN_WORDS = re.compile(rb"[^A-Za-z0-9\x80-\xff]+")
_BEFORE_VALUE = re.compile(rb"[\s:,\[{]*")


class Drafter:
    """Proposes drafts for one row, and notes what they are worth."""

    def __init__(self, engine: Engine, prompt_ids: list[int], *, most: int) -> None:
        self._engine = engine
        self._prompt = b"".join(engine.vocabulary.tokens[token_id] or b"\n" for token_id in prompt_ids)
        self._most = most
        self._length = min(_FIRST_LENGTH, most)
        self._gain = 2 * _WORTH_IT
        self._pause = 0
        self._next_pause = _PAUSE
        self._last = (0, 0)  # the length of the last draft, and what had been accepted before it

    def propose(self, row: Row, *, limit: int) -> list[int]:
        """Up to ``limit`` ids that may follow the output of a row and its pending ids; often none."""
        self._learn(row.accepted_tokens)
        if self._pause:
            self._pause -= 1
            return []
        limit = min(self._length, limit, row.room - 1)
        copied = self._copied_text(row) if limit > 0 else b""
        left_ids = left_context(row)
        ids = tokens_after(self._engine, left_ids, copied[: limit * _BYTES_A_TOKEN]) if copied else []
        draft = self._allowed(row, left_ids, ids, limit) if ids else []
        self._last = (len(draft), row.accepted_tokens)
        return draft

    def _learn(self, accepted_tokens: int) -> None:
        """From the last draft: longer ones where all of it came true, none for a while where they bring too little."""
        drafted, accepted_before = self._last
        self._last = (0, 0)
        if not drafted:
            return
        accepted = accepted_tokens - accepted_before
        self._length = min(2 * self._length if accepted == drafted else accepted + 2, self._most)
        self._gain += (accepted - self._gain) / 4
        if self._gain < _WORTH_IT:
            self._pause, self._next_pause = self._next_pause, 2 * self._next_pause
            self._gain = _WORTH_IT

    def _copied_text(self, row: Row) -> bytes:
        """What follows in the prompt where the output ends with the same text."""
        written = b"".join(map(self._engine.token_bytes, row.output_ids[-_READ_TOKENS:]))
        value = written
        if row.matcher is not None:
            found = _VALUE.search(written)
            assert found is not None
            value = _BEFORE_VALUE.sub(b"", found[0], count=1)
        place = self._find(value) if value else self._find_behind_name(written)
        if place < 0:
            return b""
        return self._prompt[place:].split(b"\n", 1)[0]

    def _find_behind_name(self, written: bytes) -> int:
        """Where the prompt has the name of the value that begins, and a colon, and goes on; -1: nowhere."""
        found = _NAME_BEFORE_VALUE.search(written)
        words = _NOT_IN_WORDS.split(found[1]) if found else []
        if not any(words):
            return -1
        label = rb"[\s_-]*".join(map(re.escape, filter(None, words)))
        places = [match.end() for match in re.finditer(rb"\b" + label + rb"[ \t]*:[ \t]*", self._prompt, re.IGNORECASE)]
        return places[-1] if places else -1

    def _find(self, value: bytes) -> int:
        """Where the prompt goes on behind the end of ``value``, as late as may be: documents come last. -1: nowhere."""
        for start in _word_starts(value):
            end = value[start:]
            if len(end) < _LEAST_BYTES and start:
                return -1
            place = self._prompt.rfind(end)
            while place > 0 and _goes_on(self._prompt[place - 1 : place + 1]):
                place = self._prompt.rfind(end, 0, place + len(end) - 1)
            if place >= 0 and end:
                return place + len(end)
        return -1

    def _allowed(self, row: Row, left_ids: list[int], ids: list[int], limit: int) -> list[int]:
        """The part of ``ids`` that the grammar allows, with what it forces on the way."""
        if row.matcher is None:
            return ids[:limit]
        ahead = row.matcher.fork()
        draft: list[int] = []
        for token_id in ids:
            if len(draft) >= limit or not ahead.try_consume([token_id]):
                break
            draft.append(token_id)
            forced = consume_forced(
                self._engine, ahead, [*left_ids, *draft], mode=row.request.forced, limit=limit - len(draft)
            )
            if forced:  # the structure goes on from here, not the copied text
                return draft + forced
        else:
            draft += self._closing(ahead, [*left_ids, *draft], limit - len(draft))
        return draft

    def _closing(self, ahead: TokenMatcher, left_ids: list[int], limit: int) -> list[int]:
        """Where a line of the prompt was copied whole, the string may end with it: its end, and what that forces."""
        if limit <= 0 or not ahead.consume_bytes(b'"'):
            return []
        return tokens_after(self._engine, left_ids, b'"' + ahead.forced_bytes())[:limit]


def _word_starts(value: bytes) -> list[int]:
    """Where words begin in ``value``, its own beginning first."""
    return [0, *(place for place in range(1, len(value)) if not _goes_on(value[place - 1 : place + 1]))]


def _goes_on(pair: bytes) -> bool:
    """Whether two bytes are inside one word."""
    return pair.isalnum() or (len(pair) == 2 and pair[0] >= 0x80 and pair[1] >= 0x80)
