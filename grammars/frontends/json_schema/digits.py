"""Numbers between bounds and multiples, as automata over decimal digits: exact at any size.

A state remembers how the digits read so far compare with each bound, their number (as far as it matters) and their
remainder, so nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import TypeVar

from ...ir.utf8 import Fragment

__all__ = ["Bound", "TooManyStates", "decimal_fragment", "explore"]

State = TypeVar("State", bound=Hashable)
MAX_AUTOMATON_STATES = 30_000


class TooManyStates(Exception):
    """The automaton would be too large; the caller refuses by name."""


def explore(
    start: State, step: Callable[[State, int], State | None], accepts: Callable[[State], bool], alphabet: bytes
) -> Fragment | None:
    """The automaton reachable from ``start``, without dead ends; ``None`` if it accepts nothing.

    ``start`` must not be accepting. Raises :class:`TooManyStates`.
    """
    numbers: dict[State, int] = {start: 0}
    order = [start]
    arcs: list[tuple[int, int, int]] = []  # from, byte, to
    for state in order:
        source = numbers[state]
        for byte in alphabet:
            after = step(state, byte)
            if after is None:
                continue
            target = numbers.get(after)
            if target is None:
                if len(order) >= MAX_AUTOMATON_STATES:
                    raise TooManyStates
                target = numbers[after] = len(order)
                order.append(after)
            arcs.append((source, byte, target))
    into: list[list[int]] = [[] for _ in order]
    for source, _, target in arcs:
        into[target].append(source)
    ends = [number for state, number in numbers.items() if accepts(state)]
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


@dataclass(frozen=True, slots=True)
class Bound:
    """A non-negative number and how what is read may compare with it: a subset of -1 (below), 0, 1 (above)."""

    value: Decimal
    allowed: frozenset[int]


_NO_MULTIPLE = -1
"""As the remainder: digits beyond those of every step have been read."""
_START, _ZERO, _INTEGER, _DOT, _FRACTION = range(5)
_Digits = tuple[int, int, tuple[int, ...], int]
"""(phase, digits read in this phase as far as they matter, comparisons, remainder)."""


def _parts(value: Decimal) -> tuple[str, str]:
    whole, _, fraction = format(value, "f").partition(".")
    return whole.lstrip("0") or "0", fraction.rstrip("0")


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def decimal_fragment(
    bounds: tuple[Bound, ...],
    multiples: tuple[Decimal, ...],
    *,
    fraction_digits: int | None,
    avoided: tuple[Decimal, ...] = (),
) -> Fragment | None:
    """Unsigned decimals without exponent that satisfy all bounds, multiples of all ``multiples``, of none ``avoided``.

    ``fraction_digits`` caps the digits after the point (``None``: no cap, 0: no point). ``None`` if there are none.

    >>> decimal_fragment((Bound(Decimal(2), frozenset({-1})),), (), fraction_digits=0)
    (4, ((0, 48, 48, 2), (0, 49, 49, 3), (2, 1, 0, 1), (3, 1, 0, 1)))
    """
    wholes, fractions = zip(*(_parts(bound.value) for bound in bounds), strict=True) if bounds else ((), ())
    lengths = tuple(len(whole) for whole in wholes)
    longest = max(lengths, default=0) + 1
    scale = max((len(_parts(multiple)[1]) for multiple in (*multiples, *avoided)), default=0)
    steps, avoided_steps = ([int(Fraction(step) * 10**scale) for step in some] for some in (multiples, avoided))
    modulus = lcm(*steps, *avoided_steps) if steps or avoided_steps else 0
    deepest = max([scale, *(len(fraction) for fraction in fractions)])
    if fraction_digits is not None:
        deepest = max(deepest, fraction_digits)

    def settle(count: int, compared: tuple[int, ...]) -> tuple[int, ...]:
        """The comparisons once the integer part is over."""
        return tuple(
            -1 if count < length else 1 if count > length else result
            for length, result in zip(lengths, compared, strict=True)
        )

    def step(state: _Digits, byte: int) -> _Digits | None:
        phase, count, compared, remainder = state
        if byte == 46:
            if fraction_digits == 0 or phase not in (_ZERO, _INTEGER):
                return None
            return _DOT, 0, settle(count, compared), remainder
        digit = byte - 48
        if phase in (_DOT, _FRACTION):
            if fraction_digits is not None and count >= fraction_digits:
                return None
            if modulus:
                if count < scale:
                    remainder = (remainder * 10 + digit) % modulus
                elif digit and steps:
                    return None
                elif digit:
                    remainder = _NO_MULTIPLE
            compared = tuple(
                result or _sign(digit - (int(fraction[count]) if count < len(fraction) else 0))
                for result, fraction in zip(compared, fractions, strict=True)
            )
            return _FRACTION, min(count + 1, deepest), compared, remainder
        if phase == _ZERO:
            return None
        compared = tuple(
            1 if count >= length else result or _sign(digit - int(whole[count]))
            for result, whole, length in zip(compared, wholes, lengths, strict=True)
        )
        if modulus:
            remainder = (remainder * 10 + digit) % modulus
        return (_INTEGER if phase or digit else _ZERO), min(count + 1, longest), compared, remainder

    def accepts(state: _Digits) -> bool:
        phase, count, compared, remainder = state
        if phase in (_START, _DOT):
            return False
        read = count if phase == _FRACTION else 0
        if phase != _FRACTION:
            compared = settle(count, compared)
        if modulus and remainder != _NO_MULTIPLE:
            whole = remainder * 10 ** max(scale - read, 0)
            if any(whole % step for step in steps) or not all(whole % step for step in avoided_steps):
                return False
        final = (result or (-1 if fraction[read:] else 0) for result, fraction in zip(compared, fractions, strict=True))
        return all(result in bound.allowed for result, bound in zip(final, bounds, strict=True))

    start: _Digits = (_START, 0, (0,) * len(bounds), 0)
    return explore(start, step, accepts, b".0123456789")
