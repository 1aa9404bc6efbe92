"""The matchers of a batch whose rows another loop fills, reorders, splits and ends as it likes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from constrained.errors import DeadEnd, UnsupportedOutputType
from grammars import CompiledGrammar, Matcher, allocate_token_bitmask

__all__ = ["RowMatchers", "refuse_dead_ends"]


def refuse_dead_ends(grammar: CompiledGrammar) -> None:
    """Refuse a grammar that may come to where nothing is allowed, in a loop that never goes back.

    Raises :class:`~constrained.errors.UnsupportedOutputType`, which names what is asked too late.
    """
    from grammars.masks.open_guards import in_words

    if grammar.open_guards is None:
        return
    asked = sorted({in_words(guard) for guard in grammar.ir.guards})
    raise UnsupportedOutputType(
        f"this grammar asks at the end of a value whether it may stand ({', '.join(asked)}), so a text can come to "
        "where nothing is allowed, and a loop that cannot take tokens back is stuck there; generate with "
        'constrained.load(..., backend="transformers"), which goes back, or pass dead_ends="raise" to get DeadEnd there'
    )


class RowMatchers:
    """Finds, for each row of a batch, the state of its output; one use is one generation.

    A row is known by its ids alone, so beams may be copied and reordered between steps, and rows may grow by several
    ids at once. A row that ended (by an end token, whatever padding follows) stays ended.
    """

    def __init__(self, grammar: CompiledGrammar) -> None:
        self.grammar = grammar
        self._ends = frozenset(grammar.vocabulary.eos_token_ids)
        self._prompts: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, ...], Matcher] = {}
        self._length = 0

    def reset(self) -> None:
        """Forget everything: the next call is the first of a generation."""
        self._prompts, self._known, self._length = [], {}, 0

    def bitmask(self, rows: Sequence[Sequence[int]]) -> NDArray[np.int32]:
        """(B, ceil(V / 32)) What may come behind each row of ids, prompts included.

        The first call has the prompts alone; a call with other prompts, or with no more ids than the last one, is the
        first of another generation. Raises :class:`~constrained.errors.DeadEnd` where nothing may, and ValueError for a
        row that is not in the grammar: something chose ids that were masked.
        """
        if self._is_another(rows):
            self.reset()
            self._prompts = [tuple(row) for row in rows]
        self._length = len(rows[0])
        start = len(self._prompts[0])
        bitmask = allocate_token_bitmask(len(rows), self.grammar.vocabulary.size)
        known: dict[tuple[int, ...], Matcher] = {}
        for place, row in enumerate(rows):
            written = tuple(row[start:])
            matcher = known.get(written)
            if matcher is None:
                matcher = known[written] = self._matcher(written, place)
            matcher.fill_next_token_bitmask(bitmask, place)
            if not bitmask[place].any():
                text = b"".join(self.grammar.vocabulary.tokens[token_id] or b"" for token_id in written)
                raise DeadEnd(
                    position=len(written),
                    row=place,
                    questions=matcher.denials(),
                    why="this loop cannot take tokens back",
                    text=text.decode("utf-8", "replace")[-80:],
                )
        self._known = known
        return bitmask

    def _is_another(self, rows: Sequence[Sequence[int]]) -> bool:
        if not self._prompts or len(rows[0]) <= self._length:
            return True
        start = len(self._prompts[0])
        prompts = set(self._prompts)
        return any(tuple(row[:start]) not in prompts for row in rows)

    def _matcher(self, written: tuple[int, ...], place: int) -> Matcher:
        """A matcher behind these ids: that of the row's last step, one step on."""
        for length in range(len(written), -1, -1):
            before = self._known.get(written[:length])
            if before is not None:
                matcher, rest = before.fork(), written[length:]
                break
        else:
            matcher, rest = self.grammar.matcher(), written
        for token_id in rest:
            if matcher.is_terminated:
                break  # padding
            if not matcher.try_consume([token_id]):
                raise ValueError(
                    f"row {place}: id {token_id} is not allowed behind {len(written) - len(rest)} output ids; expected "
                    "ids that the mask allows: another processor, or a warper before the mask, revived it"
                )
        return matcher
