"""Lark grammar text to its syntax tree, in one pass, with the open groups on a list: no nesting overflows the stack.

The syntax is that of Lark's reference ("Grammar Reference"), with ``%json`` and ``%regex`` as llguidance adds them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ....errors import LimitExceeded
from ....limits import DEFAULT_LIMITS, Limits
from ..gbnf_scanner import fail, line_column
from .ast import (
    Alternation,
    Definition,
    Document,
    Expression,
    Ignore,
    Import,
    Maybe,
    Name,
    Range,
    Repeat,
    Sequence,
    Span,
    TemplateUse,
)
from .scanner import (
    at_end_of_line,
    scan_inline,
    scan_literal,
    scan_name,
    scan_number,
    skip_blanks,
    skip_to_statement,
)

__all__ = ["parse_lark"]

_MODIFIERS = re.compile(r"(?:!\??|\?!?)?(?=[_a-z])")
_CLOSING = {"(": ")", "[": "]"}
_OPERATORS = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_IN_ITS_PLACE = 'expected a name, a text "...", a regular expression /.../, a group or |'


def parse_lark(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Document:
    """The syntax tree of a Lark grammar.

    Raises :class:`~grammars.errors.CfgError` with line and column of what is malformed or not supported, and
    :class:`~grammars.errors.LimitExceeded` for a text or nesting beyond ``limits``.

    >>> document = parse_lark('start: "a" B?  // two parts\\nB: /b+/')
    >>> [definition.name for definition in document.definitions]
    ['start', 'B']
    """
    if len(text) > limits.max_source_length:
        raise LimitExceeded("max_source_length", limits.max_source_length, f"a grammar of {len(text):,} characters")
    return _Parser(text, limits).parse()


@dataclass(slots=True)
class _Level:
    """An open group, or the body of a definition."""

    opened: int
    kind: str  # "(", "[", or "" for a body
    branch: int  # where the current branch starts
    branches: list[Sequence] = field(default_factory=list)
    parts: list[Expression] = field(default_factory=list)


class _Parser:
    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.position = 0
        self.definitions: list[Definition] = []
        self.ignored: list[Ignore] = []
        self.imports: list[Import] = []

    def parse(self) -> Document:
        text = self.text
        self.position = skip_to_statement(text, 1 if text.startswith("\ufeff") else 0)
        while self.position < len(text):
            self.statement()
            self.position = skip_to_statement(text, self.position)
        return Document(text, tuple(self.definitions), tuple(self.ignored), tuple(self.imports))

    def statement(self) -> None:
        text, start = self.text, self.position
        if text[start] != "%":
            self.definition(start, "define")
            return
        match = re.compile(r"%[a-z]*").match(text, start)
        assert match is not None
        self.position = skip_blanks(text, match.end())
        if match[0] == "%ignore":
            self.ignored.append(Ignore(Span(start, match.end()), self.body(start)))
        elif match[0] == "%import":
            self.import_names(start)
        elif match[0] == "%override":
            self.definition(self.position, "override")
        elif match[0] == "%extend":
            self.definition(self.position, "extend")
        elif match[0] == "%declare":
            remedy = "define the terminal by what it matches"
            fail(f"%declare is not supported: only a lexer in code could match what it declares; {remedy}", text, start)
        elif match[0] in ("%json", "%regex"):
            remedy = "write it in the line of its rule, or behind a |"
            fail(f"{match[0]} is no directive but a part of a rule; {remedy}", text, start)
        else:
            expected = "%ignore, %import, %override or %extend"
            fail(f"unknown directive {match[0]}: expected {expected}; leave it out", text, start)

    def import_names(self, start: int) -> None:
        """``library.NAME``, ``library.NAME -> ALIAS`` or ``library (NAME, NAME)``."""
        text = self.text
        if text.startswith(".", self.position):
            fail("%import of a file is not supported; write its definitions into this text", text, self.position)
        path = [self.name("the name of a library")]
        while text.startswith(".", self.position):
            self.position += 1
            path.append(self.name("a name behind the dot"))
        self.position = skip_blanks(text, self.position)
        names: list[tuple[str, str]] = []
        if text.startswith("(", self.position):
            self.position += 1
            while not text.startswith(")", self.position):
                self.position = skip_blanks(text, self.position, lines=True)
                name = self.name("a name")
                names.append((name, name))
                self.position = skip_blanks(text, self.position, lines=True)
                if text.startswith(",", self.position):
                    self.position += 1
                elif not text.startswith(")", self.position):
                    fail("unclosed list of names: expected , or ); add it", text, start)
            self.position += 1
        else:
            name = path.pop()
            alias = name
            if text.startswith("->", self.position):
                self.position = skip_blanks(text, self.position + 2)
                alias = self.name("a name behind ->")
            if not path:
                fail(f"%import {name}: expected library.name; write %import common.{name}", text, start)
            names.append((name, alias))
        self.imports.append(Import(Span(start, self.position), ".".join(path), tuple(names)))
        self.end_of_statement()

    def end_of_statement(self) -> None:
        if not at_end_of_line(self.text, self.position):
            fail("expected the end of the line; begin a new one", self.text, skip_blanks(self.text, self.position))

    def name(self, what: str) -> str:
        match = scan_name(self.text, self.position)
        if match is None:
            got = repr(self.text[self.position]) if self.position < len(self.text) else "the end"
            fail(f"expected {what}, got {got}", self.text, min(self.position, len(self.text)))
        self.position += len(match)
        return match

    def definition(self, start: int, how: str) -> None:
        """``name: body``, with modifiers, parameters and a priority."""
        text = self.text
        modifiers = _MODIFIERS.match(text, start)
        self.position = begin = modifiers.end() if modifiers else start
        name = scan_name(text, begin)
        if name is None:
            got = repr(text[begin]) if begin < len(text) else "the end"
            remedy = "names are lower case (rules) or upper case (terminals)"
            fail(f"expected a rule or terminal, got {got}; {remedy}", text, min(begin, len(text)))
        self.position += len(name)
        if re.match(r"[A-Za-z0-9_]", text[self.position : self.position + 1]):
            fail(f"the name {name}... mixes cases: expected lower case (rules) or upper case (terminals)", text, begin)
        if name.startswith("__"):
            fail(f"the name {name}: two underscores in front are reserved; rename it", text, begin)
        span = Span(begin, self.position)
        parameters = self.parameters() if text.startswith("{", self.position) else ()
        priority = None
        if text.startswith(".", self.position):
            number = scan_number(text, self.position + 1)
            if number is None:
                fail("expected a priority behind the dot, as in name.2: ...", text, self.position)
            priority, self.position = number
        self.position = skip_blanks(text, self.position)
        if not text.startswith(":", self.position):
            got = repr(text[self.position]) if self.position < len(text) else "the end"
            remedy = "GBNF is another format: pass it to gbnf" if text.startswith("::=", self.position) else "add it"
            fail(f"expected ':' behind the name {name}, got {got}; {remedy}", text, min(self.position, len(text)))
        if text.startswith("::=", self.position):
            fail(
                f"expected ':' behind the name {name}, got '::='; GBNF is another format: use gbnf", text, self.position
            )
        self.position += 1
        body = self.body(begin)
        self.definitions.append(Definition(span, name, body, parameters, priority, how))  # type: ignore[arg-type]

    def parameters(self) -> tuple[str, ...]:
        """``{name, name}`` of a template."""
        text, start = self.text, self.position
        found: list[str] = []
        while True:
            self.position = skip_blanks(text, self.position + 1)
            found.append(self.name("a parameter"))
            self.position = skip_blanks(text, self.position)
            if text.startswith("}", self.position):
                self.position += 1
                break
            if not text.startswith(",", self.position):
                fail("unclosed parameters: expected , or }; add it", text, start)
        if len(set(found)) < len(found):
            fail("a parameter is named twice; rename one", text, start)
        return tuple(found)

    # -- bodies -------------------------------------------------------------------------------------------------

    def body(self, start: int) -> Alternation:
        """Alternatives up to the end of the line; a line that begins with ``|`` goes on."""
        text = self.text
        levels = [_Level(start, "", self.position)]
        while True:
            self.position = skip_blanks(text, self.position, lines=len(levels) > 1)
            here = self.position
            if at_end_of_line(text, here):
                after = skip_to_statement(text, here)
                if len(levels) > 1 or not text.startswith("|", after):
                    break
                self.position = after
                continue
            letter = text[here]
            level = levels[-1]
            if letter in "([":
                if len(levels) > self.limits.max_nesting:
                    where = f"the group at {line_column(text, here)}"
                    raise LimitExceeded("max_nesting", self.limits.max_nesting, where)
                self.position = here + 1
                levels.append(_Level(here, letter, here + 1))
            elif letter in ")]":
                self.close(levels)
            elif letter == "|":
                self.end_branch(level)
                self.position = level.branch = here + 1
            elif text.startswith("->", here):
                self.position = skip_blanks(text, here + 2)
                self.name("a name behind ->")
            elif letter in "?*+~":
                self.operator(level)
            else:
                self.value(level)
        if len(levels) > 1:
            opened = levels[-1]
            fail(f"unclosed group: expected '{_CLOSING[opened.kind]}'; add it", text, opened.opened)
        self.end_branch(levels[0])
        return Alternation(Span(start, self.position), tuple(levels[0].branches))

    def end_branch(self, level: _Level) -> None:
        level.branches.append(Sequence(Span(level.branch, self.position), tuple(level.parts)))
        level.parts = []

    def close(self, levels: list[_Level]) -> None:
        text, here = self.text, self.position
        level = levels[-1]
        if _CLOSING.get(level.kind) != text[here]:
            fail(f"'{text[here]}' without its opening; leave it out, or write it in quotes", text, here)
        self.end_branch(level)
        levels.pop()
        self.position = here + 1
        span = Span(level.opened, self.position)
        body = Alternation(span, tuple(level.branches))
        levels[-1].parts.append(Maybe(span, body) if level.kind == "[" else body)

    def operator(self, level: _Level) -> None:
        """What stands before, repeated."""
        text, here = self.text, self.position
        letter = text[here]
        if not level.parts:
            fail(f'nothing to repeat before {letter}: expected an item; write "{letter}" for it', text, here)
        body = level.parts[-1]
        if isinstance(body, Repeat):
            fail(f"operator {letter} after an operator; put what it repeats into (...)", text, here)
        minimum: int
        maximum: int | None
        if letter == "~":
            minimum, maximum = self.counts(here)
        else:
            (minimum, maximum), self.position = _OPERATORS[letter], here + 1
        level.parts[-1] = Repeat(Span(body.span.start, self.position), body, letter, minimum, maximum)

    def counts(self, here: int) -> tuple[int, int]:
        text = self.text
        first = scan_number(text, skip_blanks(text, here + 1))
        if first is None:
            fail("expected a count behind ~, as in item ~ 2..4", text, here)
        low, self.position = first
        high = low
        after = skip_blanks(text, self.position)
        if text.startswith("..", after):
            last = scan_number(text, skip_blanks(text, after + 2))
            if last is None:
                fail("expected a count behind the dots, as in item ~ 2..4", text, after)
            high, self.position = last
        if not 0 <= low <= high:
            fail(f"~ {low}..{high}: expected the lower bound first, and none below 0; swap them", text, here)
        if high > self.limits.max_repeat:
            raise LimitExceeded("max_repeat", self.limits.max_repeat, f"the repeat at {line_column(text, here)}")
        return low, high

    def value(self, level: _Level) -> None:
        """A name, a template with its arguments, a literal, a range, or an inline piece."""
        text, here = self.text, self.position
        name = scan_name(text, here)
        if text[here] in '"/':
            literal, self.position = scan_literal(text, here)
            after = skip_blanks(text, self.position)
            if not text.startswith("..", after):
                level.parts.append(literal)
                return
            after = skip_blanks(text, after + 2)
            if literal.kind != "string" or not text.startswith('"', after):
                fail('range: expected a text at both ends, as in "a".."z"', text, here)
            upper, self.position = scan_literal(text, after)
            level.parts.append(Range(Span(here, self.position), literal.raw, upper.raw))
        elif text[here] == "%":
            piece, self.position = scan_inline(text, here)
            level.parts.append(piece)
        elif name is None:
            remedy = 'write texts in double quotes: "..."' if text[here] == "'" else "write it in quotes"
            if text[here] == ":":
                remedy = "a new rule begins on a line of its own"
            fail(f"{_IN_ITS_PLACE}, got {text[here]!r}; {remedy}", text, here)
        else:
            self.position = here + len(name)
            if text.startswith("{", self.position) and not name.isupper():
                level.parts.append(self.template_use(here, name))
            else:
                level.parts.append(Name(Span(here, self.position), name))

    def template_use(self, start: int, name: str) -> TemplateUse:
        """``name{argument, ...}``; arguments may be templates in use themselves."""
        text = self.text
        uses: list[tuple[int, str, list[Expression]]] = [(start, name, [])]
        self.position += 1
        while True:
            self.position = skip_blanks(text, self.position, lines=True)
            found = _Level(self.position, "", self.position)
            here = self.position
            inner = scan_name(text, here)
            if inner is not None and text.startswith("{", here + len(inner)) and not inner.isupper():
                if len(uses) >= self.limits.max_nesting:
                    where = f"the template at {line_column(text, here)}"
                    raise LimitExceeded("max_nesting", self.limits.max_nesting, where)
                uses.append((here, inner, []))
                self.position = here + len(inner) + 1
                continue
            if here >= len(text):
                fail("unclosed arguments: expected }; add it", text, uses[-1][0])
            self.value(found)
            uses[-1][2].append(found.parts[0])
            while True:
                self.position = skip_blanks(text, self.position, lines=True)
                if text.startswith(",", self.position):
                    self.position += 1
                    break
                if not text.startswith("}", self.position):
                    fail("unclosed arguments: expected , or }; add it", text, uses[-1][0])
                self.position += 1
                begin, used, arguments = uses.pop()
                use = TemplateUse(Span(begin, self.position), used, tuple(arguments))
                if not uses:
                    return use
                uses[-1][2].append(use)
