"""What a Lark grammar defines: its rules and terminals by name, imports resolved, every use of a name checked."""

from __future__ import annotations

from functools import cache

from ..gbnf_scanner import fail
from .ast import (
    Alternation,
    Definition,
    Document,
    Expression,
    Maybe,
    Name,
    Repeat,
    Sequence,
    TemplateUse,
)
from .common import COMMON
from .parser import parse_lark

__all__ = ["Definitions", "common_definitions"]


class Definitions:
    """The definitions of a document. ``terminals`` have the text that they stand in beside them; ``ignored`` are names
    of terminals, ``places`` the definitions' in the text, for errors.

    Raises :class:`~grammars.errors.CfgError` for what is not defined, or defined twice.
    """

    def __init__(self, document: Document, start: str) -> None:
        self.text = document.text
        self.start = start
        self.terminals: dict[str, tuple[Definition, str]] = {}
        self.rules: dict[str, Definition] = {}
        self.ignored: list[str] = []
        self.places: dict[str, int] = {}
        self.define(document)

    def define(self, document: Document) -> None:
        """Imports first, then the definitions of the text."""
        text = self.text
        library = common_definitions() if document.imports else {}
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
                self.places[alias] = imported.span.start
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
            self.places[name] = place
        else:
            self.rules[name] = definition
            self.places[name] = place

    def ignore(self, number: int, body: Alternation) -> None:
        parts = body.branches[0].parts if len(body.branches) == 1 else ()
        if len(parts) == 1 and isinstance(parts[0], Name):
            name = parts[0].name
            if name not in self.terminals:
                fail(f"%ignore: undefined terminal {name}; define it, or import it", self.text, parts[0].span.start)
        else:
            name = f"__IGNORE_{number}"
            self.terminals[name] = (Definition(body.span, name, body), self.text)
            self.places[name] = body.span.start
        self.ignored.append(name)

    def check(self, document: Document) -> None:
        """Every name in a rule is defined; the start is a rule."""
        if self.start not in self.rules:
            place = document.definitions[0].span.start if document.definitions else 0
            fail(
                f"no rule {self.start}, which the grammar starts with; rename the rule that does",
                self.text,
                place,
            )
        if self.rules[self.start].parameters:
            fail(
                "the start cannot be a template; write a rule that uses it",
                self.text,
                self.rules[self.start].span.start,
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


@cache
def common_definitions() -> dict[str, Definition]:
    """What can be imported, by name."""
    return {definition.name: definition for definition in parse_lark(COMMON).definitions}
