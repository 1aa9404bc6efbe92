"""Whether a text is a regular expression of ECMA-262, with the flag ``u`` or without it; annex B does not count."""

from __future__ import annotations

import re

from ...errors import GrammarError
from ..regex import parse_regex

__all__ = ["is_regex"]

_BRACES = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_NAME = re.compile(r"<([^>\s]*)>")
_CODE = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\}")
_PROPERTY = re.compile(r"[pP]\{[A-Za-z0-9_=]+\}")
_CONTROLS = {"f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_SYNTAX = "^$\\.*+?()[]{}|/"
_CLASS = -1
"""In place of a code point: an escape that means a set."""


class _Fault(Exception):
    """The text is no pattern."""


def is_regex(text: str) -> bool:
    """Whether the text is a pattern.

    >>> is_regex(r"(?<n>a)\\k<n>"), is_regex("a{2,1}")
    (True, False)
    """
    return any(_Reader(text, unicode).is_valid() for unicode in (True, False))


class _Reader:
    def __init__(self, text: str, unicode: bool) -> None:
        self.text = text
        self.unicode = unicode
        self.position = 0
        self.groups = 0
        self.names: set[str] = set()
        self.wanted_names: set[str] = set()
        self.wanted_group = 0

    def is_valid(self) -> bool:
        try:
            self.read()
        except _Fault:
            return False
        return self.wanted_group <= self.groups and self.wanted_names <= self.names

    def take(self, text: str) -> bool:
        """Go on behind ``text`` if it stands here."""
        found = self.text.startswith(text, self.position)
        self.position += len(text) * found
        return found

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def read(self) -> None:
        open_groups: list[bool] = []  # whether a quantifier may stand behind each
        quantifiable = False
        while self.position < len(self.text):
            letter = self.text[self.position]
            if letter in "*+?{":
                self.quantifier(quantifiable)
                quantifiable = False
                continue
            self.position += 1
            if letter == "(":
                open_groups.append(self.group())
                quantifiable = False
            elif letter == ")":
                if not open_groups:
                    raise _Fault
                quantifiable = open_groups.pop()
            elif letter in "^$|":
                quantifiable = False
            elif letter in "]}":
                raise _Fault
            elif letter == "[":
                self.character_class()
                quantifiable = True
            else:
                quantifiable = letter != "\\" or self.escape()
        if open_groups:
            raise _Fault

    def quantifier(self, allowed: bool) -> None:
        if self.text[self.position] == "{":
            found = self.match(_BRACES)
            if found is None or (found[3] and int(found[1]) > int(found[3])):
                raise _Fault
        else:
            self.position += 1
        self.take("?")
        if not allowed:
            raise _Fault

    def group(self) -> bool:
        """Behind an opening parenthesis: whether a quantifier may follow the group."""
        if self.take("?:"):
            return True
        if any(map(self.take, ("?=", "?!", "?<=", "?<!"))):
            return False
        self.groups += 1
        if self.take("?"):
            name = self.name()
            if name in self.names:
                raise _Fault
            self.names.add(name)
        return True

    def name(self) -> str:
        found = self.match(_NAME)
        if found is None or not found[1].replace("$", "_").isidentifier():
            raise _Fault
        return found[1]

    def escape(self) -> bool:
        """Behind a backslash outside of classes: whether a quantifier may follow."""
        if self.take("b") or self.take("B"):
            return False
        if self.take("k"):
            self.wanted_names.add(self.name())
            return True
        number = re.compile(r"[1-9][0-9]*").match(self.text, self.position)
        if number is not None:
            self.position = number.end()
            self.wanted_group = max(self.wanted_group, int(number[0]))
            return True
        self.character()
        return True

    def character(self) -> int:
        """What an escape means: a code point, or ``_CLASS``."""
        text, position = self.text, self.position
        letter = text[position : position + 1]
        if letter and letter in "dDsSwW":
            self.position += 1
            return _CLASS
        if letter and letter in "pP" and self.unicode:
            found = self.match(_PROPERTY)
            if found is not None and _is_property(f"\\{found[0]}"):
                return _CLASS
            raise _Fault
        code = _CODE.match(text, position)
        if code is not None and (self.unicode or code[3] is None):
            self.position = code.end()
            value = int(code[1] or code[2] or code[3], 16)
            if value > 0x10FFFF:
                raise _Fault
            return value
        self.position += 1
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        following = text[position + 1 : position + 2]
        if letter == "c" and following.isascii() and following.isalpha():
            self.position += 1
            return ord(following) % 32
        if letter == "0" and not (following.isascii() and following.isdigit()):
            return 0
        if letter and (letter in _SYNTAX if self.unicode else not f"a{letter}".isidentifier()):
            return ord(letter)
        raise _Fault

    def character_class(self) -> None:
        self.take("^")
        while not self.take("]"):
            low = self.class_atom()
            if self.text.startswith("-", self.position) and not self.text.startswith("-]", self.position):
                self.position += 1
                high = self.class_atom()
                if _CLASS in (low, high) or low > high:
                    raise _Fault

    def class_atom(self) -> int:
        if self.position >= len(self.text):
            raise _Fault
        letter = self.text[self.position]
        self.position += 1
        if letter != "\\":
            return ord(letter)
        if self.take("b"):
            return 8
        if self.take("-"):
            return ord("-")
        return self.character()


def _is_property(escape: str) -> bool:
    try:
        parse_regex(escape, dialect="ecma")
    except GrammarError:
        return False
    return True
