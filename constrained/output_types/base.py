"""What every output type can do: say what may be written, and turn the written text into a value."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from grammars.ir import IR

__all__ = ["InvalidText", "OutputType", "digest_of", "mark_of"]

T_co = TypeVar("T_co", covariant=True)


class InvalidText(ValueError):
    """The grammar took the text, but it is no value of the type: ``problems`` says why, one line each.

    Only what no grammar can express ends here, such as a Pydantic validator. The caller draws again or raises
    :class:`~constrained.errors.ValidationFailed`.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class OutputType(ABC, Generic[T_co]):
    """One thing that a model may be asked to write. Immutable; make one with :func:`output_type_from`."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Equal digests mean equal languages (for the same whitespace): the key of the grammar cache."""

    @property
    @abstractmethod
    def schema_text(self) -> str | None:
        """The JSON Schema as text, for a prompt to show; ``None`` when the output is not JSON."""

    @property
    def takes_source(self) -> bool:
        """Whether some part of it may have to be taken from a source, which the call gives."""
        return False

    @abstractmethod
    def lower(self, *, whitespace: str) -> IR:
        """The grammar, in the intermediate form. ``whitespace`` matters to JSON only.

        Raises :class:`grammars.errors.GrammarError` when it cannot be enforced.
        """

    @property
    def read_specials(self) -> tuple[str | int, ...]:
        """Special tokens, by name or id, whose places :meth:`parse` must know: where they stand, it is given marks."""
        return ()

    @abstractmethod
    def parse(self, text: str) -> T_co:
        """The value of a complete text. Raises :class:`InvalidText`."""


def mark_of(token: str | int) -> str:
    """What stands for a special token in the text that :meth:`OutputType.parse` is given; no text holds it."""
    return f"\udcff{token}\udcff"


def digest_of(kind: str, *parts: str) -> str:
    """A digest of a kind and its parts, in order.

    >>> digest_of("regex", "ab") == digest_of("regex", "a", "b")
    False
    """
    hasher = hashlib.blake2b(kind.encode(), digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.hexdigest()
