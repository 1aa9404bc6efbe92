"""Syntax tree of a regular expression to the intermediate form, as long as every assertion is decided by its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from ...ir.builder import Builder
from ...ir.charset import Charset
from ...ir.nodes import NodeId
from .anchors import decided_anchors
from .ast import (
    Alternation,
    Assertion,
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

__all__ = ["Characters", "lower_pattern", "merged_counts"]

Characters: TypeAlias = Callable[[Charset], NodeId]
"""How one character of a set is written: as UTF-8 (``Builder.charset``), or say as it stands in a JSON string."""


_SURROGATE = re.compile("[\ud800-\udfff]")


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


def lower_pattern(pattern: Pattern, builder: Builder, characters: Characters | None) -> NodeId | None:
    """The node that matches the whole texts of ``pattern``; None if an assertion depends on the text."""
    lowering = _Lowering(pattern, builder, characters)
    node = run(lowering.node(pattern.root, pattern.flags))
    return None if lowering.undecided else node


class _Lowering:
    def __init__(self, pattern: Pattern, builder: Builder, characters: Characters | None) -> None:
        self.pattern = pattern
        self.builder = builder
        self.characters = characters
        self.anchors = decided_anchors(pattern)
        self.undecided = False

    def charset(self, members: Charset) -> NodeId:
        """One character of the set."""
        if self.characters is None:
            return self.builder.charset(members)
        return self.characters(members) if members else self.builder.never

    def node(self, node: Node, flags: Flags) -> Steps[NodeId]:
        """Lower a node under the flags of the groups around it."""
        builder = self.builder
        match node:
            case Text():
                return self.text(node.text, flags)
            case Group():
                lowered: NodeId = yield self.node(node.body, apply_flags(flags, node.on, node.off))
                return lowered
            case Concatenation():
                lowered = yield self.concatenation(node, flags)
                return lowered
            case Alternation():
                branches = []
                for branch in node.branches:
                    branches.append((yield self.node(branch, flags)))  # noqa: PERF401
                return builder.alternation(*branches)
            case Repeat():
                body, minimum, maximum = _unnested(node)
                return builder.repeat((yield self.node(body, flags)), minimum, maximum)
            case Assertion():
                holds = self.anchors.get(id(node))
                self.undecided |= holds is None
                return builder.epsilon if holds else builder.never
            case Lookaround():
                self.undecided = True
                return builder.never
            case _:
                return self.charset(node_charset(node, self.pattern, flags))

    def text(self, text: str, flags: Flags) -> NodeId:
        """Literal characters; a surrogate matches nothing, for no UTF-8 text holds one."""
        if self.characters is None and not flags & Flags.IGNORECASE:
            return self.builder.never if _SURROGATE.search(text) else self.builder.literal(text)
        return self.builder.sequence(*(self.charset(character_variants(one, self.pattern, flags)) for one in text))

    def concatenation(self, node: Concatenation, flags: Flags) -> Steps[NodeId]:
        """The parts in order; neighbouring literals become one."""
        nodes: list[NodeId] = []
        texts: list[str] = []
        for part in node.parts:
            if isinstance(part, Text):
                texts.append(part.text)
                continue
            if texts:
                nodes.append(self.text("".join(texts), flags))
                texts.clear()
            nodes.append((yield self.node(part, flags)))
        if texts:
            nodes.append(self.text("".join(texts), flags))
        return self.builder.sequence(*nodes)


def _unnested(node: Repeat) -> tuple[Node, int, int | None]:
    """(body, minimum, maximum) with repeats of repeats made one: ``(a{1,9}){1,9}`` is ``a{1,81}``."""
    body, minimum, maximum = node.body, node.minimum, node.maximum
    while True:
        inner = body
        while isinstance(inner, Group) and not inner.on and not inner.off:
            inner = inner.body
        if not isinstance(inner, Repeat):
            return body, minimum, maximum
        merged = merged_counts((inner.minimum, inner.maximum), (minimum, maximum))
        if merged is None:
            return body, minimum, maximum
        body, (minimum, maximum) = inner.body, merged
