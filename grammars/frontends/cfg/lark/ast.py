"""The syntax tree of a Lark grammar: what was written, and where. Every node has a :class:`Span` into the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from ..gbnf_ast import Span

__all__ = [
    "Alternation",
    "Definition",
    "Document",
    "Expression",
    "Ignore",
    "Import",
    "Json",
    "Literal",
    "Maybe",
    "Name",
    "Range",
    "Repeat",
    "Sequence",
    "Span",
    "Substring",
    "TemplateUse",
]


@dataclass(frozen=True, slots=True)
class Name:
    """A rule (lower case), a terminal (upper case), or a parameter of a template."""

    span: Span
    name: str

    @property
    def is_terminal(self) -> bool:
        """Whether it is written in upper case."""
        return self.name.isupper()


@dataclass(frozen=True, slots=True)
class Literal:
    """``"text"flags`` or ``/regexp/flags``, without the quotes, escapes not resolved."""

    span: Span
    kind: OneOf["string", "regexp"]
    raw: str
    flags: str


@dataclass(frozen=True, slots=True)
class Range:
    """``"a".."z"``, both ends without their quotes, escapes not resolved."""

    span: Span
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """``name{argument, ...}``."""

    span: Span
    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Json:
    """``%json {...}``: a JSON value that the schema, here as text, allows."""

    span: Span
    schema: str


@dataclass(frozen=True, slots=True)
class Substring:
    """``%regex {"substring_...": ...}``: any run of neighbouring chunks, at least one."""

    span: Span
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body ``minimum`` to ``maximum`` times, ``None``: without end; ``written`` as ``?``, ``*``, ``+`` or ``~``."""

    span: Span
    body: Expression
    written: str
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Maybe:
    """``[...]``: the body or nothing."""

    span: Span
    body: Expression


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other; no parts: the empty text."""

    span: Span
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Any one of the branches, at least one."""

    span: Span
    branches: tuple[Sequence, ...]


Expression: TypeAlias = (
    Name | Literal | Range | TemplateUse | Json | Substring | Repeat | Maybe | Sequence | Alternation
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A rule or terminal; ``span`` is that of the name."""

    span: Span
    name: str
    body: Alternation
    parameters: tuple[str, ...] = ()
    priority: int | None = None
    how: OneOf["define", "override", "extend"] = "define"

    @property
    def is_terminal(self) -> bool:
        """Whether it is a terminal."""
        return self.name.isupper()


@dataclass(frozen=True, slots=True)
class Ignore:
    """``%ignore``."""

    span: Span
    body: Alternation


@dataclass(frozen=True, slots=True)
class Import:
    """``%import library.name -> alias``; several names have no aliases of their own."""

    span: Span
    library: str
    names: tuple[tuple[str, str], ...]
    """(name there, name here)."""


@dataclass(frozen=True, slots=True)
class Document:
    """All statements in the order of the text."""

    text: str
    definitions: tuple[Definition, ...]
    ignored: tuple[Ignore, ...]
    imports: tuple[Import, ...]
