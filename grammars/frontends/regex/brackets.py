"""Character classes in brackets: text to :class:`~grammars.frontends.regex.ast.CharacterClass`."""

from __future__ import annotations

from ...errors import RegexError
from .ast import AssertionKind, CharacterClass, CharacterRange, ClassItem, Dialect, Span
from .escapes import EscapedCharacter, parse_escape

__all__ = ["parse_brackets"]


def parse_brackets(pattern: str, start: int, dialect: Dialect) -> tuple[CharacterClass, int]:
    """The class whose ``[`` is at ``start``, and where it ends. Raises :class:`~grammars.errors.RegexError`.

    In the dialect ``python`` a ``]`` that comes first is a member; in ``ecma`` ``[]`` is empty, ``[^]`` any character.
    """
    position = start + 1
    negated = pattern[position : position + 1] == "^"
    position += negated
    first = position
    items: list[ClassItem] = []
    while True:
        letter = pattern[position : position + 1]
        if not letter:
            raise RegexError("unclosed class: expected ']'; add it, or write \\[ for the character", pattern, start)
        if letter == "]" and (position > first or dialect == "ecma"):
            return CharacterClass(Span(start, position + 1), tuple(items), negated), position + 1
        begin = position
        item, position = _item(pattern, position, dialect)
        if pattern[position : position + 1] == "-" and pattern[position + 1 : position + 2] not in ("]", ""):
            upper, position = _item(pattern, position + 1, dialect)
            item = _range(pattern, begin, position, item, upper)
        items.append(item)


def _item(pattern: str, position: int, dialect: Dialect) -> tuple[ClassItem, int]:
    if pattern[position] != "\\":
        code_point = ord(pattern[position])
        return CharacterRange(Span(position, position + 1), code_point, code_point), position + 1
    escape, end = parse_escape(pattern, position, dialect, in_class=True)
    if isinstance(escape, EscapedCharacter):
        return CharacterRange(escape.span, escape.code_point, escape.code_point), end
    assert not isinstance(escape, AssertionKind)  # these are never parsed inside a class
    return escape, end


def _range(pattern: str, begin: int, end: int, lower: ClassItem, upper: ClassItem) -> CharacterRange:
    text = pattern[begin:end]
    if not isinstance(lower, CharacterRange) or not isinstance(upper, CharacterRange):
        message = f"range {text}: expected a single character at both ends; write the - last, or as \\-"
        raise RegexError(message, pattern, begin)
    if lower.low > upper.low:
        raise RegexError(f"range {text}: expected the lower character first; swap the ends", pattern, begin)
    return CharacterRange(Span(begin, end), lower.low, upper.low)
