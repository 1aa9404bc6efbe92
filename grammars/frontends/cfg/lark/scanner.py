"""The leaves of a Lark grammar: blanks and comments, names, numbers, literals, inline pieces."""

from __future__ import annotations

import json
import re

from ..gbnf_scanner import fail
from .ast import Json, Literal, Span, Substring

__all__ = [
    "at_end_of_line",
    "scan_inline",
    "scan_literal",
    "scan_name",
    "scan_number",
    "skip_blanks",
    "skip_to_statement",
]

_BLANKS = re.compile(r"(?:[ \t\r\f]|\\[ ]*\n|//[^\n]*|#[^\n]*)*")
_BLANKS_AND_LINES = re.compile(r"(?:\s|\\[ ]*\n|//[^\n]*|#[^\n]*)*")
_NAME = re.compile(r"_*[a-z][_a-z0-9]*|_*[A-Z][_A-Z0-9]*")
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"(i?)')
_REGEXP = re.compile(r"/(?![/*])((?:[^/\\]|\\.)+)/([imslux]*)", re.DOTALL)
_INLINE = re.compile(r"%([a-z]+)\s*")


def skip_blanks(text: str, position: int, *, lines: bool = False) -> int:
    """Where the next character is that is neither blank nor in a comment; ends of lines are blank only if ``lines``."""
    match = (_BLANKS_AND_LINES if lines else _BLANKS).match(text, position)
    assert match is not None  # it may be empty
    return match.end()


def skip_to_statement(text: str, position: int) -> int:
    """Where the next statement begins."""
    return skip_blanks(text, position, lines=True)


def at_end_of_line(text: str, position: int) -> bool:
    """Whether nothing but blanks and comments is left of the line."""
    after = skip_blanks(text, position)
    return after >= len(text) or text[after] == "\n"


def scan_name(text: str, position: int) -> str | None:
    """The name of a rule or terminal that begins here, if one does."""
    match = _NAME.match(text, position)
    return match[0] if match else None


def scan_number(text: str, position: int) -> tuple[int, int] | None:
    """The whole number that begins here and where it ends, if one does."""
    match = _NUMBER.match(text, position)
    return (int(match[0]), match.end()) if match else None


def scan_literal(text: str, start: int) -> tuple[Literal, int]:
    """The ``"text"`` or ``/regexp/`` at ``start``, and where it ends."""
    if text[start] == '"':
        match = _STRING.match(text, start)
        if match is None:
            fail('unclosed text: expected a quote on the same line; add it, or write \\" for a quote', text, start)
        kind = "string"
    else:
        match = _REGEXP.match(text, start)
        if match is None:
            fail("unclosed regular expression: expected '/'; add it, or write \\/ for the character", text, start)
        kind = "regexp"
        if "\n" in match[1] and "x" not in match[2]:
            fail("a regular expression over several lines: expected the flag x behind it; add it", text, start)
    if not match[1]:
        fail("an empty text matches nothing that could be told; leave it out, or make its place optional", text, start)
    return Literal(Span(start, match.end()), kind, match[1], match[2]), match.end()  # type: ignore[arg-type]


def scan_inline(text: str, start: int) -> tuple[Json | Substring, int]:
    """``%json {...}`` or ``%regex {...}`` at ``start``, and where it ends."""
    match = _INLINE.match(text, start)
    if match is None or match[1] not in ("json", "regex"):
        fail("expected %json {...} or %regex {...} inside a rule; other directives are lines of their own", text, start)
    try:
        value, end = json.JSONDecoder().raw_decode(text, match.end())
    except (ValueError, RecursionError) as error:
        place = min(getattr(error, "pos", match.end()), len(text))
        fail(f"%{match[1]}: expected JSON, {getattr(error, 'msg', 'nested less deeply')}", text, place)
    span = Span(start, end)
    if match[1] == "json":
        return Json(span, text[match.end() : end]), end
    return Substring(span, _chunks(value, text, start)), end


def _chunks(value: object, text: str, start: int) -> tuple[str, ...]:
    """The pieces that a substring is made of."""
    if isinstance(value, dict) and len(value) == 1:
        key, given = next(iter(value.items()))
        if key == "substring_chars" and isinstance(given, str):
            return tuple(given)
        if key == "substring_words" and isinstance(given, str):
            return tuple(re.findall(r"\w+|[^\w\s]+|\s+", given))
        if key == "substring_chunks" and isinstance(given, list) and all(isinstance(chunk, str) for chunk in given):
            return tuple(given)
    expected = '{"substring_chars": text}, {"substring_words": text} or {"substring_chunks": [texts]}'
    return fail(f"%regex: expected {expected}; for a regular expression write /.../", text, start)
