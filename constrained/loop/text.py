"""Output text as it comes: whole characters only, and nothing that may turn out to be a stop text."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

__all__ = ["OutputText"]


class OutputText:
    """Takes the bytes of tokens, gives text that will not be taken back.

    An incomplete character is held back, and so is the longest end of the text that begins a stop text. Bytes that are
    not UTF-8 become U+FFFD, one each.

    >>> text = OutputText(stop=["END"])
    >>> [text.feed(piece) for piece in (b"caf\\xc3", b"\\xa9 E", b"N", b"x")]
    ['caf', 'é ', '', 'ENx']
    >>> text.feed(b" EN"), text.feed(b"D of it"), text.is_stopped, text.whole
    (' ', '', True, 'café ENx ')
    """

    def __init__(self, *, stop: Sequence[str] = ()) -> None:
        self._stop = tuple(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._given: list[str] = []
        self.is_stopped = False
        """Whether a stop text came."""

    @property
    def whole(self) -> str:
        """All text given so far."""
        return "".join(self._given)

    def feed(self, data: bytes) -> str:
        """Take the bytes of the next token; give the text that is settled by it."""
        if self.is_stopped:
            return ""
        return self._settle(self._held + self._decoder.decode(data))

    def finish(self) -> str:
        """The text that was held back; an incomplete last character is left out."""
        settled, self._held = self._held, ""
        return self._give(settled)

    def _settle(self, text: str) -> str:
        found = [place for place in (text.find(stop) for stop in self._stop) if place >= 0]
        if found:
            self.is_stopped = True
            self._held = ""
            return self._give(text[: min(found)])
        num_held = max((_longest_start(text, stop) for stop in self._stop), default=0)
        self._held = text[len(text) - num_held :]
        return self._give(text[: len(text) - num_held])

    def _give(self, text: str) -> str:
        self._given.append(text)
        return text


def _longest_start(text: str, stop: str) -> int:
    """How many last characters of ``text`` are the first of ``stop``, at most, short of all of it."""
    lengths = range(min(len(text), len(stop) - 1), 0, -1)
    return next((length for length in lengths if text.endswith(stop[:length])), 0)
