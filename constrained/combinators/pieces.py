"""The combinators: one after the other, one of several, repeats, free text, special tokens, grammar texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedOutputType
from ..output_types import OutputType
from ..output_types.base import digest_of
from ..output_types.text import require_unicode
from ..output_types.verbatim import asks_for_source
from .base import Piece, piece_from

if TYPE_CHECKING:
    from grammars.ir import IR, Builder, NodeId
    from grammars.ir.regular import Dfa

__all__ = [
    "SpecialToken",
    "alt",
    "free_text",
    "gbnf",
    "lark",
    "many",
    "optional",
    "seq",
    "special",
    "text_without",
    "until",
]


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


class SpecialToken(Piece):
    """Exactly one special token of the model."""

    def __init__(self, token: str | int) -> None:
        super().__init__(f"special {token!r}")
        self.token = token

    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        return builder.special(self.token)

    def __repr__(self) -> str:
        return f"special({self.token!r})"


class Text(Piece):
    """Any text in which none of the markers is found but, for ``until``, one at its very end."""

    def __init__(self, markers: tuple[str | SpecialToken, ...], *, is_ended: bool, max_tokens: int | None) -> None:
        specials = tuple(marker for marker in markers if isinstance(marker, SpecialToken))
        self.texts = tuple(marker for marker in markers if isinstance(marker, str))
        super().__init__(f"text {is_ended} {max_tokens} {self.texts!r}", *specials)
        self.markers = markers
        self.is_ended = is_ended
        self.max_tokens = max_tokens

    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        from grammars.ir.regular import TEXT, lengths, up_to_marker, without_marker

        texts, limits = self.texts, builder.limits
        ways: list[NodeId] = []
        if not self.is_ended or parts:
            free = without_marker(texts, limits=limits) if texts else lengths(TEXT, 0)
            ways.append(builder.sequence(self._text(free, builder), *([builder.alternation(*parts)] if parts else [])))
        if self.is_ended and texts:
            ways.append(self._text(up_to_marker(texts, limits=limits), builder))
        return builder.alternation(*ways)

    def _text(self, automaton: Dfa, builder: Builder) -> NodeId:
        from grammars.ir.regular import bytes_from_text, to_fragment, to_node

        if self.max_tokens is None:
            return to_node(automaton, builder)
        return builder.limited(to_fragment(bytes_from_text(automaton, limits=builder.limits)), self.max_tokens)

    def __repr__(self) -> str:
        name = "until" if self.is_ended else "text_without" if self.markers else "free_text"
        given = [*map(repr, self.markers), *([] if self.max_tokens is None else [f"max_tokens={self.max_tokens}"])]
        return f"{name}({', '.join(given)})"


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


def special(token: str | int) -> SpecialToken:
    """Exactly one special token of the model, by its name or id. It is no text: the result's ``text`` leaves it out.

    Text never counts as the token, nor the token as text, whatever its name. One that otherwise ends a generation does
    not end it where the grammar asks for it. Whether the model has it is found out when the grammar is compiled:
    :class:`grammars.errors.VocabularyError` names those that are called like it.

    >>> seq(until(special("</think>")), bool)
    seq(until(special('</think>')), PythonType.from_type(bool))
    """
    if isinstance(token, bool) or not isinstance(token, str | int) or token == "":
        raise UnsupportedOutputType(f"special: expected the name of a special token or its id, got {token!r}")
    if isinstance(token, int) and token < 0:
        raise UnsupportedOutputType(f"special: expected an id of at least 0, got {token}")
    return SpecialToken(token)


def until(*markers: str | SpecialToken, max_tokens: int | None = None) -> Piece:
    """Any text up to the first place where one of the markers ends, marker included.

    A marker is a text or a special token. After ``max_tokens`` tokens that end inside the text, only the shortest way
    to a marker is left: the rest of a character half written, or of a marker half written, or the marker. What of a
    marker is written then does not count.

    >>> seq("<think>", until("</think>", max_tokens=200), bool)
    seq('<think>', until('</think>', max_tokens=200), PythonType.from_type(bool))
    """
    return Text(_checked(markers, "until"), is_ended=True, max_tokens=_checked_limit(max_tokens, "until"))


def text_without(*markers: str, max_tokens: int | None = None) -> Piece:
    """Any text, the empty one too, in which none of the markers is found. ``max_tokens`` as in :func:`free_text`.

    >>> text_without("```")
    text_without('```')
    """
    for marker in markers:
        if isinstance(marker, SpecialToken):
            raise UnsupportedOutputType(f"text_without: {marker!r} is no text and so in none; leave it out")
    limit = _checked_limit(max_tokens, "text_without")
    return Text(_checked(markers, "text_without"), is_ended=False, max_tokens=limit)


def free_text(*, max_tokens: int | None = None) -> Piece:
    r"""Any text, the empty one too, of at most ``max_tokens`` tokens; a character half written then is finished.

    What counts is a token after which the text may stand in this piece, with something of it written. One that begins
    before and ends inside counts, one that also writes what comes behind does not; where the text can be read in
    several ways, any of them that is inside counts. ``None``: without end.

    >>> seq("Reason: ", free_text(max_tokens=40), "\n", bool)
    seq('Reason: ', free_text(max_tokens=40), '\n', PythonType.from_type(bool))
    """
    return Text((), is_ended=False, max_tokens=_checked_limit(max_tokens, "free_text"))


def _checked(markers: tuple[Any, ...], where: str) -> tuple[str | SpecialToken, ...]:
    if not markers:
        raise UnsupportedOutputType(f"{where}: expected at least one marker, got none")
    for marker in markers:
        if isinstance(marker, SpecialToken):
            continue
        if not isinstance(marker, str) or not marker:
            raise UnsupportedOutputType(f"{where}: expected markers that are texts and not empty, got {marker!r}")
        piece_from(marker, where=where)
    return tuple(dict.fromkeys(markers))


def _checked_limit(max_tokens: object, where: str) -> int | None:
    if max_tokens is None:
        return None
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
        raise UnsupportedOutputType(f"{where}: max_tokens: expected a whole number of at least 1, got {max_tokens!r}")
    return max_tokens


def gbnf(text: str, *, start: str = "root") -> Piece:
    r"""What the rule ``start`` of a GBNF grammar matches, as llama.cpp's users write them.

    The text is checked when it is used: :class:`grammars.errors.CfgError` names line and column of a fault.

    >>> gbnf('root ::= "yes" | "no"').parse("no")
    'no'
    """
    if not isinstance(text, str):
        raise UnsupportedOutputType(f"gbnf: expected the grammar as a str, got {type(text).__name__}")
    require_unicode(text, "gbnf: the grammar")
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
    require_unicode(text, "lark: the grammar")
    return LarkType(text, start)
