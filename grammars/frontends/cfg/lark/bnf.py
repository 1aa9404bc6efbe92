"""A Lark grammar's rules as plain productions: imports and templates resolved, repeats and options written out.

The productions are those that Lark makes of the same text, helper rules included, because the states of the LALR
automaton, and with them the terminals that its lexer looks for, follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ....ir.regular.budget import Budget
from ....limits import DEFAULT_LIMITS, Limits
from ...regex.traverse import Steps, run
from ..gbnf_scanner import fail
from .ast import (
    Alternation,
    Definition,
    Document,
    Expression,
    Json,
    Literal,
    Maybe,
    Name,
    Range,
    Repeat,
    Sequence,
    Substring,
    TemplateUse,
)
from .common import COMMON
from .definitions import Definitions, common_definitions
from .patterns import Pattern, TerminalPatterns, literal_pattern
from .repeats import Repeats, Symbol, Tree

__all__ = ["Bnf", "Production", "Symbol", "bnf_from_document"]

_NAMES = {
    ".": "DOT",
    ",": "COMMA",
    ":": "COLON",
    ";": "SEMICOLON",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "\\": "BACKSLASH",
    "|": "VBAR",
    "?": "QMARK",
    "!": "BANG",
    "@": "AT",
    "#": "HASH",
    "$": "DOLLAR",
    "%": "PERCENT",
    "^": "CIRCUMFLEX",
    "&": "AMPERSAND",
    "_": "UNDERSCORE",
    "<": "LESSTHAN",
    ">": "MORETHAN",
    "=": "EQUAL",
    '"': "DBLQUOTE",
    "'": "QUOTE",
    "`": "BACKQUOTE",
    "~": "TILDE",
    "(": "LPAR",
    ")": "RPAR",
    "{": "LBRACE",
    "}": "RBRACE",
    "[": "LSQB",
    "]": "RSQB",
    "\n": "NEWLINE",
    "\r\n": "CRLF",
    "\t": "TAB",
    " ": "SPACE",
}
"""How Lark names terminals that are given by their text; names decide which of two like terminals wins."""


@dataclass(frozen=True, slots=True)
class Production:
    """``origin: symbols``; ``priority`` settles which of two is reduced."""

    origin: str
    symbols: tuple[Symbol, ...]
    priority: int


@dataclass(slots=True)
class Bnf:
    """Productions and what their terminals are. ``places`` are those of terminals in the text, for errors."""

    text: str
    start: str
    productions: list[Production] = field(default_factory=list)
    patterns: dict[str, Pattern] = field(default_factory=dict)
    priorities: dict[str, int] = field(default_factory=dict)
    islands: dict[str, Json] = field(default_factory=dict)
    substrings: dict[str, Substring] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)


def bnf_from_document(document: Document, *, start: str = "start", limits: Limits = DEFAULT_LIMITS) -> Bnf:
    """The productions of a grammar. Raises :class:`~grammars.errors.CfgError` for what is not defined or not allowed.

    >>> from grammars.frontends.cfg.lark.parser import parse_lark
    >>> bnf = bnf_from_document(parse_lark('start: "a"+'))
    >>> [(production.origin, len(production.symbols)) for production in bnf.productions]
    [('start', 1), ('__start_plus_0', 1), ('__start_plus_0', 2)]
    """
    return _Making(document, start, limits).bnf()


class _Making:
    def __init__(self, document: Document, start: str, limits: Limits) -> None:
        self.text = document.text
        self.limits = limits
        self.budget = Budget(limits, "the alternatives of the rules", cost=4)
        defined = Definitions(document, start)
        self.rules, self.terminals = defined.rules, defined.terminals
        self.result = Bnf(document.text, start, ignored=defined.ignored, places=defined.places)
        self.patterns = TerminalPatterns(self.terminals, limits)
        library = common_definitions() if document.imports else {}
        self.patterns_of_library = TerminalPatterns({name: (one, COMMON) for name, one in library.items()}, limits)
        self.by_pattern: dict[Pattern, str] = {}
        self.anonymous = 0
        self.repeats = Repeats(self.budget)
        self.instances: dict[str, tuple[Definition, dict[str, Symbol]]] = {}

    def bnf(self) -> Bnf:
        result = self.result
        for name, (definition, text) in self.terminals.items():
            patterns = self.patterns if text is self.text else self.patterns_of_library
            result.patterns[name] = patterns.pattern(definition.name)
            result.priorities[name] = definition.priority or 0
            if not result.patterns[name].value:
                fail(f"terminal {name} is empty; leave it out, or make its place optional", text, definition.span.start)
            self.by_pattern[result.patterns[name]] = name
        written: list[tuple[str, Tree, int]] = []
        for name, definition in self.rules.items():
            if not definition.parameters:
                tree = run(self.tree(definition.body, name, {}))
                written.append((name, tree, definition.priority or 0))
        done = 0
        while done < len(self.instances):
            name, (definition, names) = list(self.instances.items())[done]
            done += 1
            self.budget.spend(len(name) + 100)
            written.append((name, run(self.tree(definition.body, name, names)), definition.priority or 0))
        written += [(name, tree, 0) for name, tree in self.repeats.rules]
        for name, tree, priority in written:
            for symbols in dict.fromkeys(run(self.alternatives(tree))):
                result.productions.append(Production(name, symbols, priority))
        return result

    def tree(self, node: Expression, rule: str, names: dict[str, Symbol]) -> Steps[Tree]:
        """The expression with every repeat and template replaced, under the names of a template's parameters."""
        match node:
            case Name():
                return "symbol", names.get(node.name, (node.is_terminal, node.name))
            case Literal() | Range():
                return "symbol", (True, self.anonymous_terminal(literal_pattern(node, self.text), node.span.start))
            case Json() | Substring():
                return "symbol", (True, self.inline_piece(node))
            case TemplateUse():
                used: Tree = yield self.instance(node, rule, names)
                return used
            case Maybe():
                body = yield self.tree(node.body, rule, names)
                return "expansions", (body, ("expansion", (("empty", None),)))
            case Repeat():
                body = yield self.tree(node.body, rule, names)
                return self.repeats.of(node, body, rule)
            case Sequence() | Alternation():
                parts: list[Tree] = []
                for part in node.parts if isinstance(node, Sequence) else node.branches:
                    parts.append((yield self.tree(part, rule, names)))  # noqa: PERF401
                return "expansion" if isinstance(node, Sequence) else "expansions", tuple(parts)

    def instance(self, node: TemplateUse, rule: str, names: dict[str, Symbol]) -> Steps[Tree]:
        arguments: list[Symbol] = []
        for argument in node.arguments:
            kind, symbol = yield self.tree(argument, rule, names)
            assert kind == "symbol"
            arguments.append(symbol)
        template = names[node.name][1] if node.name in names else node.name
        definition = self.rules.get(template)
        if definition is None or len(definition.parameters) != len(arguments):
            wanted = len(definition.parameters) if definition else "no"
            fail(f"template {template}: expected {wanted} arguments, got {len(arguments)}", self.text, node.span.start)
        name = f"{template}{{{','.join(argument[1] for argument in arguments)}}}"
        if name not in self.instances:
            self.budget.spend(len(name) + 100)
            self.instances[name] = (definition, dict(zip(definition.parameters, arguments, strict=True)))
        return "symbol", (False, name)

    def inline_piece(self, node: Json | Substring) -> str:
        if isinstance(node, Json):
            name = f"__JSON_{len(self.result.islands)}"
            self.result.islands[name] = node
        else:
            name = f"__SUBSTRING_{len(self.result.substrings)}"
            self.result.substrings[name] = node
        self.result.places[name] = node.span.start
        return name

    def anonymous_terminal(self, pattern: Pattern, place: int) -> str:
        """The terminal of a literal: one that is defined as the same, or a new one."""
        known = self.by_pattern.get(pattern)
        if known is not None:
            return known
        value, taken = pattern.value, self.result.patterns
        name = _NAMES.get(value) if pattern.is_string else None
        if name is None and pattern.is_string and value.isidentifier() and value.upper() not in taken:
            name = value.upper()
        if name is None or name in taken:
            name = f"__ANON_{self.anonymous}"
            self.anonymous += 1
        self.by_pattern[pattern] = name
        self.result.patterns[name] = pattern
        self.result.priorities[name] = 0
        self.result.places[name] = place
        return name

    def alternatives(self, tree: Tree) -> Steps[list[tuple[Symbol, ...]]]:
        """All ways to write the tree as symbols in a row."""
        kind, inside = tree
        if kind == "symbol":
            return [(inside,)]  # type: ignore[list-item]
        if kind == "empty":
            return [()]
        if kind == "expansions":
            found: dict[tuple[Symbol, ...], None] = {}
            for branch in inside:  # type: ignore[attr-defined]
                found.update(dict.fromkeys((yield self.alternatives(branch))))
            return list(found)
        ways: list[tuple[Symbol, ...]] = [()]
        for part in inside:  # type: ignore[attr-defined]
            more = yield self.alternatives(part)
            self.budget.spend(len(ways) * len(more))
            ways = [way + other for way in ways for other in more]
        return ways
