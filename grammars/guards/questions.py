"""The questions that guards ask."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from .place import BETWEEN, NUMBER, STRING
from .reading import Reading, canonical_text, parse, string_text

__all__ = ["DistinctItems", "DistinctNames", "JsonBegins", "Question", "ValidValue"]

_LONGEST_INTEGER = 40  # digits; longer ones written with an exponent are looked at one by one


class Question(Protocol):
    """Asked where a value ends; hashable, and equal where it asks the same."""

    def holds(self, reading: Reading) -> bool:
        """Whether the text may go on as if the value were right."""
        ...

    def denied_ahead(self, reading: Reading) -> set[bytes] | None:
        """The endings that may follow the text up to a value that is denied, ``None``: any may.

        An ending is the rest of a string, or a whole one, as ``json.dumps(..., ensure_ascii=False)`` writes it, or
        digits; other bytes are asked about in any case. What is left out here is known to be agreed to, and so is
        what means the same.
        """
        ...


@dataclass(frozen=True, slots=True)
class JsonBegins:
    """No question, but a mark: what comes next is a JSON text of its own, whatever was before it."""

    def holds(self, reading: Reading) -> bool:
        """Always."""
        return True

    def denied_ahead(self, reading: Reading) -> set[bytes] | None:
        """Nothing."""
        return set()


@dataclass(frozen=True, slots=True)
class _Distinct:
    """The value that ends here equals none before it in its array or object. 1 and 1.0 are equal, ``"\\u0061"`` and
    ``"a"``, and objects whose members come in another order."""

    def holds(self, reading: Reading) -> bool:
        earlier = reading.earlier
        return not earlier or canonical_text(reading.value_text) not in earlier

    def denied_ahead(self, reading: Reading) -> set[bytes] | None:
        """Just the rests of the earlier values that begin as the open one does."""
        earlier, mode = reading.earlier, reading.place.mode
        if not earlier:
            return set()
        if mode == BETWEEN:
            return {text for value in earlier for text in _plain_texts(value)}
        begun = reading.value_text
        if b"\\" in begun or (mode != STRING and not (mode == NUMBER and begun.isdigit())):
            return None
        texts = (text for value in earlier for text in _plain_texts(value))
        return {text[len(begun) :] for text in texts if text.startswith(begun)}


def _plain_texts(value: Hashable) -> list[bytes]:
    """How a value is written without needless escapes, fraction and exponent, if it can be."""
    if isinstance(value, str):
        return [string_text(value)]
    if isinstance(value, int):
        return [str(value).encode()]
    if isinstance(value, Decimal) and value.adjusted() < _LONGEST_INTEGER and value == value.to_integral_value():
        return [str(int(value)).encode()]
    return []


class DistinctItems(_Distinct):
    """The item that ends here equals no earlier item of its array (``uniqueItems``)."""

    __slots__ = ()


class DistinctNames(_Distinct):
    """The name that ends here is no earlier name of its object, however it is spelled."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ValidValue:
    """The value that ends here is one that ``check`` takes; ``name`` identifies the check."""

    name: str
    check: Callable[[Any], bool] = field(compare=False)

    def holds(self, reading: Reading) -> bool:
        """Parse the value, numbers as ``int`` or ``Decimal``, and ask."""
        return self.check(parse(reading.value_text))

    def denied_ahead(self, reading: Reading) -> set[bytes] | None:
        """Nothing is known without asking."""
        return None
