"""What a question sees: the text so far, and the value in it that ends here."""

from __future__ import annotations

import json
import sys
from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from decimal import Decimal
from json.decoder import scanstring  # type: ignore[attr-defined]
from json.encoder import encode_basestring
from typing import Any

from ..errors import LimitExceeded
from .place import Element, Place

__all__ = [
    "Reading",
    "Seen",
    "beginning_with",
    "canonical",
    "canonical_text",
    "parse",
    "plain_texts",
    "string_text",
]


_LONGEST_INTEGER = 40  # digits; longer ones written with an exponent are looked at one by one
_MOST_DIGITS = 4_000
"""Longer texts may hold integers that Python's ``int`` refuses to read."""


def parse(text: bytes) -> Any:
    """The JSON value of a text; numbers are exact: ``int``, or ``Decimal`` if written with a fraction or exponent.

    Raises LimitExceeded where it is nested more deeply than Python's reader goes.
    """
    try:
        decoder = _DECODER if len(text) < _MOST_DIGITS else _DECODER_OF_LONG_TEXTS
        return decoder.decode(text.decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise _too_deep() from None


def _whole(digits: str) -> int:
    return int(digits) if len(digits) < _MOST_DIGITS else int(Decimal(digits))


_DECODER = json.JSONDecoder(parse_float=Decimal)
_DECODER_OF_LONG_TEXTS = json.JSONDecoder(parse_float=Decimal, parse_int=_whole)


def _too_deep() -> LimitExceeded:
    return LimitExceeded("max_nesting", sys.getrecursionlimit(), "a value that a guard has to look at")


def canonical(value: Any) -> Hashable:
    """Equal for values that JSON Schema calls equal (1 and 1.0, objects in any order), different for others."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("array", *map(canonical, value))
    if isinstance(value, dict):
        return ("object", frozenset((name, canonical(inner)) for name, inner in value.items()))
    return value  # type: ignore[no-any-return]


def canonical_text(text: bytes) -> Hashable:
    """:func:`canonical` of the value that a text writes."""
    if text.isdigit():
        return int(text) if len(text) < _MOST_DIGITS else Decimal(text.decode())
    if text.startswith(b'"'):  # as json.loads does, and ten times quicker
        return str(scanstring(text.decode("utf-8", "surrogatepass"), 1)[0])
    try:
        return canonical(parse(text))
    except RecursionError:
        raise _too_deep() from None


def string_text(value: Hashable) -> bytes:
    """How ``json.dumps(value, ensure_ascii=False)`` writes a string."""
    return encode_basestring(str(value)).encode("utf-8", "surrogatepass")


def plain_texts(value: Hashable) -> list[bytes]:
    """How a value is written without needless escapes, fraction and exponent, if it can be."""
    if isinstance(value, str):
        return [string_text(value)]
    if isinstance(value, int):
        return [format(Decimal(value), "f").encode()]  # str() refuses to write thousands of digits
    if isinstance(value, Decimal) and value.adjusted() < _LONGEST_INTEGER and value == value.to_integral_value():
        return [str(int(value)).encode()]
    return []


def beginning_with(texts: list[bytes], start: bytes) -> Iterator[bytes]:
    """Those of the sorted texts that begin so."""
    for index in range(bisect_left(texts, start), len(texts)):
        if not texts[index].startswith(start):
            return
        yield texts[index]


class Seen:
    """The finished items of one array, or names of one object, by value. Follows the text forwards and back."""

    __slots__ = ("elements", "numbers", "texts")

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.numbers: dict[Hashable, int] = {}  # value -> number of the first element that has it
        self.texts: list[bytes] = []  # of the values, sorted, as far as they are plain

    def follow(self, newest: Element, reading: Reading) -> None:
        """Hold just the elements up to ``newest``."""
        if self.elements and self.elements[-1] is newest:
            return
        fresh: list[Element] = []
        element: Element | None = newest
        while element is not None and not (
            element.number <= len(self.elements) and self.elements[element.number - 1] is element
        ):
            fresh.append(element)
            element = element.before
        kept = 0 if element is None else element.number
        if kept < len(self.elements):
            del self.elements[kept:]
            self.numbers = {value: number for value, number in self.numbers.items() if number <= kept}
            self.texts = sorted(text for value in self.numbers for text in plain_texts(value))
        for element in reversed(fresh):
            self.elements.append(element)
            value = canonical_text(reading.part(element.start, element.end))
            if value not in self.numbers:
                self.numbers[value] = element.number
                for text in plain_texts(value):
                    insort(self.texts, text)


class Reading:
    """The text so far and some bytes ahead: a value, or a name, ends just there."""

    __slots__ = ("_seen", "ahead", "place", "text")

    def __init__(self, text: bytearray, ahead: bytes, place: Place, seen: dict[int, Seen]) -> None:
        self.text = text
        self.ahead = ahead
        self.place = place
        self._seen = seen

    def part(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` to ``end`` of the text and what is ahead."""
        size = len(self.text)
        if end <= size:
            return bytes(self.text[start:end])
        return bytes(self.text[start:]) + self.ahead[max(start - size, 0) : end - size]

    @property
    def value_text(self) -> bytes:
        """The text of the value, or name, that ends here."""
        return self.part(self.place.start, len(self.text) + len(self.ahead))

    @property
    def has_elements_outside(self) -> bool:
        """Whether some array or object around the innermost one has finished items or names."""
        frame = self.place.frame
        while frame is not None:
            frame = frame.below
            if frame is not None and frame.elements is not None:
                return True
        return False

    @property
    def earlier(self) -> dict[Hashable, int]:
        """The items, or names, before it in the same array or object, by their canonical form."""
        seen = self._seen_here()
        return {} if seen is None else seen.numbers

    @property
    def earlier_texts(self) -> list[bytes]:
        """How those of them are written that can be written plainly: sorted."""
        seen = self._seen_here()
        return [] if seen is None else seen.texts

    def _seen_here(self) -> Seen | None:
        frame = self.place.frame
        if frame is None or frame.elements is None:
            return None
        seen = self._seen.get(frame.start)
        if seen is None:
            seen = self._seen[frame.start] = Seen()
        seen.follow(frame.elements, self)
        return seen
