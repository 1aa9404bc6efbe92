"""What grammars are combined from: everything that may be a part of a larger one, and how it is written into it."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedOutputType
from ..output_types import OutputType, output_type_from
from ..output_types.base import digest_of

if TYPE_CHECKING:
    from grammars.ir import IR, Builder, NodeId

__all__ = ["Literal", "Piece", "add_piece", "piece_from"]


class Piece(OutputType[str]):
    """A grammar that can be a part of a larger one. Its value is the text as written.

    All pieces of one output are written into one :class:`grammars.ir.Builder`. ``description`` says what a piece makes
    of its parts.
    """

    def __init__(self, description: str, *parts: OutputType[Any]) -> None:
        self.description = description
        self.parts = parts
        self._digest = digest_of(description, *(part.digest for part in parts))  # now, while all parts have theirs

    @abstractmethod
    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        """The node that matches it, of the nodes that match its parts."""

    @property
    def digest(self) -> str:
        return self._digest

    @property
    def schema_text(self) -> str | None:
        return None

    @property
    def takes_source(self) -> bool:
        return any(part.takes_source for part in self.parts)

    def lower(self, *, whitespace: str) -> IR:
        from grammars.ir import Builder

        builder = Builder()
        return builder.finish(add_piece(self, builder, whitespace=whitespace))

    def parse(self, text: str) -> str:
        return text


class Literal(Piece):
    """Exactly this text."""

    def __init__(self, text: str) -> None:
        super().__init__(f"literal {text}")
        self.text = text

    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        return builder.literal(self.text)

    def __repr__(self) -> str:
        return repr(self.text)


def piece_from(candidate: Any, *, where: str) -> OutputType[Any]:
    """A part as a user passes it: a ``str`` is that text, anything else what it would be as an output type.

    Raises :class:`~constrained.errors.UnsupportedOutputType`, with ``where`` it stands.

    >>> piece_from("a", where="seq")
    'a'
    """
    if isinstance(candidate, str):
        try:
            candidate.encode()
        except UnicodeEncodeError:
            raise UnsupportedOutputType(f"{where}: the text {candidate!r} holds half of a surrogate pair") from None
        return Literal(candidate)
    try:
        return output_type_from(candidate)
    except UnsupportedOutputType as error:
        raise UnsupportedOutputType(f"{where}: {error}") from None


def add_piece(piece: OutputType[Any], builder: Builder, *, whitespace: str) -> NodeId:
    """Write an output type, with all that it is made of, into a builder. What stands in it twice is written once.

    Raises :class:`grammars.errors.GrammarError` where a part cannot be enforced.
    """
    from grammars.guards import JsonBegins
    from grammars.ir.splice import splice

    made: dict[str, NodeId] = {}
    stack: list[tuple[OutputType[Any], bool]] = [(piece, False)]
    while stack:
        current, is_ready = stack.pop()
        if isinstance(current, Piece) and not is_ready and current.digest not in made:
            stack.append((current, True))
            stack += [(part, False) for part in current.parts]
        elif isinstance(current, Piece) and is_ready:
            made[current.digest] = current.write(builder, tuple(made[part.digest] for part in current.parts))
        elif current.digest not in made:
            made[current.digest] = splice(current.lower(whitespace=whitespace), builder, begins=JsonBegins())
    return made[piece.digest]
