r"""The leaves of a GBNF grammar: literals, character classes, escapes, counts.

The escapes are those of llama.cpp (``\n \r \t \\ \" \[ \] \x41 \u00e9 \U0001F600``); any other escaped ASCII
punctuation character stands for itself.
"""

from __future__ import annotations

import re
from typing import NoReturn

from ...errors import CfgError, LimitExceeded
from ...ir.charset import Charset, complement, from_ranges
from ...limits import Limits
from .gbnf_ast import Characters, Span, Text

__all__ = ["NAME", "fail", "line_column", "scan_brackets", "scan_counts", "scan_text", "skip_blanks"]

NAME = re.compile(r"[A-Za-z_0-9](?:[A-Za-z0-9_]|-(?!>))*")

_BLANKS = re.compile(r"(?:[ \t\r\n\f\v]+|#[^\n]*)*")
_PLAIN = re.compile(r'[^"\\]+')
_COUNTS = re.compile(r"\{[ \t]*([0-9]*)[ \t]*(?:(,)[ \t]*([0-9]*)[ \t]*)?\}")
_CONTROLS = {"n": 0x0A, "r": 0x0D, "t": 0x09}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_SHORTHANDS = {
    "d": "[0-9]",
    "w": "[A-Za-z0-9_]",
    "s": r"[ \t\n\r]",
    "D": "[^0-9]",
    "W": "[^A-Za-z0-9_]",
    "S": r"[^ \t\n\r]",
}


def fail(message: str, text: str, position: int) -> NoReturn:
    """Raise the error of a place in a grammar text."""
    raise CfgError(message, text, position)


def line_column(text: str, position: int) -> str:
    """``line:column`` of a place, both from 1."""
    return f"{text.count(chr(10), 0, position) + 1}:{position - text.rfind(chr(10), 0, position)}"


def skip_blanks(text: str, position: int) -> int:
    """Where the next character is that is neither blank nor in a comment."""
    match = _BLANKS.match(text, position)
    assert match is not None  # it may be empty
    return match.end()


def scan_text(text: str, start: int) -> tuple[Text, int]:
    """The literal whose quote is at ``start``, and where it ends."""
    pieces: list[str] = []
    position = start + 1
    while True:
        letter = text[position : position + 1]
        if letter == '"':
            return Text(Span(start, position + 1), "".join(pieces)), position + 1
        if letter == "\\":
            code_point, position = _escape(text, position)
            pieces.append(chr(code_point))
            continue
        match = _PLAIN.match(text, position)
        if match is None:
            fail('unclosed text: expected a quote; add it, or write \\" for a quote in the text', text, start)
        _refuse_surrogates(text, position, match.end())
        pieces.append(match[0])
        position = match.end()


def scan_brackets(text: str, start: int) -> tuple[Characters, int]:
    """The character class whose ``[`` is at ``start``, and where it ends."""
    position = start + 1
    negated = text[position : position + 1] == "^"
    position += negated
    ranges: list[tuple[int, int]] = []
    while text[position : position + 1] != "]":
        begin = position
        low, position = _member(text, start, position)
        high = low
        if text[position : position + 1] == "-" and text[position + 1 : position + 2] not in ("]", ""):
            high, position = _member(text, start, position + 1)
            if low > high:
                written = text[begin:position]
                fail(f"range {written}: expected the lower character first; swap the ends", text, begin)
        ranges.append((low, high))
    if not ranges and not negated:
        fail("empty class: expected a character; write \\] for the bracket", text, start)
    members: Charset = from_ranges(ranges)
    return Characters(Span(start, position + 1), complement(members) if negated else members), position + 1


def _member(text: str, start: int, position: int) -> tuple[int, int]:
    letter = text[position : position + 1]
    if not letter:
        fail("unclosed class: expected ']'; add it, or write \\[ for the character", text, start)
    if letter == "\\":
        return _escape(text, position)
    _refuse_surrogates(text, position, position + 1)
    return ord(letter), position + 1


def _escape(text: str, start: int) -> tuple[int, int]:
    """The code point of the escape whose backslash is at ``start``, and where it ends."""
    letter = text[start + 1 : start + 2]
    if letter in _CONTROLS:
        return _CONTROLS[letter], start + 2
    if letter in _HEX_DIGITS:
        end = start + 2 + _HEX_DIGITS[letter]
        digits = text[start + 2 : end]
        if not re.fullmatch(r"[0-9A-Fa-f]+", digits) or len(digits) < _HEX_DIGITS[letter]:
            message = f"\\{letter}: expected {_HEX_DIGITS[letter]} hexadecimal digits, got {digits!r}"
            fail(f"{message}; fill up with zeros in front", text, start)
        code_point = int(digits, 16)
        if code_point > 0x10FFFF:
            fail(f"\\{letter}{digits}: expected a code point; the greatest is 0010FFFF", text, start)
        if 0xD800 <= code_point <= 0xDFFF:
            remedy = "write the character itself, or \\U and its code point"
            fail(f"\\{letter}{digits} is half of a surrogate pair: no UTF-8 text holds one; {remedy}", text, start)
        return code_point, end
    if letter in _SHORTHANDS:
        fail(f"unknown escape \\{letter}: expected a character; write {_SHORTHANDS[letter]} as a class", text, start)
    if letter.isascii() and letter.isprintable() and not letter.isalnum() and letter != " ":
        return ord(letter), start + 2
    if not letter:
        fail("a backslash ends the grammar: expected a character behind it", text, start)
    return fail(
        f'unknown escape \\{letter}: expected one of \\n \\r \\t \\\\ \\" \\x \\u \\U; write {letter} for it',
        text,
        start,
    )


def _refuse_surrogates(text: str, start: int, end: int) -> None:
    for position in range(start, end):
        if "\ud800" <= text[position] <= "\udfff":
            code_point = ord(text[position])
            fail(f"the grammar holds half of a surrogate pair (U+{code_point:04X}); leave it out", text, position)


def scan_counts(text: str, start: int, limits: Limits) -> tuple[int, int | None, int]:
    """(minimum, maximum, end) of the ``{m}``, ``{m,}``, ``{,n}`` or ``{m,n}`` at ``start``."""
    match = _COUNTS.match(text, start)
    if match is None or not (match[1] or match[3]):
        fail("repeat: expected {m}, {m,} or {m,n} with digits only", text, start)
    low, comma, high = match.groups()
    for digits in (low, high or ""):
        if len(digits.lstrip("0")) > 18 or int(digits or "0") > limits.max_repeat:
            raise LimitExceeded("max_repeat", limits.max_repeat, f"the repeat at {line_column(text, start)}")
    minimum = int(low or "0")
    maximum = (int(high) if high else None) if comma else minimum
    if maximum is not None and maximum < minimum:
        fail(f"repeat {match[0]}: expected the lower bound first; swap the bounds", text, start)
    return minimum, maximum, match.end()
