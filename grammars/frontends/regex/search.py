"""A search as a match of the whole text: any text is let in on the sides that are not anchored."""

from __future__ import annotations

from dataclasses import replace

from .ast import (
    Alternation,
    Assertion,
    AssertionKind,
    CharacterClass,
    Concatenation,
    Flags,
    Group,
    Lookaround,
    Node,
    Pattern,
    Repeat,
    Span,
    Text,
    apply_flags,
)
from .traverse import Steps, run

__all__ = ["any_text", "search_pattern"]


def search_pattern(pattern: Pattern) -> Pattern:
    """A pattern whose whole matches are the texts in which ``pattern`` is found.

    An anchor at the edge of a branch takes the place of the text that would be let in there, so ``^a|b$`` stays free of
    anchors; any other assertion stays in its place.
    """
    opening = _Opening(pattern)
    return replace(pattern, root=run(opening.node(pattern.root, pattern.flags, True, True)))


class _Opening:
    def __init__(self, pattern: Pattern) -> None:
        self.dialect = pattern.dialect
        self.asserting: set[int] = set()  # nodes (by identity) that hold an assertion
        if pattern.has_assertions:
            run(self.find(pattern.root))

    def find(self, node: Node) -> Steps[bool]:
        """Fill ``asserting``; whether ``node`` is in it."""
        children: tuple[Node, ...] = ()
        match node:
            case Concatenation():
                children = node.parts
            case Alternation():
                children = node.branches
            case Group() | Repeat():
                children = (node.body,)
        found = isinstance(node, (Assertion, Lookaround))
        for child in children:
            found |= yield self.find(child)
        if found:
            self.asserting.add(id(node))
        return found

    def node(self, node: Node, flags: Flags, left: bool, right: bool) -> Steps[Node]:
        """``node`` with any text let in before it (``left``) and after it (``right``)."""
        match node:
            case _ if id(node) not in self.asserting:
                pass
            case Group():
                inside = apply_flags(flags, node.on, node.off)
                return replace(node, body=(yield self.node(node.body, inside, left, right)))
            case Alternation():
                branches = []
                for branch in node.branches:
                    branches.append((yield self.node(branch, flags, left, right)))  # noqa: PERF401
                return replace(node, branches=tuple(branches))
        parts: list[Node] = list(node.parts) if isinstance(node, Concatenation) else [node]
        if left and parts and self.is_start(parts[0], flags):
            del parts[0]
            left = False
        if right and parts and self.is_end(parts[-1], flags):
            kind = parts.pop()
            right = False
            if isinstance(kind, Assertion) and kind.kind is AssertionKind.LINE_END and self.dialect == "python":
                parts.append(Repeat(kind.span, Text(kind.span, "\n"), 0, 1, False))
        here = Span(node.span.start, node.span.start)
        if left:
            if len(parts) == 1 and self.opens(parts[0]):
                opened: Node = yield self.node(parts[0], flags, True, right)
                return opened
            if parts and self.opens(parts[0]):
                parts[0] = yield self.node(parts[0], flags, True, False)
            else:
                parts.insert(0, any_text(here))
        if right:
            if parts and self.opens(parts[-1]):
                parts[-1] = yield self.node(parts[-1], flags, False, True)
            else:
                parts.append(any_text(Span(node.span.end, node.span.end)))
        return Concatenation(node.span, tuple(parts))

    def opens(self, node: Node) -> bool:
        """Whether to let the text in inside ``node``, for an anchor may be at its edge."""
        return isinstance(node, (Group, Alternation)) and id(node) in self.asserting

    def is_start(self, node: Node, flags: Flags) -> bool:
        if not isinstance(node, Assertion):
            return False
        return node.kind is AssertionKind.TEXT_START or (
            node.kind is AssertionKind.LINE_START and not flags & Flags.MULTILINE
        )

    def is_end(self, node: Node, flags: Flags) -> bool:
        if not isinstance(node, Assertion):
            return False
        return node.kind is AssertionKind.TEXT_END or (
            node.kind is AssertionKind.LINE_END and not flags & Flags.MULTILINE
        )


def any_text(here: Span) -> Node:
    """Any characters, any number of them."""
    return Repeat(here, CharacterClass(here, (), True), 0, None, False)
