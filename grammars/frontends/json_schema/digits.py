"""Numbers between bounds and multiples, as automata over decimal digits: exact at any size.

A state remembers how the digits read so far compare with each bound, their number (as far as it matters) and their
remainder, so nothing is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm

from ...ir.utf8 import Fragment

__all__ = ["Bound", "TooManyStates", "decimal_fragment"]

MAX_AUTOMATON_STATES = 30_000


class TooManyStates(Exception):
    """The automaton would be too large; the caller refuses by name."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A non-negative number and how what is read may compare with it: a subset of -1 (below), 0, 1 (above)."""

    value: Decimal
    allowed: frozenset[int]


def decimal_fragment(
    bounds: tuple[Bound, ...],
    multiples: tuple[Decimal, ...],
    *,
    fraction_digits: int | None,
    avoided: tuple[Decimal, ...] = (),
) -> Fragment | None:
    """Unsigned decimals without exponent that satisfy all bounds, multiples of all ``multiples``, of none ``avoided``.

    ``fraction_digits`` caps the digits after the point (``None``: no cap, 0: no point). ``None`` if there are none.
    Raises :class:`TooManyStates`.

    >>> decimal_fragment((Bound(Decimal(2), frozenset({-1})),), (), fraction_digits=0)
    (4, ((0, 48, 48, 2), (0, 49, 49, 3), (2, 1, 0, 1), (3, 1, 0, 1)))
    """
    reader = _Reader(bounds, multiples, fraction_digits, avoided)
    arcs, ends, count = _explore(reader)
    return _trimmed(arcs, ends, count)


_START, _ZERO, _INTEGER, _DOT, _FRACTION = range(5)
_Place = tuple[int, int, tuple[int, ...]]
"""(phase, digits read in this phase as far as they matter, comparisons)."""
_KEPT, _SHIFTED, _LOST = range(3)
_NO_MULTIPLE = 0
"""As the remainder plus one: digits beyond those of every step have been read."""


class _Reader:
    """What is known of the digits read so far: a place, numbered as it is met, and a remainder."""

    def __init__(
        self,
        bounds: tuple[Bound, ...],
        multiples: tuple[Decimal, ...],
        fraction_digits: int | None,
        avoided: tuple[Decimal, ...],
    ) -> None:
        self.bounds = bounds
        self.fraction_digits = fraction_digits
        parts = [_parts(bound.value) for bound in bounds]
        self.wholes = [whole for whole, _ in parts]
        self.fractions = [fraction for _, fraction in parts]
        self.longest = max(map(len, self.wholes), default=0) + 1
        self.scale = max((len(_parts(multiple)[1]) for multiple in (*multiples, *avoided)), default=0)
        self.steps = [int(Fraction(step) * 10**self.scale) for step in multiples]
        self.avoided = [int(Fraction(step) * 10**self.scale) for step in avoided]
        self.modulus = lcm(*self.steps, *self.avoided) if self.steps or self.avoided else 0
        self.deepest = max([self.scale, *map(len, self.fractions)])
        if fraction_digits is not None:
            self.deepest = max(self.deepest, fraction_digits)
        self.places: list[_Place] = []
        self._numbers: dict[_Place, int] = {}
        self._ways: list[list[tuple[int, int, int]] | None] = []
        self.number((_START, 0, (0,) * len(bounds)))

    def number(self, place: _Place) -> int:
        """The number of a place; that of the start is 0."""
        known = self._numbers.get(place)
        if known is None:
            known = self._numbers[place] = len(self.places)
            self.places.append(place)
            self._ways.append(None)
        return known

    def ways(self, number: int) -> list[tuple[int, int, int]]:
        """(byte, number of the place behind it, what becomes of the remainder) for each byte that may follow."""
        ways = self._ways[number]
        if ways is None:
            place = self.places[number]
            found = ((byte, self._after(place, byte)) for byte in b".0123456789")
            ways = self._ways[number] = [(byte, self.number(way[0]), way[1]) for byte, way in found if way is not None]
        return ways

    def _after(self, place: _Place, byte: int) -> tuple[_Place, int] | None:
        phase, count, compared = place
        if byte == 46:
            if self.fraction_digits == 0 or phase not in (_ZERO, _INTEGER):
                return None
            return (_DOT, 0, self._settled(count, compared)), _KEPT
        digit = byte - 48
        if phase in (_DOT, _FRACTION):
            if self.fraction_digits is not None and count >= self.fraction_digits:
                return None
            remainder = _KEPT if not self.modulus else _SHIFTED if count < self.scale else _LOST if digit else _KEPT
            if remainder == _LOST and self.steps:
                return None
            compared = tuple(
                result or _sign(digit - (int(fraction[count]) if count < len(fraction) else 0))
                for result, fraction in zip(compared, self.fractions, strict=True)
            )
            return (_FRACTION, min(count + 1, self.deepest), compared), remainder
        if phase == _ZERO:
            return None
        compared = tuple(
            1 if count >= len(whole) else result or _sign(digit - int(whole[count]))
            for result, whole in zip(compared, self.wholes, strict=True)
        )
        after = (_INTEGER if phase or digit else _ZERO), min(count + 1, self.longest), compared
        return after, _SHIFTED if self.modulus else _KEPT

    def _settled(self, count: int, compared: tuple[int, ...]) -> tuple[int, ...]:
        """The comparisons once the integer part is over."""
        return tuple(
            -1 if count < len(whole) else 1 if count > len(whole) else result
            for whole, result in zip(self.wholes, compared, strict=True)
        )

    def accepts(self, number: int, remainder: int) -> bool:
        """Whether the number may end here; ``remainder`` plus one, or ``_NO_MULTIPLE``."""
        phase, count, compared = self.places[number]
        if phase in (_START, _DOT):
            return False
        read = count if phase == _FRACTION else 0
        if phase != _FRACTION:
            compared = self._settled(count, compared)
        if self.modulus and remainder != _NO_MULTIPLE:
            whole = (remainder - 1) * 10 ** max(self.scale - read, 0)
            if any(whole % step for step in self.steps) or not all(whole % step for step in self.avoided):
                return False
        left = zip(compared, self.fractions, strict=True)
        final = (result or (-1 if fraction[read:] else 0) for result, fraction in left)
        return all(result in bound.allowed for result, bound in zip(final, self.bounds, strict=True))


def _parts(value: Decimal) -> tuple[str, str]:
    whole, _, fraction = format(value, "f").partition(".")
    return whole.lstrip("0") or "0", fraction.rstrip("0")


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _explore(reader: _Reader) -> tuple[list[tuple[int, int, int]], list[int], int]:
    """All that can be reached: edges (from, byte, to), the states that accept, and how many states; 0 starts."""
    modulus = reader.modulus or 1
    width = modulus + 1
    numbers: dict[int, int] = {1: 0}  # place * width + remainder + 1
    order = [1]
    arcs: list[tuple[int, int, int]] = []
    for source, state in enumerate(order):
        place, remainder = divmod(state, width)
        for byte, after, becomes in reader.ways(place):
            if becomes == _SHIFTED:
                key = after * width + ((remainder - 1) * 10 + byte - 48) % modulus + 1
            else:
                key = after * width + (remainder if becomes == _KEPT else _NO_MULTIPLE)
            target = numbers.get(key)
            if target is None:
                if len(order) >= MAX_AUTOMATON_STATES:
                    raise TooManyStates
                target = numbers[key] = len(order)
                order.append(key)
            arcs.append((source, byte, target))
    ends = [number for number, state in enumerate(order) if reader.accepts(*divmod(state, width))]
    return arcs, ends, len(order)


def _trimmed(arcs: list[tuple[int, int, int]], ends: list[int], count: int) -> Fragment | None:
    """The automaton without dead ends; ``None`` if it accepts nothing. The start must not accept."""
    into: list[list[int]] = [[] for _ in range(count)]
    for source, _, target in arcs:
        into[target].append(source)
    alive = set(ends)
    pending = list(ends)
    while pending:
        for source in into[pending.pop()]:
            if source not in alive:
                alive.add(source)
                pending.append(source)
    if 0 not in alive:
        return None
    renumber = {0: 0}
    for number in sorted(alive - {0}):
        renumber[number] = len(renumber) + 1
    edges: list[tuple[int, int, int, int]] = []
    for source, byte, target in arcs:  # bytes come in ascending order for each state
        if source not in alive or target not in alive:
            continue
        if edges and edges[-1][0] == renumber[source] and edges[-1][2] == byte - 1 and edges[-1][3] == renumber[target]:
            edges[-1] = (edges[-1][0], edges[-1][1], byte, edges[-1][3])
        else:
            edges.append((renumber[source], byte, byte, renumber[target]))
    edges.extend((renumber[number], 1, 0, 1) for number in ends)
    return len(renumber) + 1, tuple(edges)
