"""What a lowered schema says besides its grammar: annotations that the reader may have taken for assertions."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, Self

from ...ir import IR

__all__ = ["Lowered", "Note"]

_FIELDS = tuple(field.name for field in fields(IR))


class Note(NamedTuple):
    """Something that is not enforced, for JSON Schema makes it an annotation: where, which keyword, and what."""

    pointer: str
    keyword: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer or '#'}: {self.keyword}: {self.message}"


@dataclass(frozen=True, slots=True, eq=False)
class Lowered(IR):
    """The grammar of a schema, with ``notes``."""

    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, ir: IR, notes: tuple[Note, ...]) -> Self:
        """The same grammar with notes."""
        return cls(**{name: getattr(ir, name) for name in _FIELDS}, notes=notes)
