"""A Lark grammar's rules as plain productions: imports and templates resolved, repeats and options written out.

The productions are those that Lark makes of the same text, helper rules included, because the states of the LALR
automaton, and with them the terminals that its lexer looks for, follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

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
from .parser import parse_lark
from .patterns import Pattern, TerminalPatterns, literal_pattern

__all__ = ["Bnf", "Production", "Symbol", "bnf_from_document"]

Symbol: TypeAlias = tuple[bool, str]
"""(whether it is a terminal, its name)."""

Tree: TypeAlias = tuple[str, object]
"""``("symbol", Symbol)``, ``("expansion", trees)`` or ``("expansions", trees)``: equal trees share helper rules."""

_REPEAT_BREAK, _FACTOR = 50, 5
"""Lark writes repeats of fewer than 50 out, and longer ones as sums of products with factors up to 5."""

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
        self.result = Bnf(document.text, start)
        self.terminals: dict[str, tuple[Definition, str]] = {}
        self.rules: dict[str, Definition] = {}
        self.patterns = TerminalPatterns(self.terminals, limits)
        self.by_pattern: dict[Pattern, str] = {}
        self.anonymous = 0
        self.helpers = 0
        self.known: dict[object, Symbol] = {}
        self.helper_rules: list[tuple[str, Tree]] = []
        self.instances: dict[str, tuple[Definition, dict[str, Symbol]]] = {}
        self.define(document)

    # -- definitions ----------------------------------------------------------------------------------------------

    def define(self, document: Document) -> None:
        """Imports first, then the definitions of the text."""
        text = self.text
        library = _library() if document.imports else {}
        for imported in document.imports:
            if imported.library != "common":
                remedy = "only common can be imported from; write the definitions out"
                fail(f"%import {imported.library}: {remedy}", text, imported.span.start)
            for name, alias in imported.names:
                if name not in library:
                    known = ", ".join(one for one in library if not one.startswith("_"))
                    fail(f"%import common.{name}: expected one of {known}", text, imported.span.start)
                if alias in self.terminals or not alias.isupper():
                    what = (
                        "is imported twice" if alias.isupper() else "is no name of a terminal: write it in upper case"
                    )
                    fail(f"{alias} {what}", text, imported.span.start)
                self.terminals[alias] = (library[name], COMMON)
                self.result.places[alias] = imported.span.start
        self.patterns_of_library = TerminalPatterns({name: (one, COMMON) for name, one in library.items()}, self.limits)
        for definition in document.definitions:
            self.define_one(definition)
        for number, ignored in enumerate(document.ignored):
            self.ignore(number, ignored.body)
        self.check(document)

    def define_one(self, definition: Definition) -> None:
        name, place = definition.name, definition.span.start
        before = self.rules.get(name)
        if definition.is_terminal:
            before = self.terminals[name][0] if name in self.terminals else None
        kind = "terminal" if definition.is_terminal else "rule"
        if definition.how == "define" and before is not None:
            fail(f"{kind} {name} is already defined; rename one, or use %override or %extend", self.text, place)
        if definition.how != "define" and before is None:
            fail(f"%{definition.how}: {kind} {name} is not defined; define it without", self.text, place)
        if definition.how == "extend" and before is not None:
            if before.parameters != definition.parameters:
                fail(f"%extend: {kind} {name} has other parameters; write the same", self.text, place)
            if definition.is_terminal and self.terminals[name][1] is not self.text:
                fail(f"%extend: terminal {name} is imported; define one of your own with both", self.text, place)
            more = Sequence(definition.body.span, (definition.body,))
            body = Alternation(before.body.span, (more, *before.body.branches))
            definition = Definition(before.span, name, body, before.parameters, before.priority)
        if definition.is_terminal:
            if definition.parameters:
                fail(f"terminal {name} with parameters: only rules can be templates; write a rule", self.text, place)
            self.terminals[name] = (definition, self.text)
            self.result.places[name] = place
        else:
            self.rules[name] = definition
            self.result.places[name] = place

    def ignore(self, number: int, body: Alternation) -> None:
        parts = body.branches[0].parts if len(body.branches) == 1 else ()
        if len(parts) == 1 and isinstance(parts[0], Name):
            name = parts[0].name
            if name not in self.terminals:
                fail(f"%ignore: undefined terminal {name}; define it, or import it", self.text, parts[0].span.start)
        else:
            name = f"__IGNORE_{number}"
            self.terminals[name] = (Definition(body.span, name, body), self.text)
            self.result.places[name] = body.span.start
        self.result.ignored.append(name)

    def check(self, document: Document) -> None:
        """Every name in a rule is defined; the start is a rule."""
        if self.result.start not in self.rules:
            place = document.definitions[0].span.start if document.definitions else 0
            fail(
                f"no rule {self.result.start}, which the grammar starts with; rename the rule that does",
                self.text,
                place,
            )
        if self.rules[self.result.start].parameters:
            fail(
                "the start cannot be a template; write a rule that uses it",
                self.text,
                self.rules[self.result.start].span.start,
            )
        for definition in self.rules.values():
            pending: list[Expression] = [definition.body]
            while pending:
                node = pending.pop()
                match node:
                    case Name() if node.name not in definition.parameters:
                        self.check_name(node)
                    case TemplateUse():
                        self.check_template(node, definition)
                        pending += node.arguments
                    case Repeat() | Maybe():
                        pending.append(node.body)
                    case Sequence():
                        pending += node.parts
                    case Alternation():
                        pending += node.branches

    def check_name(self, node: Name) -> None:
        if node.name not in (self.terminals if node.is_terminal else self.rules):
            kind, remedy = ("terminal", "or import it") if node.is_terminal else ("rule", "or correct the name")
            fail(f"undefined {kind} {node.name}; define it, {remedy}", self.text, node.span.start)
        if not node.is_terminal and self.rules[node.name].parameters:
            count = len(self.rules[node.name].parameters)
            fail(
                f"template {node.name} without its {count} arguments; write {node.name}{{...}}",
                self.text,
                node.span.start,
            )

    def check_template(self, node: TemplateUse, definition: Definition) -> None:
        if node.name in definition.parameters:
            return
        if node.name not in self.rules:
            fail(f"undefined template {node.name}; define it", self.text, node.span.start)
        wanted, got = len(self.rules[node.name].parameters), len(node.arguments)
        if wanted != got:
            fail(f"template {node.name}: expected {wanted} arguments, got {got}", self.text, node.span.start)

    # -- productions ----------------------------------------------------------------------------------------------

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
        written += [(name, tree, 0) for name, tree in self.helper_rules]
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
                return self.repeated(node, body, rule)
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

    # -- repeats --------------------------------------------------------------------------------------------------

    def helper(self, key: object, what: str, rule: str, make: tuple[tuple[Tree, ...], ...] | None, body: Tree) -> Tree:
        """A helper rule, shared by equal keys; without ``make``, one that repeats the body."""
        symbol = self.known.get(key)
        if symbol is None:
            symbol = self.known[key] = (False, f"__{rule}_{what}_{self.helpers}")
            self.helpers += 1
            branches = make if make is not None else ((body,), (("symbol", symbol), body))
            tree: Tree = ("expansions", tuple(("expansion", branch) for branch in branches))
            self.helper_rules.append((symbol[1], tree))
        return "symbol", symbol

    def repeated(self, node: Repeat, body: Tree, rule: str) -> Tree:
        nothing: Tree = ("expansion", ())
        match node.written:
            case "?":
                return "expansions", (body, nothing)
            case "+":
                return self.helper(body, "plus", rule, None, body)
            case "*":
                return "expansions", (self.helper(body, "star", rule, None, body), nothing)
        low, high = node.minimum, node.maximum
        assert high is not None
        if high < _REPEAT_BREAK:
            self.budget.spend(high * (high - low + 1))
            return "expansions", tuple(("expansion", (body,) * count) for count in range(low, high + 1))
        return self.long_repeat(low, high, body, rule)

    def long_repeat(self, low: int, high: int, body: Tree, rule: str) -> Tree:
        least = body
        for a, b in _factors(low):
            least = self.helper((a, b, least, body), f"repeat_a{a}_b{b}", rule, ((least,) * a + (body,) * b,), body)
        if low == high:
            return least
        target: Tree = body
        upto: Tree = ("expansion", ())
        *steps, last = _factors(high - low + 1)
        for a, b in steps:
            upto = self.at_most(a, b, target, upto, body, rule)
            target = self.helper((a, b, target, body), f"repeat_a{a}_b{b}", rule, ((target,) * a + (body,) * b,), body)
        upto = self.at_most(*last, target, upto, body, rule)
        return "expansions", (("expansion", (least, upto)),)

    def at_most(self, a: int, b: int, target: Tree, upto: Tree, body: Tree, rule: str) -> Tree:
        branches = tuple((target,) * count + (upto,) for count in range(a))
        branches += tuple((target,) * a + (body,) * count for count in range(b))
        return self.helper((a, b, target, body, "opt"), f"repeat_a{a}_b{b}_opt", rule, branches, body)

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


@cache
def _library() -> dict[str, Definition]:
    """What can be imported, by name."""
    return {definition.name: definition for definition in parse_lark(COMMON).definitions}


def _factors(number: int) -> list[tuple[int, int]]:
    """[(a, b), ...] with number = (... (1 * a + b) * a + b ...), all of a and a + b small: as Lark takes them."""
    if number <= _FACTOR:
        return [(number, 0)]
    for a in range(_FACTOR, 1, -1):
        quotient, b = divmod(number, a)
        if a + b <= _FACTOR:
            return [*_factors(quotient), (a, b)]
    raise AssertionError(f"no factors of {number}")
