"""What a lowered schema says besides its grammar: annotations that the reader may have taken for assertions."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

from ...errors import Note
from ...ir import IR

__all__ = ["Lowered", "Note"]

_FIELDS = tuple(field.name for field in fields(IR))


@dataclass(frozen=True, slots=True, eq=False)
class Lowered(IR):
    """The grammar of a schema, with ``notes``."""

    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, ir: IR, notes: tuple[Note, ...]) -> Self:
        """The same grammar with notes."""
        return cls(**{name: getattr(ir, name) for name in _FIELDS}, notes=notes)
