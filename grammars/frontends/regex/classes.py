r"""Sets of characters by name: ``\d``, ``\w``, ``\s``, the dot, and Unicode properties.

The sets of the dialect ``python`` are read off the running interpreter (``re`` itself says what ``\w`` is), so they
agree with it whatever its Unicode version. Properties come from the library ``regex``, which carries the Unicode
database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

import numpy as np

from ...ir.charset import ANY, MAX_CODE_POINT, Charset, difference, from_ranges, union
from .ast import Dialect, Flags

__all__ = ["UnknownProperty", "dot", "line_ends", "shorthand", "unicode_property"]

_ASCII_WORD = from_ranges(((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)))
_LINE_ENDS: dict[Dialect, Charset] = {
    "python": ((0x0A, 0x0A),),
    "ecma": from_ranges(((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))),
}


class UnknownProperty(LookupError):
    """The Unicode database has no such property."""


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


def _all_text() -> str:
    """Every code point in order, so that an index into it is a code point."""
    return np.arange(MAX_CODE_POINT + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _spans(matches: Iterable[_Match]) -> Charset:
    return from_ranges((start, end - 1) for start, end in (match.span() for match in matches))


@lru_cache(maxsize=8)
def _python_class(letter: str, flags: int) -> Charset:
    return _spans(re.compile(rf"\{letter}+", flags).finditer(_all_text()))


@lru_cache(maxsize=1)
def _ecma_space() -> Charset:
    """WhiteSpace and LineTerminator of ECMA-262."""
    written = ((0x09, 0x0D), (0xFEFF, 0xFEFF))
    return union(from_ranges(written), unicode_property("Zs", None), _LINE_ENDS["ecma"])


def shorthand(letter: str, dialect: Dialect, flags: Flags) -> Charset:
    r"""The members of ``\d``, ``\w`` or ``\s``.

    >>> shorthand("d", "ecma", Flags.NONE)
    ((48, 57),)
    """
    if dialect == "python":
        return _python_class(letter, re.ASCII if flags & Flags.ASCII else 0)
    if letter == "d":
        return ((0x30, 0x39),)
    if letter == "s":
        return _ecma_space()
    # With the flags i and u, what folds to a word character is one too (ECMA-262, WordCharacters).
    extra = ((0x17F, 0x17F), (0x212A, 0x212A)) if flags & Flags.IGNORECASE else ()
    return union(_ASCII_WORD, extra)


def line_ends(dialect: Dialect) -> Charset:
    """The characters at which a line ends."""
    return _LINE_ENDS[dialect]


def dot(dialect: Dialect, flags: Flags) -> Charset:
    """What the dot matches."""
    if flags & Flags.DOTALL:
        return ANY
    return difference(ANY, line_ends(dialect))


@lru_cache(maxsize=256)
def unicode_property(name: str, value: str | None) -> Charset:
    r"""The members of ``\p{name}`` or ``\p{name=value}``; names are matched loosely, as Unicode (UAX 44) says.

    Raises :class:`UnknownProperty`.

    >>> unicode_property("Script", "Ogham")
    ((5760, 5788),)
    """
    import regex  # type: ignore[import-untyped]  # costs some milliseconds, and few patterns need it

    text = name if value is None else f"{name}={value}"
    try:
        compiled = regex.compile(rf"\p{{{text}}}+", regex.V1)
    except regex.error:
        raise UnknownProperty(text) from None
    return _spans(compiled.finditer(_all_text()))
