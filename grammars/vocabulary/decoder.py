"""How a piece of a tokenizer becomes bytes, read from the tokenizer's own ``decoder`` description.

A piece means what its decoder makes of it and nothing else: ``Ġ`` is a space under ``ByteLevel`` and the letter U+0120
under any other decoder, ``<0x41>`` is one byte under ``ByteFallback`` and six characters elsewhere. No piece is ever
looked at to guess which of them applies.

Decoders that read a piece differently by its place in the text (``WordPiece``, ``BPEDecoder``, ``CTC``), or that have
no meaning for a piece alone, are refused by name. One exception is kept: a blank stripped from the very start or end of
the whole text (``Strip`` after ``Fuse``, and ``Metaspace``), because a grammar describes what the model writes after a
prompt, where no such blank is stripped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from grammars.errors import VocabularyError

__all__ = ["PieceDecoder", "byte_level_alphabet"]

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_POSITIONAL = {
    "BPEDecoder": "it writes its suffix as a blank, except in the last piece",
    "CTC": "it drops pieces equal to the one before",
    "WordPiece": "it puts blanks between words, which no piece holds",
}


def byte_level_alphabet() -> str:
    """The 256 characters by which ``ByteLevel`` writes the bytes 0 to 255, in that order.

    Printable Latin-1 characters stand for themselves, the other 68 bytes for U+0100 onwards (GPT-2's table).

    >>> byte_level_alphabet()[0x20], byte_level_alphabet()[0x41]
    ('Ġ', 'A')
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return "".join(chr(byte if byte in printable else next(others)) for byte in range(256))


def _byte_of_character() -> npt.NDArray[np.int16]:
    """Byte of each code point up to one past the alphabet's last; -1: not of the alphabet."""
    codes = [ord(character) for character in byte_level_alphabet()]
    table = np.full(max(codes) + 2, -1, np.int16)
    table[codes] = np.arange(256)
    return table


@dataclass(slots=True)
class _Batch:
    """Pieces on their way through the steps: their text, or (once in ``fixed``) their bytes."""

    texts: list[str]
    fixed: dict[int, bytes]


_Step = Callable[[_Batch], None]


@dataclass(frozen=True, slots=True)
class PieceDecoder:
    """The steps of one tokenizer's decoder, each applied to every piece by itself.

    ``is_byte_level`` says whether the last step writes bytes by the byte-level alphabet.
    """

    steps: tuple[_Step, ...]
    is_byte_level: bool

    @classmethod
    def from_description(cls, description: object) -> PieceDecoder:
        """Read the value of ``decoder`` in a tokenizer's JSON.

        Raises :class:`~grammars.errors.VocabularyError` for a decoder that has no bytes for a piece alone.

        >>> decoder = PieceDecoder.from_description({"type": "ByteLevel"})
        >>> decoder.decode(["Ġhi", "é", "日"])
        [b' hi', b'\\xe9', b'\\xe6\\x97\\xa5']
        """
        if description is None:
            raise VocabularyError(
                "decoder: expected a description of how pieces become text, got null (pieces joined by blanks); "
                "use a tokenizer with a decoder, or Vocabulary.from_bytes"
            )
        steps: list[_Step] = []
        joined = byte_level = False
        for where, part in _flatten(description):
            kind = part.get("type")
            if kind in _POSITIONAL:
                raise VocabularyError(
                    f"{where}: the decoder {kind} is not supported: {_POSITIONAL[kind]}; use Vocabulary.from_bytes"
                )
            if kind == "Fuse" or (kind == "Strip" and joined):
                joined = True
            elif kind in _STEPS and not joined:
                steps.append(_STEPS[kind](where, part))
                joined = byte_level = kind == "ByteLevel"
            else:
                place = " after pieces are joined" if kind in _STEPS else ""
                raise VocabularyError(
                    f"{where}: expected one of {', '.join(sorted({*_STEPS, 'Fuse'}))}, got {kind!r}{place}; "
                    "use Vocabulary.from_bytes"
                )
        return cls(tuple(steps), byte_level)

    def decode(self, pieces: Sequence[str]) -> list[bytes]:
        """The bytes of each piece. A lone surrogate in a piece raises ``VocabularyError``."""
        batch = _Batch(list(pieces), {})
        try:
            for step in self.steps:
                step(batch)
            result = [text.encode() for text in batch.texts]
        except UnicodeEncodeError as error:
            raise VocabularyError(f"a piece holds a lone surrogate, which no text has: {error.object!r:.80}") from error
        for index, data in batch.fixed.items():
            result[index] = data
        return result


def _flatten(description: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The parts of a decoder in the order in which they work, ``Sequence``s opened, each with its place."""
    pending: list[tuple[str, object]] = [("decoder", description)]
    while pending:
        where, part = pending.pop()
        if not isinstance(part, Mapping):
            raise VocabularyError(f"{where}: expected an object with a type, got {type(part).__name__}")
        inner = part.get("decoders") if part.get("type") == "Sequence" else None
        if isinstance(inner, list):
            pending.extend((f"{where}.decoders[{index}]", inner[index]) for index in reversed(range(len(inner))))
        else:
            yield where, part


# -- steps, named as their types are --------------------------------------------------------------------------------


def _string(where: str, part: Mapping[str, Any], key: str) -> str:
    value = part.get(key)
    if not isinstance(value, str):
        raise VocabularyError(f"{where}.{key}: expected a string, got {value!r}")
    return value


def _replace(where: str, part: Mapping[str, Any]) -> _Step:
    pattern = part.get("pattern")
    if not isinstance(pattern, Mapping) or not isinstance(pattern.get("String"), str) or not pattern["String"]:
        raise VocabularyError(
            f'{where}.pattern: expected {{"String": "..."}}, got {pattern!r} (a Regex is not supported); '
            "use Vocabulary.from_bytes"
        )
    return _replacer(pattern["String"], _string(where, part, "content"))


def _metaspace(where: str, part: Mapping[str, Any]) -> _Step:
    return _replacer(_string(where, part, "replacement"), " ")


def _replacer(old: str, new: str) -> _Step:
    def replace(batch: _Batch) -> None:
        batch.texts = [text.replace(old, new) for text in batch.texts]

    return replace


def _strip(where: str, part: Mapping[str, Any]) -> _Step:
    blank = _string(where, part, "content")
    start, stop = part.get("start"), part.get("stop")
    if len(blank) != 1 or not isinstance(start, int) or not isinstance(stop, int):
        raise VocabularyError(f"{where}: expected one character and two counts, got {dict(part)!r}")

    def cut(text: str) -> str:
        left = min(start, len(text) - len(text.lstrip(blank)))
        right = min(stop, len(text) - left - len(text[left:].rstrip(blank)))
        return text[left : len(text) - right]

    def strip(batch: _Batch) -> None:
        batch.texts = [cut(text) for text in batch.texts]

    return strip


def _byte_fallback(where: str, part: Mapping[str, Any]) -> _Step:
    def read_bytes(batch: _Batch) -> None:
        for index, text in enumerate(batch.texts):
            if len(text) == 6 and text.startswith("<0x") and (match := _BYTE_PIECE.fullmatch(text)):
                byte = int(match[1], 16)
                # Later steps see the text of a byte; a part of a longer character is no text yet.
                batch.texts[index] = chr(byte) if byte < 0x80 else ""
                if byte >= 0x80:
                    batch.fixed[index] = bytes((byte,))

    return read_bytes


def _byte_level(where: str, part: Mapping[str, Any]) -> _Step:
    def read_alphabet(batch: _Batch) -> None:
        """All at once, with arrays; a piece with any character outside the alphabet stays its own text."""
        table = _byte_of_character()
        codes = np.frombuffer("".join(batch.texts).encode("utf-32-le"), np.uint32)
        values = table[np.minimum(codes, len(table) - 1)]
        ends = np.cumsum([0, *map(len, batch.texts)])
        data = values.astype(np.uint8).tobytes()
        plain = set((np.searchsorted(ends, np.flatnonzero(values < 0), side="right") - 1).tolist())
        for index, (begin, end) in enumerate(pairwise(ends.tolist())):
            if index not in plain and index not in batch.fixed:
                batch.fixed[index] = data[begin:end]

    return read_alphabet


_STEPS: dict[str, Callable[[str, Mapping[str, Any]], _Step]] = {
    "ByteFallback": _byte_fallback,
    "ByteLevel": _byte_level,
    "Metaspace": _metaspace,
    "Replace": _replace,
    "Strip": _strip,
}
