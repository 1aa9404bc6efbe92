"""Counting to large numbers: by blocks of blocks, so that the size grows with the number of digits only."""

from __future__ import annotations

from ...ir import Builder, NodeId

__all__ = ["times"]

_BLOCK = 256


def times(builder: Builder, node: NodeId, minimum: int, maximum: int | None, *, flat: int | None = None) -> NodeId:
    """The node ``minimum`` to ``maximum`` times (``None``: without end). A maximum above ``flat``, by default the limit
    of one repeat, may be any number.

    Every count has one reading: the numbers up to another are those that have a lesser digit somewhere, the same digits
    before it, and any behind it.

    >>> from grammars.ir import Builder
    >>> builder = Builder()
    >>> ir = builder.finish(times(builder, builder.literal("a"), 1, 2**31 - 1, flat=1000))
    >>> len(ir.rules), len(ir.nodes) < 50
    (4, True)
    """
    if maximum is None or maximum <= (builder.limits.max_repeat if flat is None else flat):
        return builder.repeat(node, minimum, maximum)
    node = builder.rule("counted", node)
    must, may, levels = minimum, maximum - minimum, [node]
    while max(must, may) >= _BLOCK ** len(levels):
        levels.append(builder.rule("block", builder.repeat(levels[-1], _BLOCK, _BLOCK)))
    least, most, any_below = builder.epsilon, builder.epsilon, builder.epsilon
    for level in levels:
        must, digit = divmod(must, _BLOCK)
        least = builder.sequence(builder.repeat(level, digit, digit), least)
        may, digit = divmod(may, _BLOCK)
        if digit:
            fewer = builder.sequence(builder.repeat(level, 0, digit - 1), any_below)
            most = builder.alternation(fewer, builder.sequence(builder.repeat(level, digit, digit), most))
        any_below = builder.sequence(builder.repeat(level, 0, _BLOCK - 1), any_below)
    return builder.sequence(least, most)
