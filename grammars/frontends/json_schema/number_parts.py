"""JSON numbers by their parts: digits, fractions, exponents that a double can hold, and all integers."""

from __future__ import annotations

from ...ir import Builder, NodeId

__all__ = [
    "DIGIT",
    "NONZERO",
    "any_number",
    "digits",
    "exponent",
    "integer",
    "mark",
    "pointed_number",
    "whole",
    "with_exponent",
]

DIGIT = ((48, 57),)
NONZERO = ((49, 57),)


def digits(builder: Builder, minimum: int = 0) -> NodeId:
    return builder.repeat(builder.charset(DIGIT), minimum)


def whole(builder: Builder) -> NodeId:
    return builder.alternation(builder.literal("0"), builder.sequence(builder.charset(NONZERO), digits(builder)))


def mark(builder: Builder) -> NodeId:
    return builder.literals((b"e", b"E"))


def exponent(builder: Builder, *, negative: bool = True, tiny: bool = True, zeros: bool = False) -> NodeId:
    """An exponent that a double can hold, so that no reader gets infinity; ``tiny`` ones may be rounded to zero.

    ``zeros``: any number of them may lead.
    """
    digit = builder.charset(DIGIT)
    leading = builder.repeat(builder.literal("0"), 0) if zeros else builder.epsilon
    three = builder.literal("3")
    short = builder.repeat(digit, 1, 2)
    hundreds = builder.sequence(builder.charset(((49, 50),)), digit, digit)
    up = builder.alternation(short, _hundreds(builder))
    signed = builder.sequence(builder.optional(builder.literal("+")), leading, up)
    if negative:
        down = up
        if tiny:  # up to 5e-324
            tens = builder.sequence(three, builder.charset(((48, 49),)), digit)
            last = builder.sequence(three, builder.literal("2"), builder.charset(((48, 52),)))
            down = builder.alternation(short, hundreds, tens, last)
        signed = builder.alternation(signed, builder.sequence(builder.literal("-"), leading, down))
    return builder.sequence(mark(builder), signed)


def any_number(builder: Builder, *, every: bool) -> NodeId:
    """Any JSON number whose exponent a double can hold; with ``every`` spelling also zeros before the exponent."""
    fraction = builder.sequence(builder.literal("."), digits(builder, 1))
    return builder.sequence(
        builder.optional(builder.literal("-")),
        whole(builder),
        builder.optional(fraction),
        builder.optional(exponent(builder, zeros=every)),
    )


def with_exponent(builder: Builder) -> NodeId:
    """Any JSON number that has an exponent, and one that a double can hold."""
    fraction = builder.sequence(builder.literal("."), digits(builder, 1))
    sign = builder.optional(builder.literal("-"))
    return builder.sequence(sign, whole(builder), builder.optional(fraction), exponent(builder))


def pointed_number(builder: Builder, *, every: bool) -> NodeId:
    """Any JSON number that has a fraction or an exponent that a double can hold, or both."""
    fraction, power = builder.sequence(builder.literal("."), digits(builder, 1)), exponent(builder, zeros=every)
    ending = builder.alternation(builder.sequence(fraction, builder.optional(power)), power)
    return builder.sequence(builder.optional(builder.literal("-")), whole(builder), ending)


def integer(builder: Builder, *, every: bool, pointed: bool) -> NodeId:
    """Any integer; with ``every`` spelling also -0 and, if ``pointed`` ones count, those with fraction and exponent."""
    minus = builder.optional(builder.literal("-"))
    if not every:
        positive = builder.sequence(minus, builder.charset(NONZERO), digits(builder))
        return builder.alternation(builder.literal("0"), positive)
    return builder.sequence(minus, _pointed_integer(builder) if pointed else whole(builder))


_MOST_MOVED_UP = 16
"""Digits behind the point that an exponent makes whole: as many as a double has."""
_MOST_MOVED_DOWN = 9
"""Zeros before the point that an exponent takes away."""


def _pointed_integer(builder: Builder) -> NodeId:
    """An integer without a sign, also one with a fraction and an exponent."""
    zeros = builder.optional(builder.sequence(builder.literal("."), builder.repeat(builder.literal("0"), 1)))
    ways = [
        builder.sequence(whole(builder), zeros, builder.optional(exponent(builder, negative=False, zeros=True))),
        builder.sequence(builder.literal("0"), zeros, exponent(builder, zeros=True)),
        builder.sequence(whole(builder), builder.literal("."), _moved_up(builder)),
        builder.sequence(builder.charset(NONZERO), digits(builder), _moved_down(builder, zeros)),
    ]
    return builder.alternation(*ways)


def _moved_up(builder: Builder) -> NodeId:
    """A fraction, up to its last digit that is not zero, and an exponent that is as large as it is long."""
    zeros, sign = builder.repeat(builder.literal("0"), 0), builder.optional(builder.literal("+"))
    rest = builder.never
    for length in range(_MOST_MOVED_UP, 0, -1):
        moved = builder.alternation(_at_least(builder, length), _hundreds(builder))
        last = builder.sequence(builder.charset(NONZERO), zeros, mark(builder), sign, zeros, moved)
        rest = builder.alternation(last, builder.sequence(builder.charset(DIGIT), rest))
    return rest


def _moved_down(builder: Builder, zeros: NodeId) -> NodeId:
    """As many zeros as a negative exponent takes away."""
    before = builder.sequence(zeros, mark(builder), builder.literal("-"), builder.repeat(builder.literal("0"), 0))
    counts = range(_MOST_MOVED_DOWN + 1)
    ways = (builder.sequence(builder.literal("0" * count), before, builder.literal(str(count))) for count in counts)
    return builder.alternation(*ways)


def _at_least(builder: Builder, least: int) -> NodeId:
    """Exponents of one or two digits, from ``least`` on."""
    tens, ones = divmod(least, 10)
    digit, more = builder.charset(DIGIT), builder.charset(((49 + tens, 57),))
    same = builder.sequence(builder.literal(str(tens)), builder.charset(((48 + ones, 57),)))
    ways = [same, builder.sequence(more, digit)]
    if not tens:
        ways.append(builder.charset(((48 + ones, 57),)))
    return builder.alternation(*ways)


def _hundreds(builder: Builder) -> NodeId:
    """Exponents of three digits that a double can hold."""
    digit = builder.charset(DIGIT)
    below = builder.sequence(builder.charset(((49, 50),)), digit, digit)
    return builder.alternation(below, builder.sequence(builder.literal("30"), builder.charset(((48, 55),))))
