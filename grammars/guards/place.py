"""Where a text stands in JSON: what is open, and where each part began.

JSON is read one way only, whatever grammar it follows, so this needs the text alone; other text does no harm. A place
is immutable: going on makes a new one, and the old one still holds for whoever goes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["BETWEEN", "NUMBER", "STRING", "Element", "Frame", "Place", "advance", "starting_at"]

BETWEEN: Final = 0  # outside of strings and scalars
STRING: Final = 1
ESCAPE: Final = 2  # in a string, behind a backslash
NUMBER: Final = 3  # in a number, true, false or null: ends with the byte behind it

_PLAIN = re.compile(rb'[^"\\]*')
_SCALAR = re.compile(rb"[^\s,:\[\]{}\"]*")
_SPACE = re.compile(rb"[ \t\n\r]*")


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """A finished item of an array or name of an object, and the one before it."""

    before: Element | None
    start: int
    end: int
    number: int
    """How many there are up to this one."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """An open array or object."""

    below: Frame | None
    is_array: bool
    start: int
    elements: Element | None
    """The newest finished item, or name."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A place in a text."""

    mode: int
    start: int
    """Where the value or name began that is open, or that was finished last."""
    end: int
    """Where it was finished; -1 while it is open."""
    frame: Frame | None


def starting_at(offset: int) -> Place:
    """Where JSON begins."""
    return Place(BETWEEN, offset, offset, None)


def advance(place: Place, data: bytes, at: int) -> Place:
    """The place behind ``data``, whose first byte has the offset ``at`` in the text."""
    mode, start, end, frame = place.mode, place.start, place.end, place.frame
    index, size = 0, len(data)
    while index < size:
        if mode == STRING:
            index = _PLAIN.match(data, index).end()  # type: ignore[union-attr]
            if index < size:
                if data[index] == 0x22:
                    mode, end = BETWEEN, at + index + 1
                else:
                    mode = ESCAPE
                index += 1
        elif mode == ESCAPE:
            mode = STRING
            index += 1
        elif mode == NUMBER:
            index = _SCALAR.match(data, index).end()  # type: ignore[union-attr]
            if index < size:
                mode, end = BETWEEN, at + index
        else:
            byte = data[index]
            if byte == 0x22:
                mode, start, end = STRING, at + index, -1
            elif byte in b"[{":
                frame = Frame(frame, byte == 0x5B, at + index, None)
                start, end = at + index, -1
            elif byte in b"]}":
                if frame is not None:  # else this is text before any JSON
                    start, end, frame = frame.start, at + index + 1, frame.below
            elif frame is not None and byte == (0x2C if frame.is_array else 0x3A):
                before = frame.elements
                element = Element(before, start, end, 1 if before is None else before.number + 1)
                frame = Frame(frame.below, frame.is_array, frame.start, element)
            elif byte not in b" \t\n\r,:":
                mode, start, end = NUMBER, at + index, -1
            index += 1
    return Place(mode, start, end, frame)
