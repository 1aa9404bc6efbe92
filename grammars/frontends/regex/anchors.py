"""Which anchors always or never hold, by the lengths of what stands before and after them.

Only whole texts are matched, so ``^`` at the start always holds and ``^`` behind a character never does (unless lines
count). Where the lengths leave it open, the automaton of :mod:`~grammars.frontends.regex.automaton` decides.
"""

from __future__ import annotations

from math import inf

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
from .traverse import Steps, run

__all__ = ["decided_anchors"]

Width = tuple[float, float]
"""The least and the greatest number of characters something may match (floats: they may be huge)."""


def decided_anchors(pattern: Pattern) -> dict[int, bool]:
    """Whether an anchor holds, by the identity of its node; those that the lengths do not decide are left out."""
    if not pattern.has_assertions:
        return {}
    decision = _Decision(pattern)
    run(decision.measure(pattern.root))
    run(decision.decide(pattern.root, pattern.flags, (0.0, 0.0), (0.0, 0.0)))
    return decision.decided


class _Decision:
    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.widths: dict[int, Width] = {}
        self.decided: dict[int, bool] = {}

    def measure(self, node: Node) -> Steps[Width]:
        """Fill ``widths`` for the node and all below it."""
        match node:
            case Text():
                width: Width = (float(len(node.text)), float(len(node.text)))
            case Assertion() | Lookaround():
                width = (0.0, 0.0)
            case Group():
                width = yield self.measure(node.body)
            case Repeat():
                low, high = yield self.measure(node.body)
                width = (_times(low, node.minimum), _times(high, inf if node.maximum is None else node.maximum))
            case Concatenation():
                width = (0.0, 0.0)
                for part in node.parts:
                    width = _plus(width, (yield self.measure(part)))
            case Alternation():
                widths = []
                for branch in node.branches:
                    widths.append((yield self.measure(branch)))  # noqa: PERF401
                width = (min(low for low, _ in widths), max(high for _, high in widths))
            case _:
                width = (1.0, 1.0)
        self.widths[id(node)] = width
        return width

    def decide(self, node: Node, flags: Flags, before: Width, after: Width) -> Steps[None]:
        """Fill ``decided`` for the anchors of a node that stands between ``before`` and ``after``."""
        match node:
            case Assertion():
                holds = self.holds(node.kind, flags, before, after)
                if holds is not None:
                    self.decided[id(node)] = holds
            case Group():
                yield self.decide(node.body, apply_flags(flags, node.on, node.off), before, after)
            case Alternation():
                for branch in node.branches:
                    yield self.decide(branch, flags, before, after)
            case Repeat():
                # Any iteration may be the first or the last; on either side there may be all the others, or none.
                others = inf if node.maximum is None else max(node.maximum - 1, 0)
                around: Width = (0.0, _times(self.widths[id(node.body)][1], others))
                yield self.decide(node.body, flags, _plus(before, around), _plus(after, around))
            case Concatenation():
                behind = [after] * len(node.parts)
                for index in range(len(node.parts) - 1, 0, -1):
                    behind[index - 1] = _plus(behind[index], self.widths[id(node.parts[index])])
                for part, following in zip(node.parts, behind, strict=True):
                    yield self.decide(part, flags, before, following)
                    before = _plus(before, self.widths[id(part)])

    def holds(self, kind: AssertionKind, flags: Flags, before: Width, after: Width) -> bool | None:
        """Whether an assertion holds at its place; None: it depends on the text."""
        lines = bool(flags & Flags.MULTILINE)
        if kind is AssertionKind.TEXT_START or kind is AssertionKind.LINE_START:
            if before[1] == 0:
                return True
            if before[0] > 0 and not (lines and kind is AssertionKind.LINE_START):
                return False
        elif kind is AssertionKind.TEXT_END or kind is AssertionKind.LINE_END:
            if after[1] == 0:
                return True
            # In Python, $ also holds before a newline that ends the text.
            slack = 1 if kind is AssertionKind.LINE_END and self.pattern.dialect == "python" else 0
            if after[0] > slack and not (lines and kind is AssertionKind.LINE_END):
                return False
        return None


def _plus(left: Width, right: Width) -> Width:
    return left[0] + right[0], left[1] + right[1]


def _times(width: float, count: float) -> float:
    return 0.0 if width == 0 or count == 0 else width * count
