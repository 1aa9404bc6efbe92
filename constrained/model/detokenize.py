"""Bytes of tokens to text, as they come."""

from __future__ import annotations

import codecs

__all__ = ["StreamDetokenizer"]


class StreamDetokenizer:
    """Gives text as soon as it is complete: a character that several tokens share waits for its last byte.

    Bytes that are no UTF-8 come out as U+FFFD, as in ``bytes.decode("utf-8", "replace")``; the pieces joined equal the
    whole decoded at once.

    >>> stream = StreamDetokenizer()
    >>> [stream.feed(b"caf"), stream.feed(b"\\xc3"), stream.feed(b"\\xa9!"), stream.finish()]
    ['caf', '', 'é!', '']
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """Text completed by ``data``; may be empty."""
        return self._decoder.decode(data)

    def finish(self) -> str:
        """What is left: U+FFFD if the last character was cut off, else nothing. The stream starts anew."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest
