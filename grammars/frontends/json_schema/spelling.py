"""How JSON spells strings, as small automata over bytes.

The canonical spelling writes every character raw but for quotes, backslashes and controls, which get the escapes
that ``json.dumps(..., ensure_ascii=False)`` gives them; so every string has exactly one spelling. The open
spelling also takes every other escape that means the same character; half of a surrogate pair is never taken.
In ASCII the canonical spelling is that of ``json.dumps(..., ensure_ascii=True)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from json.encoder import encode_basestring_ascii

from ...ir.charset import ANY, ASCII_JSON_TEXT, JSON_TEXT, Charset, difference, from_ranges, intersection
from ...ir.utf8 import Fragment

__all__ = [
    "all_escapes",
    "by_number",
    "canonical_escapes",
    "hex_fragment",
    "json_text",
    "raw_characters",
]

_SHORT_ESCAPES = {0x22: b'\\"', 0x5C: b"\\\\", 0x08: b"\\b", 0x0C: b"\\f", 0x0A: b"\\n", 0x0D: b"\\r", 0x09: b"\\t"}
_ESCAPED: Charset = from_ranges(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))


_BY_NUMBER: Charset = difference(ANY, from_ranges(((0, 0x7E),)))
"""What is written by number in ASCII, and raw otherwise."""


def raw_characters(members: Charset, *, only_ascii: bool) -> Charset:
    """Those of the members that may stand unescaped."""
    return intersection(members, ASCII_JSON_TEXT if only_ascii else JSON_TEXT)


def by_number(members: Charset) -> Charset:
    """Those of the members that are written by number in ASCII."""
    return intersection(members, _BY_NUMBER)


def json_text(text: str, *, only_ascii: bool = False) -> bytes:
    """The canonical JSON string of ``text``, quotes included.

    >>> json_text('a"\\n\\x01é')
    b'"a\\\\"\\\\n\\\\u0001\\xc3\\xa9"'
    >>> json_text("é", only_ascii=True)
    b'"\\\\u00e9"'
    """
    if only_ascii:
        return encode_basestring_ascii(text).encode()
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return b'"' + text.encode() + b'"'
    parts = bytearray(b'"')
    for character in text:
        code = ord(character)
        short = _SHORT_ESCAPES.get(code)
        if short is not None:
            parts += short
        elif code < 0x20:
            parts += b"\\u%04x" % code
        else:
            parts += character.encode()
    return bytes(parts + b'"')


def canonical_escapes(members: Charset) -> tuple[bytes, ...]:
    """The escapes that spell those ``members`` that cannot stand raw."""
    codes = [code for low, high in intersection(members, _ESCAPED) for code in range(low, high + 1)]
    return tuple(_SHORT_ESCAPES.get(code) or b"\\u%04x" % code for code in codes)


# -- escapes by code point ----------------------------------------------------------------------------------------


def _hex_ranges(low: int, high: int, digits: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Split ``low..high`` into runs of hexadecimal digits that vary on their own."""
    if digits == 0:
        yield ()
        return
    unit = 16 ** (digits - 1)
    first, last = low // unit, high // unit
    if first == last:
        for rest in _hex_ranges(low % unit, high % unit, digits - 1):
            yield ((first, first), *rest)
        return
    if low % unit:
        for rest in _hex_ranges(low % unit, unit - 1, digits - 1):
            yield ((first, first), *rest)
        first += 1
    whole_end = last if high % unit == unit - 1 else last - 1
    if first <= whole_end:
        yield ((first, whole_end), *([(0, 15)] * (digits - 1)))
    if whole_end < last:
        for rest in _hex_ranges(0, high % unit, digits - 1):
            yield ((last, last), *rest)


def _hex_bytes(low: int, high: int, *, either_case: bool) -> Iterator[tuple[int, int]]:
    """The bytes that write the digits ``low..high``."""
    if low <= 9:
        yield (48 + low, 48 + min(high, 9))
    if high >= 10:
        first = max(low, 10)
        if either_case:
            yield (55 + first, 55 + high)
        yield (87 + first, 87 + high)


def _units(members: Charset) -> Iterator[tuple[tuple[int, int], ...]]:
    """The members as ranges of UTF-16 units: one for the basic plane, two for the rest."""
    for low, high in members:
        if low <= 0xFFFF:
            yield ((low, min(high, 0xFFFF)),)
        low = max(low, 0x10000)
        while low <= high:
            lead = (low - 0x10000) >> 10
            start = (low - 0x10000) & 0x3FF
            if start == 0 and (high - 0x10000) >> 10 > lead:  # whole blocks at once
                last = ((high - 0x10000 + 1) >> 10) - 1
                yield ((0xD800 + lead, 0xD800 + last), (0xDC00, 0xDFFF))
                low = 0x10000 + ((last + 1) << 10)
                continue
            end = min(high, 0x10000 + (lead << 10) + 0x3FF)
            yield ((0xD800 + lead, 0xD800 + lead), (0xDC00 + start, 0xDC00 + ((end - 0x10000) & 0x3FF)))
            low = end + 1


@lru_cache(maxsize=512)
def hex_fragment(members: Charset, *, either_case: bool = True) -> Fragment:
    r"""``\uXXXX`` for each member, a pair of them where one is not enough; digits in lower case, or in either."""
    edges: list[tuple[int, int, int, int]] = []
    count = 2
    for units in _units(members):
        sequences = [list(_hex_ranges(low, high, 4)) for low, high in units]
        starts = {0}
        for index, choices in enumerate(sequences):
            target_of_unit = 1 if index == len(sequences) - 1 else count
            count += index < len(sequences) - 1
            for start in starts:
                edges.append((start, 92, 92, count))
                edges.append((count, 117, 117, count + 1))
                opened = count + 1
                count += 2
                for digits in choices:
                    state = opened
                    for place, (low, high) in enumerate(digits):
                        target = target_of_unit if place == 3 else count
                        count += place < 3
                        ways = _hex_bytes(low, high, either_case=either_case)
                        edges.extend((state, first, last, target) for first, last in ways)
                        state = target
            starts = {target_of_unit}
    return count, tuple(edges)


def all_escapes(members: Charset) -> tuple[bytes, ...]:
    """The two-character escapes of ``members`` that are not plain, the idle one of the slash included."""
    short = tuple(text for code, text in _SHORT_ESCAPES.items() if any(low <= code <= high for low, high in members))
    return (*short, b"\\/") if any(low <= 0x2F <= high for low, high in members) else short
