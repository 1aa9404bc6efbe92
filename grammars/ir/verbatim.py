"""Verbatim text: any run of neighbouring units (words, or characters) of a document.

What a *word* is has to be told from its own characters, without a dictionary: a run of letters, marks, digits and
underscores, with an apostrophe between two letters and a point or comma between two digits. Every other character that
is not white space is a word by itself. So ``$12.50`` is two words, ``don't`` is one, and a text in a language without
spaces is one long word: take characters there.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import SourceError
from .nodes import IR, Int32Array

__all__ = [
    "DEFAULT_UNIT",
    "UNITS",
    "Spelled",
    "Spelling",
    "Unit",
    "Verbatim",
    "bind_source",
    "check_source",
    "document_of",
    "spell",
    "unit_bounds",
    "written",
]

Unit = Literal["words", "characters"]
Spelling = Literal["plain", "json", "ascii_json"]
"""``plain``: as it is; ``json``: as the inside of a JSON string, in its canonical spelling; ``ascii_json``: in that of
``json.dumps(..., ensure_ascii=True)``."""
UNITS: Final = ("words", "characters")
DEFAULT_UNIT: Final[Unit] = "words"
BoolArray = npt.NDArray[np.bool_]
AnyIR = TypeVar("AnyIR", bound=IR)

_NO_SOURCE = "verbatim text needs a source to be taken from, and none was given; pass the text as source=..."
_WORD, _DIGIT, _LETTER, _SPACE, _APOSTROPHE, _POINT = 1, 2, 4, 8, 16, 32


class Verbatim(NamedTuple):
    """What one VERBATIM node takes from."""

    document: str | None
    """``None``: the source that is given when the grammar is compiled."""
    by: Unit
    spelling: Spelling


def check_source(text: str, what: str = "source") -> None:
    """Raise :class:`~grammars.errors.SourceError` for a text that nothing can be taken from.

    >>> check_source(" ")
    Traceback (most recent call last):
    ...
    grammars.errors.SourceError: source: expected a text to take verbatim pieces from, got one of white space only
    """
    if not isinstance(text, str):
        raise SourceError(f"{what}: expected a str, got {type(text).__name__}; decode it first")
    if not text.strip():
        got = "one of white space only" if text else "an empty one"
        raise SourceError(f"{what}: expected a text to take verbatim pieces from, got {got}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SourceError(f"{what}: half of a surrogate pair at index {error.start}, which no text can hold") from None


def bind_source(ir: AnyIR, source: str | None) -> AnyIR:
    """The same grammar with its verbatim pieces taken from ``source``, those apart that have a document of their own.

    Raises :class:`~grammars.errors.SourceError` for a source that holds nothing. Without one the grammar stays as
    it is, and what needs a source is told when its network is built.
    """
    if source is None or all(verbatim.document is not None for verbatim in ir.verbatims):
        return ir
    check_source(source)
    bound = (one if one.document is not None else one._replace(document=source) for one in ir.verbatims)
    return replace(ir, verbatims=tuple(bound))


def unit_bounds(text: str, by: Unit) -> tuple[BoolArray, BoolArray]:
    """(N,) twice, for each character: whether a unit begins with it, and whether one ends with it.

    Whether a unit begins is told from the characters before only, so that a reader who came from a beginning knows it.

    >>> begins, ends = unit_bounds("it's $1.50", "words")
    >>> [i for i, b in enumerate(begins) if b], [i for i, e in enumerate(ends) if e]
    ([0, 5, 6], [3, 5, 9])
    """
    if by == "characters":
        everywhere = np.ones(len(text), np.bool_)
        return everywhere, everywhere
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    classes = _class_table(text)[points]
    word, digit, letter = (classes & bit != 0 for bit in (_WORD, _DIGIT, _LETTER))
    space, apostrophe, point = (classes & bit != 0 for bit in (_SPACE, _APOSTROPHE, _POINT))
    # an apostrophe behind a letter and a point behind a digit may go on with the word; with what is seen ahead, they do
    after_letter, after_digit = apostrophe & _before(letter), point & _before(digit)
    glued = _before(word) & word | _before(after_letter) & letter | _before(after_digit) & digit
    begins = ~space & ~glued & ~after_letter & ~after_digit
    joins = glued | after_letter & _behind(letter) | after_digit & _behind(digit)
    ends = ~space & ~_behind(joins)
    return begins, ends


def _before(values: BoolArray) -> BoolArray:
    """At each place, the value of the place before."""
    return np.concatenate((np.zeros(1, np.bool_), values[:-1]))


def _behind(values: BoolArray) -> BoolArray:
    return np.concatenate((values[1:], np.zeros(1, np.bool_)))


def _class_table(text: str) -> npt.NDArray[np.uint8]:
    """By code point, for those in the text: what words are made of."""
    characters = set(text)
    table = np.zeros(ord(max(characters, default="\0")) + 1, np.uint8)
    for character in characters:
        category = unicodedata.category(character)
        bits = 0
        if category[0] in "LMN" or category in ("Pc", "Cf"):  # the joiners of Indic and Persian words are formats
            bits |= _WORD
        if category == "Nd":
            bits |= _DIGIT
        if category[0] in "LM":
            bits |= _LETTER
        if character.isspace():
            bits |= _SPACE
        if character in "'\N{RIGHT SINGLE QUOTATION MARK}":
            bits |= _APOSTROPHE
        if character in ".,":
            bits |= _POINT
        table[ord(character)] = bits
    return table


class Spelled(NamedTuple):
    """A document of N characters, K different ones, from the first unit's beginning to the last one's end."""

    symbols: Int32Array
    """(N,) the number of each character, doubled, and 1 more where a unit begins."""
    ends: Int32Array
    """(N,) 1 where a unit ends with this character."""
    data: Int32Array
    """The bytes that each character is written with, one behind the other; none begins another."""
    offsets: Int32Array
    """(K + 1,) where those of each begin. Characters are numbered in the order of their bytes."""


def written(text: str, spelling: Spelling) -> bytes:
    r"""How a text is written.

    >>> written('"é', "plain"), written('"é', "json"), written('"é', "ascii_json")
    (b'"\xc3\xa9', b'\\"\xc3\xa9', b'\\"\\u00e9')
    """
    return (text if spelling == "plain" else json.dumps(text, ensure_ascii=spelling != "json")[1:-1]).encode()


def spell(verbatim: Verbatim) -> Spelled:
    """The characters of a document with the bounds of its units. Raises SourceError where there is no document yet."""
    text = document_of(verbatim)
    begins, ends = unit_bounds(text, verbatim.by)
    first, last = int(np.argmax(begins)), len(ends) - int(np.argmax(ends[::-1]))
    characters = sorted((written(character, verbatim.spelling), character) for character in set(text))
    numbers = np.zeros(ord(max(text)) + 1, np.int32)
    numbers[[ord(character) for _, character in characters]] = np.arange(len(characters))
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)[first:last]
    spellings = [spelling for spelling, _ in characters]
    return Spelled(
        2 * numbers[points] + begins[first:last],
        ends[first:last].astype(np.int32),
        np.frombuffer(b"".join(spellings), np.uint8).astype(np.int32),
        np.cumsum([0, *map(len, spellings)], dtype=np.int32),
    )


def document_of(verbatim: Verbatim) -> str:
    """The document. Raises SourceError where there is none yet."""
    if verbatim.document is None:
        raise SourceError(_NO_SOURCE)
    return verbatim.document
