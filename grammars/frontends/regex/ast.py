"""The syntax tree of a regular expression: what was written, and where.

Nothing is resolved here: a property keeps its name, a group its flags. Every node has a :class:`Span` into the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntFlag
from typing import Literal, TypeAlias

__all__ = [
    "Alternation",
    "AnyCharacter",
    "Assertion",
    "AssertionKind",
    "CharacterClass",
    "CharacterRange",
    "ClassItem",
    "Concatenation",
    "Dialect",
    "Flags",
    "Group",
    "Lookaround",
    "Node",
    "Pattern",
    "Property",
    "Repeat",
    "Shorthand",
    "Span",
    "Text",
    "apply_flags",
]

Dialect: TypeAlias = str
"""``python``: the syntax and meaning of :mod:`re` on ``str``; ``ecma``: ECMAScript with the flag ``u``."""


@dataclass(frozen=True, slots=True)
class Span:
    """From ``start`` (included) to ``end`` (excluded), as indices into the text of the pattern."""

    start: int
    end: int


class Flags(IntFlag):
    """What changes the meaning of the nodes below."""

    NONE = 0
    ASCII = 1
    IGNORECASE = 2
    MULTILINE = 4
    DOTALL = 8
    VERBOSE = 16
    UNICODE = 32
    """Only ever turned on, where ``(?u:...)`` takes ``ASCII`` back."""


def apply_flags(flags: Flags, on: Flags, off: Flags) -> Flags:
    """The flags inside a group that turns some on and some off."""
    if on & (Flags.ASCII | Flags.UNICODE):
        flags &= ~Flags.ASCII
    return (flags | on) & ~(off | Flags.UNICODE)


# -- one character ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """Literal characters, at least one; a run of plain ones is a single node."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class AnyCharacter:
    """The dot."""

    span: Span


@dataclass(frozen=True, slots=True)
class CharacterRange:
    """In a class: one character (``low == high``) or a range of code points, ends included."""

    span: Span
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Shorthand:
    r"""``\\d``, ``\\w`` or ``\\s``, or its negation; alone or in a class."""

    span: Span
    letter: Literal["d", "w", "s"]
    negated: bool


@dataclass(frozen=True, slots=True)
class Property:
    r"""``\\p{name}`` or ``\\p{name=value}``, or its negation; alone or in a class."""

    span: Span
    name: str
    value: str | None
    negated: bool


ClassItem: TypeAlias = CharacterRange | Shorthand | Property


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """``[...]`` or ``[^...]``."""

    span: Span
    items: tuple[ClassItem, ...]
    negated: bool


# -- of no width ------------------------------------------------------------------------------------------------


class AssertionKind(Enum):
    """What is claimed about a place between characters."""

    LINE_START = "^"
    LINE_END = "$"
    TEXT_START = r"\A"
    TEXT_END = r"\Z"
    WORD_BOUNDARY = r"\b"
    NOT_WORD_BOUNDARY = r"\B"


@dataclass(frozen=True, slots=True)
class Assertion:
    """An anchor or a word boundary."""

    span: Span
    kind: AssertionKind


@dataclass(frozen=True, slots=True)
class Lookaround:
    """``(?=...)``, ``(?!...)``, ``(?<=...)`` or ``(?<!...)``."""

    span: Span
    body: Node
    ahead: bool
    negated: bool


# -- combinations -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """A group of any kind that matches what its body matches: capturing, named, or with flags."""

    span: Span
    body: Node
    name: str | None = None
    on: Flags = Flags.NONE
    off: Flags = Flags.NONE


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body ``minimum`` to ``maximum`` times, ``None``: without end. Being lazy does not change the language."""

    span: Span
    body: Node
    minimum: int
    maximum: int | None
    lazy: bool


@dataclass(frozen=True, slots=True)
class Concatenation:
    """One part after the other; no parts: the empty text."""

    span: Span
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Any one of the branches, at least two."""

    span: Span
    branches: tuple[Node, ...]


Node: TypeAlias = (
    Text
    | AnyCharacter
    | Shorthand
    | Property
    | CharacterClass
    | Assertion
    | Lookaround
    | Group
    | Repeat
    | Concatenation
    | Alternation
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A whole regular expression. ``flags`` are those of ``(?i)`` and the like at its start."""

    text: str
    dialect: Dialect
    flags: Flags
    root: Node
    has_assertions: bool
    """Whether any node has no width: an anchor, a word boundary, or a look-around."""
