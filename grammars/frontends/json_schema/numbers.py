"""Numbers: canonical JSON numbers, bounds and multiples, and the other spellings of a number where all are taken."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, lcm

from ...errors import Problem
from ...ir import Builder, NodeId
from ...ir.utf8 import Fragment
from .digits import Bound, TooManyStates, decimal_fragment
from .number_parts import NONZERO, digits, exponent, mark
from .shapes import NumberShape, NumberValue

__all__ = [
    "as_decimal",
    "between_bounds",
    "bounded_number",
    "bounds_the_sign",
    "common_multiple",
    "number_values",
    "plain_text",
]

_AT_LEAST, _ABOVE, _AT_MOST, _BELOW = frozenset({0, 1}), frozenset({1}), frozenset({-1, 0}), frozenset({-1})
_MAX_BOUND_DIGITS = 400
_MAX_LISTED = 2_000
"""Multiples between bounds that are listed one by one."""


def as_decimal(number: float | Decimal) -> Decimal:
    """The number exactly as its shortest decimal spelling says.

    >>> as_decimal(0.1)
    Decimal('0.1')
    """
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def plain_text(number: float | Decimal) -> str:
    """How ``json.dumps`` writes the number; decimals beyond a double keep all their digits.

    >>> plain_text(Decimal("1.50"))
    '1.5'
    """
    if isinstance(number, Decimal):
        near = float(number)
        if Decimal(repr(near)) == number:
            return repr(near)
        return str(number).lower()
    return repr(number)


# -- with bounds --------------------------------------------------------------------------------------------------


def bounds_the_sign(shape: NumberShape) -> bool:
    """Whether nothing is asked of a number but its sign, which exponents do not change."""
    return not (shape.integer or shape.multiples or shape.avoided) and (shape.low or 0) == 0 and (shape.high or 0) == 0


def bounded_number(builder: Builder, shape: NumberShape, *, every: bool, integral_fractions: bool) -> NodeId | Problem:
    """The numbers of the shape, without exponents unless only the sign is bounded; or why it is refused.

    ``integral_fractions`` says whether ``1.0`` spells an integer here.
    """
    if bounds_the_sign(shape):
        return _by_sign(builder, shape, every=every)
    bounds = [bound for bound in (shape.low, shape.high) if bound is not None]
    given = (*bounds, *shape.multiples, *shape.avoided)
    if any(abs(number.adjusted()) > _MAX_BOUND_DIGITS for number in given if number):
        return Problem(shape.pointer, "minimum/maximum/multipleOf", "a number of more than 400 digits")
    multiples = common_multiple(shape.multiples, integer=shape.integer)
    fraction_digits: int | None = None
    if shape.integer and not (every and integral_fractions):
        fraction_digits = 0
    if shape.multiples and shape.low is not None and shape.high is not None:
        values = _listed(shape, multiples[0], every=every)
        if values is not None:
            return number_values(builder, values, every=every and (integral_fractions or not shape.integer))
    if not shape.integer and multiples and not every:
        fraction_digits = max(1, *(-int(number.normalize().as_tuple().exponent) for number in multiples))
    key = (shape.low, shape.low_open, shape.high, shape.high_open, multiples, fraction_digits, every, shape.avoided)
    try:
        return _with_signs(builder, *_signed_fragments(*key))
    except TooManyStates:
        return Problem(shape.pointer, "multipleOf", "together with the bounds this needs too large an automaton")


def between_bounds(builder: Builder, shape: NumberShape) -> NodeId:
    """Decimals without exponent between the bounds of a shape, with digits enough for its multiples; to be checked."""
    multiples = common_multiple(shape.multiples, integer=shape.integer)
    fraction_digits = max((-int(number.normalize().as_tuple().exponent) for number in multiples), default=None)
    digits_after = None if fraction_digits is None else max(0, fraction_digits)
    bounds = (shape.low, shape.low_open, shape.high, shape.high_open)
    return _with_signs(builder, *_signed_fragments(*bounds, (), digits_after, False, ()))


def _with_signs(builder: Builder, positive: Fragment | None, negative: Fragment | None) -> NodeId:
    parts = []
    if positive is not None:
        parts.append(builder.fragment(positive))
    if negative is not None:
        parts.append(builder.sequence(builder.literal("-"), builder.fragment(negative)))
    return builder.alternation(*parts)


def common_multiple(multiples: tuple[Decimal, ...], *, integer: bool) -> tuple[Decimal, ...]:
    """The one number of which all multiples of all these (and all integers, if asked) are multiples; none for none.

    >>> common_multiple((Decimal("0.5"), Decimal("0.75")), integer=False)
    (Decimal('1.50'),)
    """
    steps = (*multiples, Decimal(1)) if integer else multiples
    if not steps:
        return ()
    scale = max(0, *(-int(step.normalize().as_tuple().exponent) for step in steps))
    return (_exact(lcm(*(int(Fraction(step) * 10**scale) for step in steps)), scale),)


def _exact(whole: int, scale: int) -> Decimal:
    """``whole / 10**scale``, whatever the precision of the context."""
    return Decimal(f"{whole}e{-scale}")


def _listed(shape: NumberShape, step: Decimal, *, every: bool) -> list[NumberValue] | None:
    """The multiples between the bounds, if they are few."""
    assert shape.low is not None
    assert shape.high is not None
    unit = Fraction(step)
    first, last = ceil(Fraction(shape.low) / unit), floor(Fraction(shape.high) / unit)
    if last - first >= _MAX_LISTED:
        return None
    scale = max(0, -int(step.as_tuple().exponent))
    scaled = int(unit * 10**scale)
    values: list[NumberValue] = []
    for index in range(first, last + 1):
        exact = index * unit
        if (shape.low_open and exact == Fraction(shape.low)) or (shape.high_open and exact == Fraction(shape.high)):
            continue
        if any((exact / Fraction(other)).denominator == 1 for other in shape.avoided):
            continue
        value = _exact(index * scaled, scale)
        if exact.denominator == 1:
            values.append((value, str(exact.numerator)))
        if exact.denominator != 1 or not (shape.integer or every):
            values.append((value, plain_text(value)))
    return values


@lru_cache(maxsize=1024)
def _signed_fragments(  # type: ignore[no-untyped-def]
    low: Decimal | None,
    low_open: bool,
    high: Decimal | None,
    high_open: bool,
    multiples: tuple[Decimal, ...],
    fraction_digits: int | None,
    every: bool,
    avoided: tuple[Decimal, ...],
):
    """Automata of the numbers without a sign and, behind a minus, of the others; ``None`` where there are none."""
    positive = negative = None
    if high is None or high > 0 or (high == 0 and not high_open):
        bounds = []
        if low is not None and low >= 0 and (low > 0 or low_open):
            bounds.append(Bound(low, _ABOVE if low_open else _AT_LEAST))
        if high is not None:
            bounds.append(Bound(high, _BELOW if high_open else _AT_MOST))
        positive = decimal_fragment(tuple(bounds), multiples, fraction_digits=fraction_digits, avoided=avoided)
    if low is None or low < 0 or (every and low == 0 and not low_open):
        bounds = []
        if low is not None:
            bounds.append(Bound(-low, _BELOW if low_open else _AT_MOST))
        if high is not None and high < 0:
            bounds.append(Bound(-high, _ABOVE if high_open else _AT_LEAST))
        elif not every or (high == 0 and high_open):
            bounds.append(Bound(Decimal(0), _ABOVE))
        negative = decimal_fragment(tuple(bounds), multiples, fraction_digits=fraction_digits, avoided=avoided)
    return positive, negative


def _by_sign(builder: Builder, shape: NumberShape, *, every: bool) -> NodeId:
    """Numbers that are bounded by zero only, exponents included."""
    above, below = shape.low is None, shape.high is None  # may be negative, may be positive
    zero_allowed = not ((shape.low is not None and shape.low_open) or (shape.high is not None and shape.high_open))
    some, zeros = builder.charset(NONZERO), builder.repeat(builder.literal("0"), 0)
    point = builder.literal(".")
    power = builder.optional(exponent(builder, tiny=zero_allowed, zeros=every))
    whole = builder.sequence(some, digits(builder), builder.optional(builder.sequence(point, digits(builder, 1))))
    small = builder.sequence(builder.literal("0"), point, zeros, some, digits(builder))
    magnitude = builder.sequence(builder.alternation(whole, small), power)
    parts = []
    if below:
        parts.append(magnitude)
    if above:
        parts.append(builder.sequence(builder.literal("-"), magnitude))
    if zero_allowed:
        fraction = builder.optional(builder.sequence(point, builder.literal("0"), zeros))
        minus = builder.optional(builder.literal("-"))
        parts.append(builder.sequence(minus, builder.literal("0"), fraction, power))
    return builder.alternation(*parts)


# -- given values -------------------------------------------------------------------------------------------------


def number_values(builder: Builder, values: Iterable[NumberValue], *, every: bool) -> NodeId:
    """The given numbers; with ``every`` spelling also with zeros behind and in the usual powers of ten."""
    values = list(values)
    if not every:
        return builder.literals(text.encode() for _, text in values)
    moved = _MOST_MOVED if len(values) <= _FEW_VALUES else 0
    return builder.alternation(*(_spellings(builder, value, moved) for value, _ in values))


_FEW_VALUES = 16
_MOST_MOVED = 3
"""Places by which an exponent moves the point of one of a few numbers further than to where it stands without one."""
_MOST_ZEROS = 20


def _spellings(builder: Builder, value: Decimal, moved: int) -> NodeId:
    """Spellings of one number: plain with zeros behind, ``d.ddde+x`` and ``ddde+x``; the point moved elsewhere."""
    zeros = builder.repeat(builder.literal("0"), 0)
    point = builder.literal(".")
    minus = builder.literal("-") if value < 0 else builder.epsilon
    if not value:
        fraction = builder.optional(builder.sequence(point, builder.literal("0"), zeros))
        minus, any_power = builder.optional(builder.literal("-")), builder.optional(exponent(builder, zeros=True))
        return builder.sequence(minus, builder.literal("0"), fraction, any_power)
    _, digit_tuple, exponent_of_last = value.normalize().as_tuple()
    shown = "".join(map(str, digit_tuple))
    last = int(exponent_of_last)

    def with_zeros(whole: str, fraction: str) -> NodeId:
        if fraction:
            return builder.sequence(builder.literal(f"{whole}.{fraction}"), zeros)
        behind = builder.sequence(point, builder.literal("0"), zeros)
        return builder.sequence(builder.literal(whole), builder.optional(behind))

    def power(number: int) -> NodeId:
        sign = builder.literal("-") if number < 0 else builder.optional(builder.literal("+"))
        if number == 0:
            sign = builder.optional(builder.literals((b"+", b"-")))
        return builder.sequence(mark(builder), sign, zeros, builder.literal(str(abs(number))))

    scientific = last + len(shown) - 1
    spelled = [
        builder.sequence(with_zeros(shown[0], shown[1:]), power(scientific)),
        builder.sequence(with_zeros(shown, ""), power(last)),
    ]
    if moved:
        spelled += [
            builder.sequence(with_zeros(shown[:place], shown[place:]), power(scientific - place + 1))
            for place in range(2, min(len(shown), _MAX_BOUND_DIGITS))
        ]
        for count in range(1, min(max(last, 0) + moved, _MOST_ZEROS) + 1):
            spelled.append(builder.sequence(with_zeros(shown + "0" * count, ""), power(last - count)))
        for count in range(1, min(max(-scientific, 0) + moved, _MOST_ZEROS) + 1):
            spelled.append(builder.sequence(with_zeros("0", "0" * (count - 1) + shown), power(scientific + count)))
    if abs(scientific) <= _MAX_BOUND_DIGITS:
        before, _, after = format(abs(value), "f").partition(".")
        plain = with_zeros(before, after.rstrip("0"))
        spelled += [plain, builder.sequence(plain, power(0))]
    return builder.sequence(minus, builder.alternation(*spelled))
