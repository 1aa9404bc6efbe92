"""Hypothesis strategy: whole random grammars, with recursion of every kind."""

from __future__ import annotations

from hypothesis import strategies as st

from grammars.ir import IR, Builder, NodeId, RuleId
from grammars.ir.charset import ANY, JSON_TEXT, difference, from_ranges

__all__ = ["TEXTS", "grammars"]

TEXTS = ("a", "b", "ab", "aab", '"', "é", "è", "日", "ba日", "😀")
"""Literals that collide: common prefixes, and characters that share their first UTF-8 bytes."""

_CHARSETS = (
    from_ranges([(97, 98)]),
    from_ranges([(0x61, 0x61), (0xE0, 0xFF), (0x65E5, 0x65E5)]),
    from_ranges([(0x1F600, 0x1F60E)]),
    difference(ANY, from_ranges([(97, 97)])),
    JSON_TEXT,
)

_FRAGMENTS = (
    (3, ((0, 97, 97, 2), (2, 98, 98, 2), (2, 97, 97, 1))),  # ab*a
    (4, ((0, 97, 98, 2), (0, 97, 97, 3), (2, 98, 98, 1), (3, 97, 97, 1))),  # ambiguous at once
    (4, ((0, 1, 0, 2), (2, 98, 98, 2), (2, 1, 0, 1), (0, 97, 97, 3))),  # b* by epsilon edges, and a dead end
)
"""Automata with loops, choices, epsilon edges and a state that leads nowhere."""

_LEAVES = ["text", "text", "text", "charset", "fragment", "bytes", "epsilon", "never"]
_BRANCHES = ["sequence", "alternation", "sequence", "alternation", "repeat"]
_KINDS = (_LEAVES, ["text", *_BRANCHES])
_KINDS_WITH_RULES = (["text", *["call"] * 5, *_LEAVES], ["text", "call", *_BRANCHES])
"""Names of nodes at the leaves, and above them, as often as they are to be drawn; the simplest first."""


def grammars(*, max_rules: int = 4, max_depth: int = 4) -> st.SearchStrategy[IR]:
    """Random grammars of 0 to ``max_rules`` rules that call each other freely; ``max_depth`` bounds each body's tree.

    Rules may be nullable, recurse to the left (also indirectly, and hidden behind what is empty), to the right and in
    the middle, loop without reading, be ambiguous, or match nothing: so may the whole grammar.
    """
    return _grammars(max_rules, max_depth)


@st.composite
def _grammars(draw: st.DrawFn, max_rules: int, max_depth: int) -> IR:
    builder = Builder()
    rules = [builder.declare_rule(f"rule{index}") for index in range(draw(st.integers(0, max_rules)))]
    for rule in rules:
        builder.define_rule(rule, _node(draw, builder, rules, max_depth))
    return builder.finish(_node(draw, builder, rules, max_depth))


def _node(draw: st.DrawFn, builder: Builder, rules: list[RuleId], depth: int) -> NodeId:
    """A node whose tree is at most ``depth`` deep (``depth`` bounds the recursion of this function)."""
    leaf_kinds, inner_kinds = _KINDS_WITH_RULES if rules else _KINDS
    match draw(st.sampled_from(inner_kinds if depth > 1 else leaf_kinds)):
        case "text":
            return builder.literal(draw(st.sampled_from(TEXTS)))
        case "charset":
            return builder.charset(draw(st.sampled_from(_CHARSETS)))
        case "fragment":
            return builder.fragment(draw(st.sampled_from(_FRAGMENTS)))
        case "bytes":
            return builder.byte_range(*draw(st.sampled_from([(97, 98), (0x80, 0xFF), (0, 0x7F)])))
        case "epsilon":
            return builder.epsilon
        case "never":
            return builder.never
        case "call":
            return builder.call(draw(st.sampled_from(rules)))
        case "repeat":
            minimum = draw(st.integers(0, 3))
            maximum = draw(st.none() | st.integers(minimum, minimum + 3))
            return builder.repeat(_node(draw, builder, rules, depth - 1), minimum, maximum)
        case kind:
            parts = [_node(draw, builder, rules, depth - 1) for _ in range(draw(st.integers(2, 3)))]
            return builder.sequence(*parts) if kind == "sequence" else builder.alternation(*parts)
