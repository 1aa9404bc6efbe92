"""Follows the text of one sequence, and answers what the guards of its grammar ask."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import cast

from .place import ESCAPE, STRING, Place, advance, starting_at
from .questions import Ahead, Comparison, JsonBegins, Question
from .reading import Reading, Seen

__all__ = ["Judge", "marks_of"]

MOST_ANSWERS = 4_096
LONGEST_ANSWERED = 256
"""Bytes; what is longer comes by itself, not among the tokens of a bitmask, and would fill the memory."""


def marks_of(guards: Sequence[Hashable]) -> frozenset[int]:
    """The guards of an IR that ask nothing, but say where JSON begins."""
    return frozenset(guard for guard, question in enumerate(guards) if isinstance(question, JsonBegins))


class Judge:
    """The text of one sequence and the places in it; goes back as the sequence does.

    It is behind the sequence until a guard is asked: then :meth:`follow` catches up.
    """

    __slots__ = (
        "_answers",
        "_begins",
        "_counts",
        "_lengths",
        "_places",
        "_seen",
        "_way",
        "compares",
        "marks",
        "passes",
        "questions",
        "text",
    )

    def __init__(self, guards: Sequence[Hashable]) -> None:
        """``guards``: those of an IR, each a :class:`Question`."""
        self.questions = cast(Sequence[Question], guards)
        self.marks = marks_of(guards)
        """The guards that only say where JSON begins."""
        self.passes: list[int] = []
        """Pieces during which some guard was asked and agreed."""
        compares = (guard for guard, one in enumerate(self.questions) if isinstance(one, Comparison | JsonBegins))
        self.compares = frozenset(compares)
        """The guards that compare a value with others."""
        self.text = bytearray()
        self._begins: list[int] = []
        self._places: list[Place] = [starting_at(0)]  # where it caught up
        self._lengths: list[int] = [0]  # of the text at each place
        self._counts: list[int] = [0]  # of the pieces up to each place
        self._seen: dict[int, Seen] = {}
        self._answers: dict[tuple[int, bytes], bool] = {}
        self._way: tuple[bytes, int, Place] | None = None
        """How far it was looked ahead last: the bytes, ``begin``, and the place behind them."""

    @property
    def num_pieces(self) -> int:
        """How many pieces of text were followed."""
        return self._counts[-1]

    def may_deny(self, guards: Iterable[int]) -> bool:
        """Whether a guard may deny the first value that ends: not if all compare, and there is nothing yet."""
        return bool(self.passes) or not self.compares.issuperset(guards)

    def follow(self, pieces: Sequence[bytes]) -> None:
        """The text goes on with ``pieces``."""
        if not pieces:
            return
        self._answers.clear()
        joined = b"".join(pieces)
        size = len(self.text)
        begin = self._begins[-1] - size if self._begins else -1
        self._places.append(self._ahead(joined, begin if 0 < begin <= len(joined) else -1))
        self._way = None
        self._counts.append(self._counts[-1] + len(pieces))
        self.text += joined
        self._lengths.append(len(self.text))

    def go_back(self, num_pieces: int) -> None:
        """Forget what came behind ``num_pieces`` pieces, and perhaps some before: those are to be followed again."""
        while self.passes and self.passes[-1] >= num_pieces:
            self.passes.pop()
        if num_pieces < self.num_pieces:
            while self._counts[-1] > num_pieces:
                self._places.pop()
                self._lengths.pop()
                self._counts.pop()
            del self.text[self._lengths[-1] :]
            while self._begins and self._begins[-1] > len(self.text):
                self._begins.pop()
            self._answers.clear()
            self._way = None

    def copy(self) -> Judge:
        """An independent judge of the same text."""
        other = Judge(cast(Sequence[Hashable], self.questions))
        other.passes = self.passes.copy()
        other.text = self.text.copy()
        other._begins = self._begins.copy()
        other._places = self._places.copy()
        other._lengths = self._lengths.copy()
        other._counts = self._counts.copy()
        return other

    def json_begins(self, ahead: int) -> None:
        """JSON begins ``ahead`` bytes behind the text that was followed; for the piece to be followed next."""
        self._begins.append(len(self.text) + ahead)

    def agrees(self, guard: int, ahead: bytes, begin: int = -1) -> bool:
        """The answer to a guard's question if the text goes on with ``ahead`` and a value ends there.

        ``begin``: how many of these bytes come before the JSON text that the value is a part of, -1: it began before.
        """
        if guard in self.marks:
            return True
        answer = self._answers.get((guard, ahead))
        if answer is None:
            reading = Reading(self.text, ahead, self._ahead(ahead, begin), self._seen)
            answer = self.questions[guard].holds(reading)
            if len(self._answers) < MOST_ANSWERS and len(ahead) <= LONGEST_ANSWERED:
                self._answers[guard, ahead] = answer
        return answer

    def _ahead(self, ahead: bytes, begin: int) -> Place:
        size, done = len(self.text), max(begin, 0)
        place = self._places[-1] if begin < 0 else starting_at(size + begin)
        if self._way is not None and self._way[1] == begin and ahead.startswith(self._way[0]):
            done, place = len(self._way[0]), self._way[2]  # so that long texts are read once, not from each guard on
        place = advance(place, ahead[done:], size + done)
        self._way = ahead, begin, place
        return place

    @property
    def is_in_string(self) -> bool:
        """Whether the text ends inside a string."""
        return self._places[-1].mode in (STRING, ESCAPE)

    def denied_ahead(self, guards: Iterable[int]) -> Ahead:
        """After what one of the guards may not agree."""
        reading = Reading(self.text, b"", self._places[-1], self._seen)
        found = [self.questions[guard].denied_ahead(reading) for guard in guards]
        if len(found) == 1:
            return found[0]
        return Ahead(
            None if any(one.plain is None for one in found) else frozenset().union(*(one.plain or () for one in found)),
            any(one.spelled for one in found),
            any(one.beyond for one in found),
        )
