r"""What a terminal matches, as Lark writes it down: a text, or a regular expression put together from pieces.

Lark's lexer prefers terminals by priority, greatest width, and length *of the regular expression's text*, so the text
is put together as Lark does it, piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from ....errors import CfgError, LimitExceeded, RegexError
from ....limits import Limits
from ...regex import ast as regex_ast
from ...regex import parse_regex
from ...regex.traverse import Steps, run
from ..gbnf_scanner import fail
from .ast import Alternation, Definition, Expression, Literal, Maybe, Name, Range, Repeat, Sequence, Span

__all__ = ["Pattern", "TerminalPatterns", "literal_pattern"]

_CONTROLS = {"n": "\n", "f": "\f", "t": "\t", "r": "\r"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text (``is_string``) or regular expression, with the flags written behind it."""

    is_string: bool
    value: str
    flags: frozenset[str] = frozenset()

    @property
    def regexp(self) -> str:
        """As a regular expression, flags included."""
        written = re.escape(self.value) if self.is_string else self.value
        for flag in sorted(self.flags):
            written = f"(?{flag}:{written})"
        return written

    @property
    def widths(self) -> tuple[float, float]:
        """The least and the greatest number of characters. Raises :class:`~grammars.errors.RegexError`."""
        return (len(self.value), len(self.value)) if self.is_string else _widths(self.regexp)


@lru_cache(maxsize=1024)
def _widths(regexp: str) -> tuple[float, float]:
    return run(_measure(parse_regex(regexp).root))


def _measure(node: regex_ast.Node) -> Steps[tuple[float, float]]:
    match node:
        case regex_ast.Text():
            return len(node.text), len(node.text)
        case regex_ast.Assertion() | regex_ast.Lookaround():
            return 0, 0
        case regex_ast.Group():
            inside: tuple[float, float] = yield _measure(node.body)
            return inside
        case regex_ast.Repeat():
            low, high = yield _measure(node.body)
            most = inf if node.maximum is None else node.maximum
            return low * node.minimum, high * most if high and most else 0
        case regex_ast.Concatenation():
            low = high = 0.0
            for part in node.parts:
                least, most = yield _measure(part)
                low, high = low + least, high + most
            return low, high
        case regex_ast.Alternation():
            found = []
            for branch in node.branches:
                found.append((yield _measure(branch)))  # noqa: PERF401
            return min(low for low, _ in found), max(high for _, high in found)
    return 1, 1


def literal_pattern(literal: Literal | Range, text: str) -> Pattern:
    """The pattern of a literal or range. Raises :class:`~grammars.errors.CfgError`."""
    if isinstance(literal, Range):
        for end in (literal.low, literal.high):
            if len(_unescaped(end, text, literal.span)) != 1:
                fail(f'range: expected a single character at both ends, got "{end}"', text, literal.span.start)
        return Pattern(False, f"[{literal.low}-{literal.high}]")
    value = _unescaped(literal.raw, text, literal.span)
    if literal.kind == "string":
        return Pattern(True, value.replace("\\\\", "\\"), frozenset(literal.flags))
    return Pattern(False, value, frozenset(literal.flags))


def _unescaped(raw: str, text: str, span: Span) -> str:
    r"""Resolve the escapes that Lark resolves; all others stay, for the regular expression to read."""
    pieces: list[str] = []
    position = 0
    while position < len(raw):
        letter = raw[position]
        if letter != "\\":
            pieces.append(letter)
            position += 1
            continue
        escaped = raw[position + 1 : position + 2]
        position += 2
        if escaped in _CONTROLS:
            pieces.append(_CONTROLS[escaped])
        elif escaped in _HEX_DIGITS:
            digits = raw[position : position + _HEX_DIGITS[escaped]]
            if len(digits) < _HEX_DIGITS[escaped] or not re.fullmatch("[0-9A-Fa-f]+", digits):
                fail(f"\\{escaped}: expected {_HEX_DIGITS[escaped]} hexadecimal digits", text, span.start)
            code_point = int(digits, 16)
            if code_point > 0x10FFFF or 0xD800 <= code_point <= 0xDFFF:
                fail(f"\\{escaped}{digits}: expected the code point of a character", text, span.start)
            pieces.append(chr(code_point))
            position += len(digits)
        elif escaped == "\\":
            pieces.append("\\\\")
        else:
            pieces.append('"' if escaped == '"' else "\\" + escaped)
    return "".join(pieces)


class TerminalPatterns:
    """The patterns of named terminals, each put together when first asked for."""

    def __init__(self, definitions: Mapping[str, tuple[Definition, str]], limits: Limits) -> None:
        self.definitions = definitions  # by name: with the text that it stands in
        self.limits = limits
        self.found: dict[str, Pattern] = {}
        self.open: set[str] = set()

    def pattern(self, name: str) -> Pattern:
        """Of a terminal that is defined. Raises :class:`~grammars.errors.CfgError`."""
        return run(self._named(name))

    def of(self, body: Alternation, text: str) -> Pattern:
        """Of a terminal's body."""
        return run(self._pattern(body, text))

    def _named(self, name: str) -> Steps[Pattern]:
        found = self.found.get(name)
        if found is not None:
            return found
        definition, text = self.definitions[name]
        if name in self.open:
            fail(f"terminal {name} contains itself; only rules may", text, definition.span.start)
        self.open.add(name)
        pattern: Pattern = yield self._pattern(definition.body, text)
        self.open.discard(name)
        self.found[name] = pattern
        return pattern

    def _pattern(self, node: Expression, text: str) -> Steps[Pattern]:
        match node:
            case Literal() | Range():
                return literal_pattern(node, text)
            case Name() if node.is_terminal:
                if node.name not in self.definitions:
                    fail(f"undefined terminal {node.name}; define it, or import it", text, node.span.start)
                named: Pattern = yield self._named(node.name)
                return named
            case Name():
                fail(f"rule {node.name} inside a terminal: only terminals may stand here", text, node.span.start)
            case Repeat():
                inner = yield self._pattern(node.body, text)
                counts = node.written
                if counts == "~":
                    is_one = node.minimum == node.maximum
                    counts = f"{{{node.minimum}}}" if is_one else f"{{{node.minimum},{node.maximum}}}"
                return self._checked(Pattern(False, f"(?:{inner.regexp}){counts}", inner.flags), text, node.span)
            case Maybe():
                inner = yield self._pattern(node.body, text)
                return self._checked(Pattern(False, f"(?:{inner.regexp})?", inner.flags), text, node.span)
            case Sequence() if node.parts:
                patterns: list[Pattern] = []
                for part in node.parts:
                    patterns.append((yield self._pattern(part, text)))  # noqa: PERF401
                if len(patterns) == 1:
                    return patterns[0]
                return self._checked(Pattern(False, "".join(one.regexp for one in patterns)), text, node.span)
            case Alternation():
                patterns = []
                for branch in node.branches:
                    patterns.append((yield self._pattern(branch, text)))
                if len(patterns) == 1:
                    return patterns[0]
                try:
                    patterns.sort(key=lambda one: (-one.widths[1], -one.widths[0], -len(one.value)))
                except RegexError as error:
                    raise CfgError(f"in a regular expression: {error}", text, node.span.start) from None
                joined = "|".join(one.regexp for one in patterns)
                return self._checked(Pattern(False, f"(?:{joined})"), text, node.span)
            case Sequence():
                return Pattern(True, "")
        return fail("templates, %json and %regex may only stand in rules, not in terminals", text, node.span.start)

    def _checked(self, pattern: Pattern, text: str, span: Span) -> Pattern:
        if len(pattern.value) > self.limits.max_source_length // 8:
            what = f"the regular expression of the terminal at {text.count(chr(10), 0, span.start) + 1}:1"
            raise LimitExceeded("max_source_length", self.limits.max_source_length, f"{what} (counted eightfold)")
        return pattern
