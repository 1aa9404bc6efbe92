"""Regular expression text to its syntax tree, for both dialects, with a place and a remedy in every error.

The syntax follows the reference of :mod:`re` and ECMA-262 (section "Patterns"). It is parsed in one pass, with the open
groups on a list, so that no nesting can overflow the interpreter's stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from ...errors import LimitExceeded, RegexError
from ...limits import DEFAULT_LIMITS, Limits
from .ast import (
    Alternation,
    AnyCharacter,
    Assertion,
    AssertionKind,
    Concatenation,
    Dialect,
    Flags,
    Group,
    Lookaround,
    Node,
    Pattern,
    Property,
    Repeat,
    Shorthand,
    Span,
    Text,
)
from .brackets import parse_brackets
from .escapes import EscapedCharacter, parse_escape

__all__ = ["parse_regex"]

_PLAIN = re.compile(r"[^\\.^$*+?{}\[\]()|]+")
_PLAIN_VERBOSE = re.compile(r"[^\\.^$*+?{}\[\]()|#\s]+")
_BEFORE_QUANTIFIER = re.compile(r"[*+?{#\s]|\(\?#")  # a quantifier, or what may stand between
_BLANK = frozenset(" \t\n\r\v\f")
_COUNTS = re.compile(r"\{([0-9]*)(?:(,)([0-9]*))?\}")
_FLAG_LETTERS = {
    "a": Flags.ASCII,
    "i": Flags.IGNORECASE,
    "m": Flags.MULTILINE,
    "s": Flags.DOTALL,
    "u": Flags.UNICODE,
    "x": Flags.VERBOSE,
}
_FLAG_GROUP = re.compile(r"\(\?([A-Za-z]*)(-?)([A-Za-z]*)([:)]?)")
_BACK_REFERENCE = "not a regular language, so it cannot be enforced; repeat what it refers to"
_GIVES_BACK = "it depends on what the engine tries first, not on the text; write {} if nothing has to be kept back"


def parse_regex(pattern: str, *, dialect: Dialect = "python", limits: Limits = DEFAULT_LIMITS) -> Pattern:
    """The syntax tree of ``pattern``.

    Raises :class:`~grammars.errors.RegexError` with the position of what is malformed or not supported, and
    :class:`~grammars.errors.LimitExceeded` for a text or nesting beyond ``limits``.

    >>> parse_regex("a|b*").root.branches[1].minimum
    0
    """
    if dialect not in ("python", "ecma"):
        raise ValueError(f"dialect: expected 'python' or 'ecma', got {dialect!r}")
    if len(pattern) > limits.max_source_length:
        raise LimitExceeded(
            "max_source_length", limits.max_source_length, f"a regular expression of {len(pattern):,} characters"
        )
    return _Parser(pattern, dialect, limits).parse()


@dataclass(slots=True)
class _Level:
    """An open group, or the whole pattern."""

    opened: int  # where its "(" is; -1: the whole pattern
    content: int  # where its content starts
    name: str | None = None
    on: Flags = Flags.NONE
    off: Flags = Flags.NONE
    lookaround: tuple[bool, bool] | None = None  # (ahead, negated)
    verbose_outside: bool = False
    branches: list[Node] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)
    branch: int = 0  # where the current branch starts
    names_before: frozenset[str] = frozenset()  # group names that may take part in the same match as this group
    names_inside: set[str] = field(default_factory=set)


class _Parser:
    def __init__(self, text: str, dialect: Dialect, limits: Limits) -> None:
        self.text = text
        self.dialect = dialect
        self.limits = limits
        self.position = 0
        self.flags = Flags.NONE
        self.verbose = False
        self.has_assertions = False
        self.names: set[str] = set()  # names met on the current way through the alternatives
        self.levels = [_Level(-1, 0)]

    def fail(self, message: str, position: int) -> NoReturn:
        raise RegexError(message, self.text, position)

    def parse(self) -> Pattern:
        text = self.text
        while self.position < len(text):
            letter = text[self.position]
            if self.verbose and letter in _BLANK:
                self.position += 1
            elif self.verbose and letter == "#":
                end = text.find("\n", self.position)
                self.position = len(text) if end < 0 else end + 1
            else:
                self.item(letter)
        level = self.levels[-1]
        if len(self.levels) > 1:
            self.fail("unclosed group: expected ')'; add it, or write \\( for the character", level.opened)
        return Pattern(text, self.dialect, self.flags, self.close(level), self.has_assertions)

    def item(self, letter: str) -> None:
        """Take the next piece of the pattern."""
        start = self.position
        if letter == "\\":
            self.escape()
        elif letter == "[":
            node, self.position = parse_brackets(self.text, start, self.dialect)
            self.levels[-1].parts.append(node)
        elif letter == "(":
            self.open()
        elif letter == ")":
            self.end_group()
        elif letter == "|":
            self.end_branch()
            self.position += 1
            self.levels[-1].branch = self.position
        elif letter in "*+?" or (letter == "{" and self.counts() is not None):
            self.quantifier()
        elif letter == ".":
            self.position += 1
            self.levels[-1].parts.append(AnyCharacter(Span(start, start + 1)))
        elif letter in "^$":
            self.position += 1
            self.assertion(AssertionKind(letter), start)
        else:
            self.plain()

    # -- characters ---------------------------------------------------------------------------------------------

    def plain(self) -> None:
        """A run of characters that stand for themselves; the last is taken apart if a quantifier follows."""
        start = self.position
        match = (_PLAIN_VERBOSE if self.verbose else _PLAIN).match(self.text, start)
        end = match.end() if match else start + 1
        if end - start > 1 and _BEFORE_QUANTIFIER.match(self.text, end):
            end -= 1
        self.position = end
        self.levels[-1].parts.append(Text(Span(start, end), self.text[start:end]))

    def escape(self) -> None:
        start = self.position
        escape, self.position = parse_escape(self.text, start, self.dialect, in_class=False)
        if isinstance(escape, AssertionKind):
            self.assertion(escape, start)
        elif isinstance(escape, EscapedCharacter):
            self.levels[-1].parts.append(Text(escape.span, chr(escape.code_point)))
        else:
            assert isinstance(escape, (Shorthand, Property))
            self.levels[-1].parts.append(escape)

    def assertion(self, kind: AssertionKind, start: int) -> None:
        self.has_assertions = True
        self.levels[-1].parts.append(Assertion(Span(start, self.position), kind))

    # -- quantifiers --------------------------------------------------------------------------------------------

    def counts(self) -> tuple[int, int | None, int] | None:
        """(minimum, maximum, end) of the ``{m,n}`` here; None if the brace is a plain character."""
        match = _COUNTS.match(self.text, self.position)
        if match is None or match[0] == "{}":
            return None
        low, comma, high = match.groups()
        if not low and self.dialect == "ecma":
            self.fail(f"quantifier {match[0]}: expected a lower bound; write {{0{match[0][1:]}", self.position)
        minimum = self.count(low or "0")
        maximum = (self.count(high) if high else None) if comma else minimum
        if maximum is not None and maximum < minimum:
            self.fail(f"quantifier {match[0]}: expected the lower bound first; swap the bounds", self.position)
        return minimum, maximum, match.end()

    def count(self, digits: str) -> int:
        digits = digits.lstrip("0") or "0"
        if len(digits) > 18 or int(digits) > self.limits.max_repeat:
            raise LimitExceeded("max_repeat", self.limits.max_repeat, f"the repeat at position {self.position}")
        return int(digits)

    def quantifier(self) -> None:
        start = self.position
        letter = self.text[start]
        if letter == "{":
            counts = self.counts()
            assert counts is not None
            minimum, maximum, self.position = counts
        else:
            minimum, maximum = {"*": (0, None), "+": (1, None), "?": (0, 1)}[letter]
            self.position += 1
        written = self.text[start : self.position]
        parts = self.levels[-1].parts
        if not parts:
            self.fail(
                f"nothing to repeat before {written}: expected an item; write \\{written[0]} for the character", start
            )
        body = parts[-1]
        if isinstance(body, Repeat):
            self.fail(f"quantifier {written} after a quantifier; put what it repeats into (?:...)", start)
        if isinstance(body, Assertion) or (isinstance(body, Lookaround) and self.dialect == "ecma"):
            self.fail(f"nothing to repeat before {written}: an assertion has no width; leave the quantifier out", start)
        following = self.text[self.position : self.position + 1]
        if following == "+" and self.dialect == "python":
            remedy = _GIVES_BACK.format(written)
            self.fail(f"possessive quantifier {written}+ is not supported: {remedy}", self.position)
        lazy = following == "?"
        self.position += lazy
        parts[-1] = Repeat(Span(body.span.start, self.position), body, minimum, maximum, lazy)

    # -- groups -------------------------------------------------------------------------------------------------

    def open(self) -> None:
        start = self.position
        if len(self.levels) > self.limits.max_nesting:
            raise LimitExceeded("max_nesting", self.limits.max_nesting, f"the group at position {start}")
        text = self.text
        level = _Level(start, start + 1)
        if text.startswith("(?", start):
            kind = text[start + 2 : start + 3]
            if kind == "#" and self.dialect == "python":
                end = text.find(")", start)
                if end < 0:
                    self.fail("unclosed comment: expected ')'; add it", start)
                self.position = end + 1
                return
            if kind in ("=", "!"):
                level.lookaround, level.content = (True, kind == "!"), start + 3
            elif text[start + 2 : start + 4] in ("<=", "<!"):
                level.lookaround, level.content = (False, text[start + 3] == "!"), start + 4
            elif kind in ("<", "P"):
                self.named_group(level)
            elif not self.flag_group(level):
                return
        if level.lookaround:
            self.has_assertions = True
        level.names_before = frozenset(self.names)
        level.verbose_outside = self.verbose
        self.verbose = bool(apply_verbose(self.verbose, level))
        level.branch = self.position = level.content
        self.levels.append(level)

    def named_group(self, level: _Level) -> None:
        """``(?P<name>`` or ``(?<name>``."""
        start, text = level.opened, self.text
        opening = start + 3 + (text[start + 2] == "P")
        if text.startswith("(?P=", start):
            self.fail(f"back-reference (?P=...): {_BACK_REFERENCE}", start)
        if text[opening - 1 : opening] != "<":
            self.unknown_group(start)
        close = text.find(">", opening)
        name = text[opening : max(close, opening)]
        if close < 0:
            self.fail("unclosed group name: expected '>'; add it", opening)
        if not name.replace("$", "_").isidentifier() or (self.dialect == "python" and "$" in name):
            self.fail(
                f"group name {name!r}: expected a letter or _, then letters, digits or _; rename the group", opening
            )
        if name in self.names:
            self.fail(f"group name {name!r} is used twice; rename one of the groups", opening)
        self.names.add(name)
        level.name, level.content = name, close + 1

    def flag_group(self, level: _Level) -> bool:
        """``(?:``, ``(?i:``, ``(?i-s:`` (True), or the flags of the whole pattern, ``(?i)`` (False)."""
        start = level.opened
        match = _FLAG_GROUP.match(self.text, start)
        if self.text.startswith("(?R)", start) or match is None or not match[4] or (match[2] and not match[3]):
            self.unknown_group(start)
        on, off = self.flag_letters(match, 1), self.flag_letters(match, 3)
        if match[4] == ")":
            if match[2] or not match[1]:
                self.fail(f"flags {match[0]}: expected ':' and what they apply to; write (?...:...)", start)
            at_start = len(self.levels) == 1 and not self.levels[0].parts and not self.levels[0].branches
            if not at_start:
                self.fail(
                    f"flags {match[0]} of the whole pattern: expected them at its start; move them there",
                    start,
                )
            self.flags |= on & ~Flags.UNICODE
            self.verbose |= bool(on & Flags.VERBOSE)
            self.position = match.end()
            return False
        both = sorted(set(match[1]) & set(match[3]))
        if both:
            self.fail(f"flag {both[0]} is turned on and off; leave one out", start)
        if off & (Flags.ASCII | Flags.UNICODE):
            self.fail("flags a and u cannot be turned off; turn the other one on", start)
        level.on, level.off, level.content = on, off, match.end()
        return True

    def flag_letters(self, match: re.Match[str], group: int) -> Flags:
        allowed = "aimsux" if self.dialect == "python" else "ims"
        flags = Flags.NONE
        for offset, letter in enumerate(match[group]):
            if letter not in allowed:
                message = f"unknown flag {letter}: expected some of {', '.join(allowed)}; leave it out"
                self.fail(message, match.start(group) + offset)
            flags |= _FLAG_LETTERS[letter]
        if flags & Flags.ASCII and flags & Flags.UNICODE:
            self.fail("flags a and u exclude each other; leave one out", match.start(group))
        return flags

    def unknown_group(self, start: int) -> NoReturn:
        text = self.text[start : start + 3]
        if text == "(?>":
            self.fail(f"atomic group (?>...) is not supported: {_GIVES_BACK.format('(?:...)')}", start)
        if text == "(?(":
            self.fail(
                "conditional group (?(...)...) is not supported; write the alternatives out",
                start,
            )
        if text == "(?#":
            self.fail("comment (?#...): not part of this dialect; leave it out", start)
        if self.text[start : start + 4] in ("(?P>", "(?R)") or text in ("(?&", "(?0", "(?1", "(?2", "(?3"):
            self.fail("recursion is not supported in a regular expression; use a grammar", start)
        self.fail(
            f"unknown group {text}: expected one of (?: (?P<name> (?= (?! (?<= (?<! or flags as in (?i: ; "
            "write \\( for the character",
            start,
        )

    def end_branch(self) -> None:
        """Finish the branch that ends here."""
        level = self.levels[-1]
        parts = level.parts
        span = Span(level.branch, self.position)
        level.branches.append(parts[0] if len(parts) == 1 else Concatenation(span, tuple(parts)))
        level.parts = []
        level.names_inside |= self.names
        if self.dialect == "ecma":  # alternatives never match together, so they may share names
            self.names = set(level.names_before)

    def close(self, level: _Level) -> Node:
        """What the level matches; its last branch ends here."""
        self.end_branch()
        self.names = level.names_inside
        if len(level.branches) == 1:
            return level.branches[0]
        return Alternation(Span(level.content, self.position), tuple(level.branches))

    def end_group(self) -> None:
        level = self.levels[-1]
        if len(self.levels) == 1:
            self.fail("')' without '('; leave it out, or write \\) for the character", self.position)
        body = self.close(level)
        self.levels.pop()
        self.position += 1
        self.verbose = level.verbose_outside
        span = Span(level.opened, self.position)
        if level.lookaround:
            ahead, negated = level.lookaround
            self.levels[-1].parts.append(Lookaround(span, body, ahead, negated))
        else:
            self.levels[-1].parts.append(Group(span, body, level.name, level.on, level.off))


def apply_verbose(verbose: bool, level: _Level) -> bool:
    """Whether blanks and comments are skipped inside the group."""
    return (verbose or bool(level.on & Flags.VERBOSE)) and not level.off & Flags.VERBOSE
