"""The syntax tree of a GBNF grammar: what was written, and where. Every node has a :class:`Span` into the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...ir.charset import Charset

__all__ = ["Alternation", "Characters", "Grammar", "Node", "Reference", "Repeat", "Rule", "Sequence", "Span", "Text"]


@dataclass(frozen=True, slots=True)
class Span:
    """From ``start`` (included) to ``end`` (excluded), as indices into the text of the grammar."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Text:
    """A literal in quotes, its escapes resolved; it may be empty."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Characters:
    """One character: a class in brackets, or the dot."""

    span: Span
    members: Charset


@dataclass(frozen=True, slots=True)
class Reference:
    """The name of a rule."""

    span: Span
    name: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body ``minimum`` to ``maximum`` times, ``None``: without end."""

    span: Span
    body: Node
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other; no parts: the empty text."""

    span: Span
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Any one of the branches, at least two."""

    span: Span
    branches: tuple[Node, ...]


Node: TypeAlias = Text | Characters | Reference | Repeat | Sequence | Alternation


@dataclass(frozen=True, slots=True)
class Rule:
    """``name ::= body``; ``span`` is that of the name."""

    span: Span
    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Grammar:
    """All rules by name, in the order of the text. Every name that is referred to is defined."""

    text: str
    rules: dict[str, Rule]
