"""Strings that must be taken from a source, as they are asked for in the annotations of Python types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammars.ir.verbatim import UNITS, Unit

from ..errors import UnsupportedOutputType

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

__all__ = ["Verbatim", "asks_for_source", "checked_unit"]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """``Annotated[str, Verbatim()]``: any piece of the source, by words or by characters.

    The source is what :meth:`Model.generate` gets as ``source``; :meth:`Model.extract` takes its document. What a word
    is, :mod:`grammars.ir.verbatim` says.

    >>> from typing import Annotated
    >>> from constrained.output_types import output_type_from
    >>> output_type_from(Annotated[str, Verbatim()]).schema_text
    '{"type": "string", "x-verbatim": "words"}'
    """

    by: Unit = "words"

    def __post_init__(self) -> None:
        checked_unit(self.by, "Verbatim: by")

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core_schema)
        named = schema.get("type", "string")
        if named != "string" and "string" not in named:
            raise UnsupportedOutputType(
                f"Verbatim() stands on a type that is written as {named}; expected it on str, as in "
                "list[Annotated[str, Verbatim()]]"
            )
        return {**schema, "x-verbatim": self.by}


def checked_unit(by: Any, what: str) -> Unit:
    """One of the units. Raises UnsupportedOutputType for anything else."""
    if by not in UNITS:
        raise UnsupportedOutputType(f"{what}: expected {' or '.join(map(repr, UNITS))}, got {by!r}")
    unit: Unit = by
    return unit


def asks_for_source(text: str) -> bool:
    """Whether the text of a schema, or of a grammar with schemas in it, may ask for strings from a source."""
    return '"x-verbatim"' in text
