"""Follows the text of one sequence, and answers what the guards of its grammar ask."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

from .place import Place, advance, starting_at
from .questions import JsonBegins, Question
from .reading import Reading, Seen

__all__ = ["Judge"]

MOST_ANSWERS = 4_096


class Judge:
    """The text of one sequence and the places in it; goes back as the sequence does.

    It is behind the sequence until a guard is asked: then :meth:`follow` catches up.
    """

    __slots__ = ("_answers", "_begins", "_lengths", "_places", "_seen", "marks", "questions", "text")

    def __init__(self, guards: Sequence[Hashable]) -> None:
        """``guards``: those of an IR, each a :class:`Question`."""
        self.questions = cast(Sequence[Question], guards)
        self.marks = frozenset(guard for guard, one in enumerate(self.questions) if isinstance(one, JsonBegins))
        """The guards that only say where JSON begins."""
        self.text = bytearray()
        self._begins: list[int] = []
        self._places: list[Place] = [starting_at(0)]
        self._lengths: list[int] = [0]  # of the text at each place
        self._seen: dict[int, Seen] = {}
        self._answers: dict[tuple[int, bytes], bool] = {}

    @property
    def num_pieces(self) -> int:
        """How many pieces of text were followed."""
        return len(self._places) - 1

    def follow(self, piece: bytes) -> None:
        """The text goes on with ``piece``."""
        if piece:
            self._answers.clear()
        size = len(self.text)
        begin = self._begins[-1] - size if self._begins else -1
        self._places.append(self._ahead(piece, begin if 0 < begin <= len(piece) else -1))
        self.text += piece
        self._lengths.append(len(self.text))

    def go_back(self, num_pieces: int) -> None:
        """The text is again what it was after ``num_pieces`` pieces."""
        if num_pieces < self.num_pieces:
            del self._places[num_pieces + 1 :]
            del self._lengths[num_pieces + 1 :]
            del self.text[self._lengths[-1] :]
            while self._begins and self._begins[-1] > len(self.text):
                self._begins.pop()
            self._answers.clear()

    def copy(self) -> Judge:
        """An independent judge of the same text."""
        other = Judge(cast(Sequence[Hashable], self.questions))
        other.text = self.text.copy()
        other._begins = self._begins.copy()
        other._places = self._places.copy()
        other._lengths = self._lengths.copy()
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
            if len(self._answers) < MOST_ANSWERS:
                self._answers[guard, ahead] = answer
        return answer

    def _ahead(self, ahead: bytes, begin: int) -> Place:
        size = len(self.text)
        if begin < 0:
            return advance(self._places[-1], ahead, size)
        return advance(starting_at(size + begin), ahead[begin:], size + begin)

    def denied_ahead(self, guards: Sequence[int]) -> set[bytes] | None:
        """The plain bytes after which one of the guards may not agree (see :meth:`Question.denied_ahead`)."""
        reading = Reading(self.text, b"", self._places[-1], self._seen)
        denied: set[bytes] = set()
        for guard in guards:
            some = self.questions[guard].denied_ahead(reading)
            if some is None:
                return None
            denied |= some
        return denied
