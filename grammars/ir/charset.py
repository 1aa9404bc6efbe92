"""Sets of Unicode code points as sorted, disjoint, non-adjacent inclusive ranges.

A :data:`Charset` is an immutable tuple, so it can key a cache. Surrogates (U+D800..U+DFFF) are never members: no
UTF-8 text holds them.

>>> union(((97, 99),), ((100, 100),))
((97, 100),)
>>> difference(((97, 122),), ((98, 98),))
((97, 97), (99, 122))
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ANY",
    "ASCII_JSON_TEXT",
    "JSON_TEXT",
    "MAX_CODE_POINT",
    "Charset",
    "complement",
    "contains",
    "difference",
    "from_ranges",
    "intersection",
    "meets",
    "union",
]

Charset = tuple[tuple[int, int], ...]
"""Sorted, disjoint, non-adjacent inclusive ranges of code points."""

MAX_CODE_POINT = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)


def from_ranges(ranges: Iterable[tuple[int, int]]) -> Charset:
    """The set of all code points in any of ``ranges`` (inclusive, in any order), without surrogates."""
    merged = _merge(ranges)
    return _subtract(merged, (_SURROGATES,))


def _merge(ranges: Iterable[tuple[int, int]]) -> Charset:
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if low > high:
            continue
        if result and low <= result[-1][1] + 1:
            if high > result[-1][1]:
                result[-1] = (result[-1][0], high)
        else:
            result.append((low, high))
    return tuple(result)


def _subtract(left: Charset, right: Charset) -> Charset:
    result: list[tuple[int, int]] = []
    index = 0
    for low, high in left:
        while index < len(right) and right[index][1] < low:
            index += 1
        scan = index
        while scan < len(right) and right[scan][0] <= high:
            hole_low, hole_high = right[scan]
            if hole_low > low:
                result.append((low, hole_low - 1))
            low = hole_high + 1
            scan += 1
        if low <= high:
            result.append((low, high))
    return tuple(result)


def union(*sets: Charset) -> Charset:
    """Members of any of the sets."""
    return _merge(piece for one in sets for piece in one)


def difference(left: Charset, right: Charset) -> Charset:
    """Members of ``left`` that are not in ``right``."""
    return _subtract(left, right)


def complement(charset: Charset) -> Charset:
    """All code points (surrogates excepted) that are not members."""
    return _subtract(ANY, charset)


def intersection(left: Charset, right: Charset) -> Charset:
    """Members of both."""
    return _subtract(left, _subtract(ANY, right))


def contains(outer: Charset, inner: Charset) -> bool:
    """Whether every member of ``inner`` is in ``outer``."""
    return not _subtract(inner, outer)


def meets(left: Charset, right: Charset) -> bool:
    """Whether the sets have a member in common.

    >>> meets(((97, 99),), ((99, 100),)), meets(((97, 99),), ((100, 101),))
    (True, False)
    """
    place = 0
    for low, high in left:
        while place < len(right) and right[place][1] < low:
            place += 1
        if place < len(right) and right[place][0] <= high:
            return True
    return False


ANY: Charset = _subtract(((0, MAX_CODE_POINT),), (_SURROGATES,))
"""Every code point that UTF-8 can write."""

JSON_TEXT: Charset = from_ranges(((0x20, 0x21), (0x23, 0x5B), (0x5D, MAX_CODE_POINT)))
"""What may stand unescaped inside a JSON string (RFC 8259 section 7)."""

ASCII_JSON_TEXT: Charset = from_ranges(((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E)))
"""What ``json.dumps`` leaves unescaped by default."""
