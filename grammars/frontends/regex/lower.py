"""Syntax tree of a regular expression to the intermediate form.

What has no width is decided here where the lengths of what stands before and after it decide it (as ``^`` at the
start); :mod:`~grammars.frontends.regex.assertions` does the rest by finite automata.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TypeAlias

from ...ir.builder import Builder
from ...ir.charset import Charset
from ...ir.nodes import NodeId
from ...ir.utf8 import Fragment, utf8_fragment
from .ast import (
    Alternation,
    Assertion,
    AssertionKind,
    Concatenation,
    Flags,
    Group,
    Lookaround,
    Node,
    Pattern,
    Repeat,
    Text,
    apply_flags,
)
from .characters import character_variants, node_charset
from .traverse import Steps, run

__all__ = ["Spelling", "Undecided", "Width", "lower_pattern", "merged_counts"]

Width = tuple[float, float]
"""The least and the greatest number of characters something may match."""

Spelling: TypeAlias = Callable[[Charset], Fragment]
"""How one character of a (non-empty) set is written as bytes: as UTF-8, or say as it stands in a JSON string."""


class Undecided(Exception):
    """Whether an assertion holds depends on the text, not only on its place in the pattern."""

    def __init__(self, node: Assertion | Lookaround) -> None:
        self.node = node
        super().__init__(node)


def merged_counts(inner: tuple[int, int | None], outer: tuple[int, int | None]) -> tuple[int, int | None] | None:
    """The counts of one repeat that says the same as a repeat of a repeat, if there is one.

    >>> merged_counts((1, 1000), (2, 3))
    (2, 3000)
    >>> merged_counts((2, 2), (0, 3)) is None
    True
    """
    (low, high), (least, most) = inner, outer
    top = None if high is None or most is None else high * most
    if high == 0 or most == 0:
        return 0, 0
    if least == most:
        return low * least, top
    # k copies give the counts low*k to high*k: from k = least on, no count may lie between two such intervals.
    contiguous = (least > 0 or low <= 1) if high is None else low * (least + 1) <= high * least + 1
    return (low * least, top) if contiguous else None


def lower_pattern(pattern: Pattern, builder: Builder, spelling: Spelling) -> NodeId:
    """The node that matches the whole texts of ``pattern``. Raises :class:`Undecided`."""
    return run(_Lowering(pattern, builder, spelling).node(pattern.root, pattern.flags, (0, 0), (0, 0)))


class _Lowering:
    def __init__(self, pattern: Pattern, builder: Builder, spelling: Spelling) -> None:
        self.pattern = pattern
        self.builder = builder
        self.spelling = spelling
        self.widths: dict[int, Width] = {}  # by identity of the node; filled only if there are assertions
        if pattern.has_assertions:
            run(self.measure(pattern.root))

    def measure(self, node: Node) -> Steps[Width]:
        """The width of every node in ``node``."""
        match node:
            case Text():
                width: Width = (len(node.text), len(node.text))
            case Assertion():
                width = (0, 0)
            case Lookaround():
                yield self.measure(node.body)
                width = (0, 0)
            case Group():
                width = yield self.measure(node.body)
            case Repeat():
                low, high = yield self.measure(node.body)
                width = (low * node.minimum, _times(high, inf if node.maximum is None else node.maximum))
            case Concatenation():
                width = (0, 0)
                for part in node.parts:
                    width = _plus(width, (yield self.measure(part)))
            case Alternation():
                widths = []
                for branch in node.branches:
                    widths.append((yield self.measure(branch)))  # noqa: PERF401
                width = (min(low for low, _ in widths), max(high for _, high in widths))
            case _:
                width = (1, 1)
        self.widths[id(node)] = width
        return width

    def node(self, node: Node, flags: Flags, before: Width, after: Width) -> Steps[NodeId]:
        """Lower one node that stands between ``before`` and ``after``."""
        builder = self.builder
        match node:
            case Text():
                return self.text(node.text, flags)
            case Group():
                return (yield self.node(node.body, apply_flags(flags, node.on, node.off), before, after))
            case Concatenation():
                return (yield self.concatenation(node, flags, before, after))
            case Alternation():
                branches = []
                for branch in node.branches:
                    branches.append((yield self.node(branch, flags, before, after)))  # noqa: PERF401
                return builder.alternation(*branches)
            case Repeat():
                return (yield self.repeat(node, flags, before, after))
            case Assertion():
                holds = self.holds(node, flags, before, after)
                return builder.epsilon if holds else builder.never
            case Lookaround():
                raise Undecided(node)
            case _:
                return self.charset(node_charset(node, self.pattern, flags))

    def charset(self, members: Charset) -> NodeId:
        """One character of the set."""
        if self.spelling is utf8_fragment:
            return self.builder.charset(members)
        return self.builder.fragment(self.spelling(members)) if members else self.builder.never

    def text(self, text: str, flags: Flags) -> NodeId:
        """Literal characters; a surrogate matches nothing, for no UTF-8 text holds one."""
        if not flags & Flags.IGNORECASE:
            if any("\ud800" <= character <= "\udfff" for character in text):
                return self.builder.never
            if self.spelling is utf8_fragment:
                return self.builder.literal(text)
        return self.builder.sequence(*(self.charset(character_variants(one, self.pattern, flags)) for one in text))

    def concatenation(self, node: Concatenation, flags: Flags, before: Width, after: Width) -> Steps[NodeId]:
        parts = node.parts
        behind: list[Width] = [after] * len(parts)  # what stands after each part
        if self.widths:
            for index in range(len(parts) - 1, 0, -1):
                behind[index - 1] = _plus(behind[index], self.widths[id(parts[index])])
        nodes: list[NodeId] = []
        joined = ""
        for part, following in zip(parts, behind, strict=True):
            if isinstance(part, Text) and not flags & Flags.IGNORECASE:
                joined += part.text
            else:
                if joined:
                    nodes.append(self.text(joined, flags))
                    joined = ""
                nodes.append((yield self.node(part, flags, before, following)))
            if self.widths:
                before = _plus(before, self.widths[id(part)])
        if joined:
            nodes.append(self.text(joined, flags))
        return self.builder.sequence(*nodes)

    def repeat(self, node: Repeat, flags: Flags, before: Width, after: Width) -> Steps[NodeId]:
        body, minimum, maximum = node.body, node.minimum, node.maximum
        while True:  # (a{1,9}){1,9} is a{1,81}
            inner = body
            while isinstance(inner, Group) and not inner.on and not inner.off:
                inner = inner.body
            if not isinstance(inner, Repeat):
                break
            merged = merged_counts((inner.minimum, inner.maximum), (minimum, maximum))
            if merged is None:
                break
            body, (minimum, maximum) = inner.body, merged
        if self.widths:
            # Any iteration may be the first or the last; on either side there may be all the others, or none.
            others: Width = (0, _times(self.widths[id(body)][1], inf if maximum is None else max(maximum - 1, 0)))
            before, after = _plus(before, others), _plus(after, others)
        lowered = yield self.node(body, flags, before, after)
        return self.builder.repeat(lowered, minimum, maximum)

    def holds(self, node: Assertion, flags: Flags, before: Width, after: Width) -> bool:
        """Whether an assertion holds at its place. Raises :class:`Undecided`."""
        kind = node.kind
        multiline = flags & Flags.MULTILINE
        if kind is AssertionKind.TEXT_START or kind is AssertionKind.LINE_START:
            if before[1] == 0:
                return True
            if before[0] > 0 and not (multiline and kind is AssertionKind.LINE_START):
                return False
        elif kind is AssertionKind.TEXT_END or kind is AssertionKind.LINE_END:
            if after[1] == 0:
                return True
            # In Python, $ also holds before a newline that ends the text.
            slack = 1 if kind is AssertionKind.LINE_END and self.pattern.dialect == "python" else 0
            if after[0] > slack and not (multiline and kind is AssertionKind.LINE_END):
                return False
        raise Undecided(node)


def _plus(left: Width, right: Width) -> Width:
    return left[0] + right[0], left[1] + right[1]


def _times(width: float, count: float) -> float:
    return 0 if width == 0 or count == 0 else width * count
