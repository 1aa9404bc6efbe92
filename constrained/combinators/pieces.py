"""The combinators: one after the other, one of several, repeats, free text up to a marker, grammar texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedOutputType
from ..output_types import OutputType
from ..output_types.base import digest_of
from ..output_types.verbatim import asks_for_source
from .base import Piece, piece_from

if TYPE_CHECKING:
    from grammars.ir import IR, Builder, NodeId

__all__ = ["alt", "gbnf", "lark", "many", "optional", "seq", "text_without", "until"]


class Sequence(Piece):
    """One part after the other."""

    def __init__(self, *parts: OutputType[Any]) -> None:
        super().__init__("seq", *parts)

    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        return builder.sequence(*parts)

    def __repr__(self) -> str:
        return f"seq({', '.join(map(repr, self.parts))})"


class Alternation(Piece):
    """Any one of the parts."""

    def __init__(self, *parts: OutputType[Any]) -> None:
        super().__init__("alt", *parts)

    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        return builder.alternation(*parts)

    def __repr__(self) -> str:
        return f"alt({', '.join(map(repr, self.parts))})"


class Repeat(Piece):
    """A part some number of times, with a separator between."""

    def __init__(self, body: OutputType[Any], sep: OutputType[Any], minimum: int, maximum: int | None) -> None:
        super().__init__(f"many {minimum} {maximum}", body, sep)
        self.minimum = minimum
        self.maximum = maximum

    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        body, sep = parts
        if self.maximum == 0:
            return builder.epsilon
        rest = None if self.maximum is None else self.maximum - 1
        some = builder.sequence(body, builder.repeat(builder.sequence(sep, body), max(self.minimum - 1, 0), rest))
        return some if self.minimum else builder.optional(some)

    def __repr__(self) -> str:
        return f"many({self.parts[0]!r}, sep={self.parts[1]!r}, minimum={self.minimum}, maximum={self.maximum})"


class Text(Piece):
    """Any text in which none of the markers is found but, for ``until``, one at its very end."""

    def __init__(self, markers: tuple[str, ...], *, is_ended: bool) -> None:
        super().__init__(f"text {is_ended} {markers!r}")
        self.markers = markers
        self.is_ended = is_ended

    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        from grammars.ir.regular import to_node, up_to_marker, without_marker

        automaton = up_to_marker if self.is_ended else without_marker
        return to_node(automaton(self.markers, limits=builder.limits), builder)

    def __repr__(self) -> str:
        return f"{'until' if self.is_ended else 'text_without'}({', '.join(map(repr, self.markers))})"


class GbnfPiece(Piece):
    """What a GBNF grammar matches."""

    def __init__(self, text: str, start: str) -> None:
        super().__init__(f"gbnf {start} {text}")
        self.text = text
        self.start = start

    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        from grammars.frontends.cfg import lower_gbnf

        return lower_gbnf(self.text, builder, start=self.start)

    def __repr__(self) -> str:
        return f"gbnf({self.text!r})"


class LarkType(OutputType[str]):
    """What a Lark grammar matches. Inside larger pieces it begins and ends as it would alone."""

    def __init__(self, text: str, start: str) -> None:
        self.text = text
        self.start = start

    @property
    def digest(self) -> str:
        return digest_of("lark", self.start, self.text)

    @property
    def schema_text(self) -> None:
        return None

    @property
    def takes_source(self) -> bool:
        return asks_for_source(self.text)

    def lower(self, *, whitespace: str) -> IR:
        from grammars.frontends.cfg import lower_lark
        from grammars.ir import Builder

        builder = Builder()
        return builder.finish(lower_lark(self.text, builder, start=self.start, whitespace=whitespace))

    def parse(self, text: str) -> str:
        return text

    def __repr__(self) -> str:
        return f"lark({self.text!r})"


def seq(*parts: Any) -> Piece:
    """One part after the other. A ``str`` is that text; a type or a JSON Schema is JSON; pieces are what they are.

    >>> seq("<answer>", bool, "</answer>")
    seq('<answer>', PythonType.from_type(bool), '</answer>')
    """
    return Sequence(*(piece_from(part, where=f"seq: part {number}") for number, part in enumerate(parts, 1)))


def alt(*parts: Any) -> Piece:
    """Any one of the parts, which are as in :func:`seq`.

    >>> alt("n/a", seq("v", int))
    alt('n/a', seq('v', PythonType.from_type(int)))
    """
    if not parts:
        raise UnsupportedOutputType("alt: expected at least one part, got none")
    return Alternation(*(piece_from(part, where=f"alt: part {number}") for number, part in enumerate(parts, 1)))


def optional(part: Any) -> Piece:
    """The part or nothing.

    >>> optional("!")
    alt('', '!')
    """
    return alt("", piece_from(part, where="optional"))


def many(part: Any, *, sep: Any = "", minimum: int = 0, maximum: int | None = None) -> Piece:
    """The part ``minimum`` to ``maximum`` times (``None``: without end), with ``sep`` between two of them.

    >>> many(int, sep=", ", minimum=1)
    many(PythonType.from_type(int), sep=', ', minimum=1, maximum=None)
    """
    if minimum < 0 or (maximum is not None and maximum < minimum):
        raise ValueError(f"many: expected 0 <= minimum <= maximum, got {minimum} and {maximum}")
    return Repeat(piece_from(part, where="many"), piece_from(sep, where="many: sep"), minimum, maximum)


def until(*markers: str) -> Piece:
    """Any text up to the first place where one of the markers ends, marker included.

    >>> seq("<think>", until("</think>"), bool)
    seq('<think>', until('</think>'), PythonType.from_type(bool))
    """
    return Text(_checked(markers, "until"), is_ended=True)


def text_without(*markers: str) -> Piece:
    """Any text, the empty one too, in which none of the markers is found.

    >>> text_without("```")
    text_without('```')
    """
    return Text(_checked(markers, "text_without"), is_ended=False)


def _checked(markers: tuple[str, ...], where: str) -> tuple[str, ...]:
    if not markers:
        raise UnsupportedOutputType(f"{where}: expected at least one marker, got none")
    for marker in markers:
        if not isinstance(marker, str) or not marker:
            raise UnsupportedOutputType(f"{where}: expected markers that are texts and not empty, got {marker!r}")
        piece_from(marker, where=where)
    return tuple(dict.fromkeys(markers))


def gbnf(text: str, *, start: str = "root") -> Piece:
    r"""What the rule ``start`` of a GBNF grammar matches, as llama.cpp's users write them.

    The text is checked when it is used: :class:`grammars.errors.CfgError` names line and column of a fault.

    >>> gbnf('root ::= "yes" | "no"').parse("no")
    'no'
    """
    if not isinstance(text, str):
        raise UnsupportedOutputType(f"gbnf: expected the grammar as a str, got {type(text).__name__}")
    return GbnfPiece(text, start)


def lark(text: str, *, start: str = "start") -> LarkType:
    r"""What Lark, with its LALR parser and contextual lexer, parses from the rule ``start`` of a Lark grammar.

    ``%json {...}`` stands for a JSON value of that schema. The text is checked when it is used:
    :class:`grammars.errors.CfgError` names line and column of a fault.

    >>> lark('start: "yes" | "no"').parse("no")
    'no'
    """
    if not isinstance(text, str):
        raise UnsupportedOutputType(f"lark: expected the grammar as a str, got {type(text).__name__}")
    return LarkType(text, start)
