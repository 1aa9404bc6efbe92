"""The questions that guards ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from .place import BETWEEN, NUMBER, STRING
from .reading import Reading, beginning_with, canonical_text, parse, string_text

__all__ = [
    "QUIET",
    "UNKNOWN",
    "Ahead",
    "Comparison",
    "DistinctFewNames",
    "DistinctItems",
    "DistinctNames",
    "JsonBegins",
    "Question",
    "ValidValue",
]


class Ahead(NamedTuple):
    """What may follow the text up to a value that is denied. What is left out is known to be agreed to."""

    plain: frozenset[bytes] | None
    """Plain bytes, that is the rest of a string without escapes, or such a string, or digits; ``None``: any."""
    spelled: bool
    """Whether the same in another spelling: with escapes, whitespace before it, a number with a fraction."""
    beyond: bool
    """Whether bytes that end more than one value, or open and close some."""


QUIET: Final = Ahead(frozenset(), False, False)
UNKNOWN: Final = Ahead(None, True, True)


class Question(Protocol):
    """Asked where a value ends; hashable, and equal where it asks the same."""

    def holds(self, reading: Reading) -> bool:
        """Whether the text may go on as if the value were right."""
        ...

    def denied_ahead(self, reading: Reading) -> Ahead:
        """After what the answer may be no; cheap, for it is asked before every token bitmask that needs guards."""
        ...


@dataclass(frozen=True, slots=True)
class JsonBegins:
    """No question, but a mark: what comes next is a JSON text of its own, whatever was before it."""

    def holds(self, reading: Reading) -> bool:
        """Always."""
        return True

    def denied_ahead(self, reading: Reading) -> Ahead:
        """Nothing."""
        return QUIET


@dataclass(frozen=True, slots=True)
class Comparison:
    """The value that ends here equals none before it in its array or object. 1 and 1.0 are equal, ``"\\u0061"`` and
    ``"a"``, and objects whose members come in another order."""

    def holds(self, reading: Reading) -> bool:
        earlier = reading.earlier
        return not earlier or canonical_text(reading.value_text) not in earlier

    def denied_ahead(self, reading: Reading) -> Ahead:
        """Just the rests of the earlier values that begin as the open one does."""
        earlier, mode = reading.earlier, reading.place.mode
        beyond = reading.has_elements_outside
        if not earlier:
            return Ahead(frozenset(), False, beyond)
        texts = reading.earlier_texts
        if mode == BETWEEN:
            return Ahead(frozenset(texts), True, True)
        begun = reading.value_text
        if b"\\" in begun or (mode != STRING and not (mode == NUMBER and begun.isdigit())):
            return UNKNOWN
        rests = frozenset(text[len(begun) :] for text in beginning_with(texts, begun))
        if mode == NUMBER:
            return Ahead(rests, True, True)
        start = begun[1:].decode("utf-8", "replace").rstrip("\ufffd")
        spelled = bool(rests) or any(True for _ in beginning_with(texts, string_text(start)[:-1]))
        return Ahead(rests, spelled, beyond)


class DistinctItems(Comparison):
    """The item that ends here equals no earlier item of its array (``uniqueItems``)."""

    __slots__ = ()


class DistinctNames(Comparison):
    """The name that ends here is no earlier name of its object, however it is spelled."""

    __slots__ = ()


class DistinctFewNames(DistinctNames):
    """The same, of names of which there are only so many: they may run out."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ValidValue:
    """The value that ends here is one that ``check`` takes; ``name`` identifies the check."""

    name: str
    check: Callable[[Any], bool] = field(compare=False)

    def holds(self, reading: Reading) -> bool:
        """Parse the value, numbers as ``int`` or ``Decimal``, and ask."""
        return self.check(parse(reading.value_text))

    def denied_ahead(self, reading: Reading) -> Ahead:
        """Nothing is known without asking."""
        return UNKNOWN
