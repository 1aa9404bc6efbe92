"""GBNF text to its syntax tree, in one pass, with the open groups on a list: no nesting overflows the stack.

The syntax is that of llama.cpp's grammar files. It is read generously: a rule ends where the next one begins
(``name ::=``), so it may run over lines wherever that suits, and names may hold underscores as well as dashes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...errors import LimitExceeded
from ...ir.charset import ANY
from ...limits import DEFAULT_LIMITS, Limits
from .gbnf_ast import Alternation, Characters, Grammar, Node, Reference, Repeat, Rule, Sequence, Span
from .gbnf_scanner import NAME, fail, line_column, scan_brackets, scan_counts, scan_text, skip_blanks

__all__ = ["parse_gbnf"]

_DEFINES = re.compile(r"[ \t\r\n\f\v]*::=")
_COUNTS_OF = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_REMEDIES = {
    "'": 'write texts in double quotes: "..."',
    "<": "special tokens in a grammar text are not supported; combine grammars with constrained.special(...)",
    "!": "special tokens in a grammar text are not supported; combine grammars with constrained.special(...)",
    "/": 'comments begin with #, texts are written "..."',
    ";": "rules need no end; leave it out",
    ",": "parts follow one another without commas; leave it out",
    "=": "rules are written name ::= ...",
    ":": "rules are written name ::= ...",
    "{": "a repeat {m,n} stands behind what it repeats; if this is JSON, pass it as a JSON Schema",
    "}": "leave it out",
    "-": "names begin with a letter",
}


def parse_gbnf(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Grammar:
    """The syntax tree of a grammar text.

    Raises :class:`~grammars.errors.CfgError` with line and column of what is malformed, of names that are not defined
    or defined twice, and :class:`~grammars.errors.LimitExceeded` for a text or nesting beyond ``limits``.

    >>> parse_gbnf('root ::= "a" | ("b" root)').rules["root"].body.branches[0].text
    'a'
    """
    if len(text) > limits.max_source_length:
        raise LimitExceeded("max_source_length", limits.max_source_length, f"a grammar of {len(text):,} characters")
    return _Parser(text, limits).parse()


@dataclass(slots=True)
class _Level:
    """An open group, or the body of a rule."""

    opened: int  # where its "(" is; of a rule: where its name is
    start: int  # where its content starts
    branch: int  # where the current branch starts
    branches: list[Node] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)


class _Parser:
    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.position = 1 if text.startswith("\ufeff") else 0
        self.rules: dict[str, Rule] = {}
        self.references: dict[str, int] = {}  # where each name is first referred to

    def parse(self) -> Grammar:
        text = self.text
        self.position = skip_blanks(text, self.position)
        if self.position == len(text):
            fail("an empty grammar: expected at least one rule; write root ::= ...", text, max(self.position - 1, 0))
        while self.position < len(text):
            self.rule()
        for name, place in self.references.items():
            if name not in self.rules:
                self.undefined(name, place)
        return Grammar(text, self.rules)

    def undefined(self, name: str, place: int) -> None:
        like = [other for other in self.rules if other.replace("_", "-").lower() == name.replace("_", "-").lower()]
        remedy = f"did you mean {like[0]}?" if like else f"add {name} ::= ..."
        fail(f'undefined rule "{name}"; {remedy}', self.text, place)

    def rule(self) -> None:
        """``name ::= body``."""
        text, start = self.text, self.position
        match = NAME.match(text, start)
        if match is None:
            remedy = "if this is JSON, pass it as a JSON Schema" if text[start] in "{[" else "write name ::= ..."
            fail(f"expected the name of a rule, got {text[start]!r}; {remedy}", text, start)
        name = match[0]
        defines = _DEFINES.match(text, match.end())
        if defines is None:
            place = skip_blanks(text, match.end())
            got = repr(text[place]) if place < len(text) else "the end"
            fail(f'expected ::= behind the name "{name}", got {got}; write {name} ::= ...', text, min(place, len(text)))
        if name in self.rules:
            line = text.count("\n", 0, self.rules[name].span.start) + 1
            fail(f'rule "{name}" is already defined in line {line}; rename one, or join them with |', text, start)
        self.position = skip_blanks(text, defines.end())
        self.rules[name] = Rule(Span(start, match.end()), name, self.body(start))

    def body(self, start: int) -> Node:
        """Everything up to the next rule, or the end."""
        text = self.text
        levels = [_Level(start, self.position, self.position)]
        while self.position < len(text):
            here = self.position
            letter = text[here]
            match = NAME.match(text, here) if letter.isalnum() or letter == "_" else None
            if match is not None:
                if _DEFINES.match(text, match.end()):
                    break
                self.references.setdefault(match[0], here)
                self.position = match.end()
                levels[-1].parts.append(Reference(Span(here, match.end()), match[0]))
            elif letter == "(":
                if len(levels) > self.limits.max_nesting:
                    where = f"the group at {line_column(text, here)}"
                    raise LimitExceeded("max_nesting", self.limits.max_nesting, where)
                self.position = skip_blanks(text, here + 1)
                levels.append(_Level(here, self.position, self.position))
            elif letter == ")":
                if len(levels) == 1:
                    fail("')' without '('; leave it out, or write \")\" for the character", text, here)
                node = self.close(levels.pop())
                self.position = here + 1
                levels[-1].parts.append(node)
            elif letter == "|":
                self.end_branch(levels[-1])
                self.position = levels[-1].branch = here + 1
            else:
                self.item(levels[-1], letter)
            self.position = skip_blanks(text, self.position)
        if len(levels) > 1:
            fail("unclosed group: expected ')'; add it, or write \"(\" for the character", text, levels[-1].opened)
        return self.close(levels[0])

    def item(self, level: _Level, letter: str) -> None:
        """A leaf, or a quantifier of what stands before it."""
        text, here = self.text, self.position
        if letter == '"':
            node, self.position = scan_text(text, here)
            level.parts.append(node)
        elif letter == "[":
            members, self.position = scan_brackets(text, here)
            level.parts.append(members)
        elif letter == ".":
            self.position = here + 1
            level.parts.append(Characters(Span(here, here + 1), ANY))
        elif letter in _COUNTS_OF or (letter == "{" and level.parts):
            if not level.parts:
                fail(f'nothing to repeat before {letter}: expected an item; write "{letter}" for it', text, here)
            if letter == "{":
                minimum, maximum, self.position = scan_counts(text, here, self.limits)
            else:
                (minimum, maximum), self.position = _COUNTS_OF[letter], here + 1
            body = level.parts[-1]
            level.parts[-1] = Repeat(Span(body.span.start, self.position), body, minimum, maximum)
        else:
            remedy = _REMEDIES.get(letter, f'write "{letter}" for the character')
            expected = 'expected a text "...", a class [...], a name, a group or |'
            fail(f"{expected}, got {letter!r}; {remedy}", text, here)

    def end_branch(self, level: _Level) -> None:
        parts = level.parts
        span = Span(level.branch, self.position)
        level.branches.append(parts[0] if len(parts) == 1 else Sequence(span, tuple(parts)))
        level.parts = []

    def close(self, level: _Level) -> Node:
        """What the level matches; its last branch ends here."""
        self.end_branch(level)
        if len(level.branches) == 1:
            return level.branches[0]
        return Alternation(Span(level.start, self.position), tuple(level.branches))
