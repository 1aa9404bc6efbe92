r"""What a backslash means, in and out of a class, in both dialects."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias, cast

from ...errors import RegexError
from .ast import AssertionKind, Dialect, Property, Shorthand, Span

__all__ = ["Escape", "EscapedCharacter", "parse_escape"]

_OCTAL = frozenset("01234567")
_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdefABCDEF")
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_ASSERTIONS: dict[Dialect, dict[str, AssertionKind]] = {
    "python": {
        "A": AssertionKind.TEXT_START,
        "Z": AssertionKind.TEXT_END,
        "b": AssertionKind.WORD_BOUNDARY,
        "B": AssertionKind.NOT_WORD_BOUNDARY,
    },
    "ecma": {"b": AssertionKind.WORD_BOUNDARY, "B": AssertionKind.NOT_WORD_BOUNDARY},
}
_ELSEWHERE = {
    "A": r"the start of the text is written ^ here",
    "Z": r"the end of the text is written $ here",
    "z": r"the end of the text is written \Z (ecma: $)",
    "G": r"there is no place of a previous match; leave it out",
    "K": r"leave it out: only whole texts are matched",
    "R": r"write (?:\r\n|[\n\v\f\r\x85\u2028\u2029])",
    "X": r"grapheme clusters are not supported; write . for one code point",
    "h": r"write [ \t]",
    "H": r"write [^ \t]",
    "Q": r"quote each character by itself",
    "E": r"quote each character by itself",
}
_PROPERTY = re.compile(r"\{\s*([A-Za-z0-9_ \-&]+?)\s*(?:[=:]\s*([A-Za-z0-9_ .\-]+?)\s*)?\}")


@dataclass(frozen=True, slots=True)
class EscapedCharacter:
    """One character written as an escape; a surrogate stays a surrogate here."""

    span: Span
    code_point: int


Escape: TypeAlias = EscapedCharacter | Shorthand | Property | AssertionKind


def parse_escape(pattern: str, start: int, dialect: Dialect, *, in_class: bool) -> tuple[Escape, int]:
    """What the backslash at ``start`` begins, and where it ends. Raises :class:`~grammars.errors.RegexError`."""
    return _EscapeParser(pattern, start, dialect, in_class).parse()


class _EscapeParser:
    def __init__(self, pattern: str, start: int, dialect: Dialect, in_class: bool) -> None:
        self.pattern = pattern
        self.start = start
        self.dialect = dialect
        self.in_class = in_class

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        raise RegexError(message, self.pattern, self.start if position is None else position)

    def character(self, code_point: int, end: int) -> tuple[EscapedCharacter, int]:
        return EscapedCharacter(Span(self.start, end), code_point), end

    def parse(self) -> tuple[Escape, int]:
        after = self.start + 2
        letter = self.pattern[self.start + 1 : after]
        if not letter:
            self.fail(r"a backslash ends the pattern: expected a character after it; write \\ for a backslash")
        if letter in "dDwWsS":
            kind = cast(Literal["d", "w", "s"], letter.lower())
            return Shorthand(Span(self.start, after), kind, letter.isupper()), after
        if letter in "pP":
            return self.property(letter == "P")
        if letter in _CONTROLS:
            return self.character(_CONTROLS[letter], after)
        if letter == "b" and self.in_class:
            return self.character(0x08, after)
        if not self.in_class and letter in _ASSERTIONS[self.dialect]:
            return _ASSERTIONS[self.dialect][letter], after
        if letter in _DIGITS:
            return self.digits()
        if letter == "x":
            return self.hexadecimal(2)
        return self.python(letter) if self.dialect == "python" else self.ecma(letter)

    def python(self, letter: str) -> tuple[Escape, int]:
        after = self.start + 2
        if letter == "a":
            return self.character(0x07, after)
        if letter == "u":
            return self.hexadecimal(4)
        if letter == "U":
            return self.hexadecimal(8)
        if letter == "N":
            return self.named()
        if letter.isascii() and letter.isalpha():
            self.unknown(letter)
        return self.character(ord(letter), after)

    def ecma(self, letter: str) -> tuple[Escape, int]:
        after = self.start + 2
        if letter == "u":
            return self.ecma_unicode()
        if letter == "c":
            control = self.pattern[after : after + 1]
            if not (control.isascii() and control.isalpha()):
                self.fail(r"\c: expected an ASCII letter after it, as in \cJ")
            return self.character(ord(control) % 32, after + 1)
        if letter == "k":
            self.fail(r"back-reference \k: not a regular language, so it cannot be enforced; repeat what it refers to")
        if letter.isascii() and letter.isalpha():
            self.unknown(letter)
        return self.character(ord(letter), after)

    def unknown(self, letter: str) -> NoReturn:
        remedy = _ELSEWHERE.get(letter, f"write {letter} for the letter")
        self.fail(f"unknown escape \\{letter}{' in a class' if self.in_class else ''}: {remedy}")

    def digits(self) -> tuple[Escape, int]:
        r"""Octal characters, ``\0``, and back-references, which are refused."""
        first = self.start + 1
        run = first
        while run < first + 3 and self.pattern[run : run + 1] in _OCTAL:
            run += 1
        octal = self.pattern[first:run]
        if self.dialect == "ecma":
            if octal == "0" and self.pattern[run : run + 1] not in _DIGITS:
                return self.character(0, run)
            if self.pattern[first] == "0":
                self.fail(r"octal escape: not allowed in this dialect; write \x and two hexadecimal digits")
        elif octal.startswith("0") or len(octal) == 3 or (self.in_class and octal):
            value = int(octal, 8)
            if value > 0o377:
                self.fail(f"octal escape \\{octal}: expected at most \\377; write \\u and four hexadecimal digits")
            return self.character(value, run)
        if self.in_class:
            self.fail(f"unknown escape \\{self.pattern[first]} in a class: write {self.pattern[first]} for the digit")
        end = first + 1
        while self.pattern[end : end + 1] in _DIGITS and end < first + 2:
            end += 1
        return self.fail(
            f"back-reference \\{self.pattern[first:end]}: not a regular language, so it cannot be enforced; "
            "repeat what it refers to"
        )

    def hexadecimal(self, digits: int) -> tuple[EscapedCharacter, int]:
        first = self.start + 2
        end = first + digits
        text = self.pattern[first:end]
        if len(text) < digits or not _HEX.issuperset(text):
            self.fail(f"\\{self.pattern[self.start + 1]}: expected {digits} hexadecimal digits, got {text!r}")
        value = int(text, 16)
        if value > 0x10FFFF:
            self.fail(f"\\{self.pattern[self.start + 1]}{text}: expected a code point, at most 0010FFFF")
        return self.character(value, end)

    def ecma_unicode(self) -> tuple[EscapedCharacter, int]:
        first = self.start + 2
        if self.pattern[first : first + 1] == "{":
            close = self.pattern.find("}", first)
            text = self.pattern[first + 1 : close] if close > 0 else ""
            digits = text.lstrip("0") or text[-1:]
            if not digits or not _HEX.issuperset(text) or len(digits) > 6 or int(digits, 16) > 0x10FFFF:
                self.fail(r"\u{...}: expected hexadecimal digits of a code point, at most 10FFFF, and a closing brace")
            return self.character(int(digits, 16), close + 1)
        high, end = self.hexadecimal(4)
        if 0xD800 <= high.code_point < 0xDC00 and self.pattern[end : end + 2] == r"\u":
            text = self.pattern[end + 2 : end + 6]
            low = int(text, 16) if len(text) == 4 and _HEX.issuperset(text) else 0
            if 0xDC00 <= low < 0xE000:
                return self.character(0x10000 + ((high.code_point - 0xD800) << 10) + low - 0xDC00, end + 6)
        return high, end

    def named(self) -> tuple[EscapedCharacter, int]:
        first = self.start + 2
        close = self.pattern.find("}", first)
        if self.pattern[first : first + 1] != "{" or close < 0:
            self.fail(r"\N: expected a character name in braces, as in \N{EM DASH}")
        name = self.pattern[first + 1 : close]
        try:
            text = unicodedata.lookup(name)
        except KeyError:
            self.fail(rf"\N: unknown character name {name!r}; write \u and four hexadecimal digits")
        if len(text) != 1:
            self.fail(rf"\N: {name!r} names {len(text)} characters; write them one by one")
        return self.character(ord(text), close + 1)

    def property(self, negated: bool) -> tuple[Property, int]:
        first = self.start + 2
        letter = self.pattern[first : first + 1]
        if letter.isascii() and letter.isalpha() and self.dialect == "python":
            return Property(Span(self.start, first + 1), letter, None, negated), first + 1
        match = _PROPERTY.match(self.pattern, first)
        if match is None:
            self.fail(
                rf"\{'P' if negated else 'p'}: expected a property in braces, as in \p{{L}} or \p{{Script=Greek}}"
            )
        return Property(Span(self.start, match.end()), match[1], match[2], negated), match.end()
