"""What the post-forward stage keeps of one row from step to step: which draws were free, and what they weighed.

The pipeline holds no state. Whoever generates makes a :class:`RowRecord` for each row and passes it with every step;
where tokens are taken back, or a draft was not what was drawn, the next step at that position overwrites what stood
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from constrained.watermark.contexts import Marker

__all__ = ["DrawNote", "RowRecord"]


@dataclass(slots=True)
class DrawNote:
    """One draw."""

    position: int
    is_free: bool = True
    """Whether the allowed tokens did not all begin with the same byte."""
    context: int | None = None
    """The watermark's context, where there was one."""
    is_first: bool = False
    """Whether that context had not come before in this output."""
    token_id: int = -1
    log_mass: float = 0.0
    """Log of the probability, before the mask, of what the mask allows."""
    totals: tuple[float, float] | None = None
    """Log of the summed exponentials of all logits and of the allowed ones, where log-probabilities are asked for."""
    logprob: float | None = None
    """Log-probability of the token among those allowed, at temperature 1."""
    unmasked_logprob: float | None = None
    """The same among all tokens."""
    top: tuple[tuple[int, float, float], ...] = ()
    """Of the best allowed tokens: id, and the two log-probabilities."""

    def finish(self, token_id: int, log_mass: float, logit: float | None) -> None:
        """Enter what was drawn."""
        self.token_id, self.log_mass = token_id, log_mass
        if self.totals is not None and logit is not None:
            self.unmasked_logprob, self.logprob = logit - self.totals[0], logit - self.totals[1]


@dataclass(slots=True)
class RowRecord:
    """The draws of one row, by ascending position."""

    notes: list[DrawNote] = field(default_factory=list)
    marker: Marker | None = None
    """What gives the words of its watermark; made at the first step that needs it."""
    _contexts: set[int] = field(default_factory=set)

    @classmethod
    def of_output_without_notes(cls, output_ids: Sequence[int]) -> RowRecord:
        """Of an output whose draws were not noted: every token counts as a free draw."""
        return cls([DrawNote(position, token_id=token_id) for position, token_id in enumerate(output_ids)])

    def begin(self, position: int, *, is_free: bool) -> DrawNote:
        """A note for the draw at ``position``; those at it or behind it are dropped."""
        while self.notes and self.notes[-1].position >= position:
            dropped = self.notes.pop()
            if dropped.is_first and dropped.context is not None:
                self._contexts.discard(dropped.context)
        note = DrawNote(position, is_free)
        self.notes.append(note)
        return note

    def free_ids(self, output_ids: Sequence[int], *, before: int) -> list[int]:
        """The tokens of the free draws at positions below ``before``."""
        return [output_ids[note.position] for note in self.notes if note.is_free and note.position < before]

    def last_free_ids(self, output_ids: Sequence[int], *, before: int, count: int) -> list[int]:
        """The last ``count`` of :meth:`free_ids`, in order."""
        ids: list[int] = []
        for note in reversed(self.notes):
            if note.is_free and note.position < before:
                ids.append(output_ids[note.position])
                if len(ids) == count:
                    break
        return ids[::-1]

    def note_context(self, note: DrawNote, context: int) -> None:
        """Enter the context of a draw."""
        note.context = context
        note.is_first = context not in self._contexts
        self._contexts.add(context)

    def of_output(self, output_ids: Sequence[int], *, ended: bool) -> list[DrawNote]:
        """The notes of an output's tokens without discarded draws; with that of the end token if ``ended``."""
        last = len(output_ids) + ended
        return [note for note in self.notes if note.position < last]
