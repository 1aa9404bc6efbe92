"""Verbatim text as a part of an output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.errors import SourceError
from grammars.ir.verbatim import Unit, check_source

from ..errors import UnsupportedOutputType
from ..output_types.base import digest_of
from ..output_types.verbatim import checked_unit
from .base import Piece

if TYPE_CHECKING:
    from grammars.ir import Builder, NodeId

__all__ = ["VerbatimPiece", "verbatim"]

_LONGEST_SHOWN = 20


class VerbatimPiece(Piece):
    """Any piece of a document, or of the source where there is none."""

    def __init__(self, document: str | None, by: Unit) -> None:
        super().__init__(f"verbatim {by} {'' if document is None else digest_of('document', document)}")
        self.document = document
        self.by = by

    @property
    def takes_source(self) -> bool:
        return self.document is None

    def write(self, builder: Builder, parts: tuple[NodeId, ...]) -> NodeId:
        from grammars.ir.verbatim import Verbatim

        return builder.verbatim(Verbatim(self.document, self.by, "plain"))

    def __repr__(self) -> str:
        start = self.document or ""
        shown = repr(start if len(start) <= _LONGEST_SHOWN else f"{start[:_LONGEST_SHOWN]}…") + ", " if start else ""
        return f"verbatim({shown}by={self.by!r})"


def verbatim(document: str | None = None, *, by: Unit = "words") -> VerbatimPiece:
    """Any piece of ``document``, at least one word (``by="characters"``: one character) of it, as it stands there.

    Without a document it is taken from the ``source`` of the call (:meth:`Model.extract`: from the document there).
    As a JSON string it is ``Annotated[str, Verbatim()]``, or ``"x-verbatim": true`` in a schema.

    >>> verbatim("To be, or not to be", by="characters").parse("not to")
    'not to'
    """
    checked_unit(by, "verbatim: by")
    if document is not None:
        if not isinstance(document, str):
            raise UnsupportedOutputType(f"verbatim: expected the document as a str, got {type(document).__name__}")
        try:
            check_source(document, "verbatim: document")
        except SourceError as error:
            raise UnsupportedOutputType(str(error)) from None
    return VerbatimPiece(document, by)
