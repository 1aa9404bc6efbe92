r"""Regular expressions as finite automata over text, with everything that has no width: anchors, ``\b``, look-around.

An assertion is a bit at every place of a text: whether what stands before the place (or behind it) is in a certain
language. Deterministic automata compute the bits, from the left for what stands before and from the right for what
stands behind; assertions inside assertions only need theirs computed first. The expression itself is an automaton some
of whose epsilon edges ask for bits, and runs beside those that compute them (:mod:`~grammars.frontends.regex.bits`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from ...ir.charset import Charset
from ...ir.regular import Dfa, Nfa, difference, intersection, minimise
from ...ir.regular.budget import Budget
from ...limits import DEFAULT_LIMITS, Limits
from .anchors import decided_anchors
from .ast import (
    Alternation,
    Assertion,
    AssertionKind,
    Concatenation,
    Dialect,
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
from .bits import Condition, Probe, Thread, resolve
from .characters import character_variants, node_charset
from .classes import line_ends, shorthand
from .parser import parse_regex
from .search import any_text, search_pattern
from .traverse import Steps, run

__all__ = ["pattern_automaton", "pattern_nfa", "regex_automaton"]


def regex_automaton(
    pattern: str, *, dialect: Dialect = "python", search: bool = False, limits: Limits = DEFAULT_LIMITS
) -> Dfa:
    r"""The least automaton over text of what ``pattern`` matches as a whole or, with ``search``, where it is found.

    Raises :class:`~grammars.errors.RegexError` and :class:`~grammars.errors.LimitExceeded`.

    >>> regex_automaton(r"(?!.*--)[a-z-]+").accepts(map(ord, "a-b"))
    True
    """
    tree = parse_regex(pattern, dialect=dialect, limits=limits)
    return pattern_automaton(search_pattern(tree) if search else tree, limits=limits)


def pattern_automaton(pattern: Pattern, *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """The least automaton over text of the whole texts of a syntax tree.

    Look-ahead at the very start is an intersection or a difference, which is much cheaper than bits.
    """
    looks, rest = _leading_looks(pattern)
    automaton = minimise(pattern_nfa(rest, limits=limits).determinise(limits=limits))
    for look in looks:
        seen = pattern_automaton(replace(pattern, root=_and_any_text(look.body)), limits=limits)
        combine = difference if look.negated else intersection
        automaton = minimise(combine(automaton, seen, limits=limits))
    return automaton


def pattern_nfa(pattern: Pattern, *, limits: Limits = DEFAULT_LIMITS) -> Nfa:
    """A nondeterministic automaton of the same, which can be a great deal smaller."""
    compiling = _Compiling(pattern, limits)
    thread = Thread()
    start, end = thread.add_state(), thread.add_state()
    run(compiling.add(thread, pattern.root, pattern.flags, start, end))
    thread.start, thread.final = start, end
    return resolve(thread, compiling.probes, limits)


def _leading_looks(pattern: Pattern) -> tuple[list[Lookaround], Pattern]:
    """The look-ahead at the start of a pattern, and the pattern without it."""
    root = pattern.root
    while isinstance(root, Group) and not root.on and not root.off:
        root = root.body
    parts = list(root.parts) if isinstance(root, Concatenation) else [root]
    looks: list[Lookaround] = []
    while parts:
        first = parts[0]
        if isinstance(first, Lookaround) and first.ahead:
            looks.append(first)
        elif not (isinstance(first, Assertion) and first.kind in (AssertionKind.TEXT_START, AssertionKind.LINE_START)):
            break
        del parts[0]
    if not looks:
        return [], pattern
    return looks, replace(pattern, root=Concatenation(root.span, tuple(parts)))


def _and_any_text(body: Node) -> Node:
    here = Span(body.span.end, body.span.end)
    return Concatenation(body.span, (body, any_text(here)))


class _Compiling:
    """Adds nodes of the tree to threads, and collects the probes that their conditions refer to."""

    def __init__(self, pattern: Pattern, limits: Limits) -> None:
        self.pattern = pattern
        self.anchors = decided_anchors(pattern)
        self.probes: list[Probe] = []
        self.simple: dict[object, int] = {}  # numbers of the probes that are not look-around
        self.budget = Budget(limits, "the automaton of a regular expression", cost=128)

    def state(self, thread: Thread) -> int:
        self.budget.spend(1)
        return thread.add_state()

    def add(self, thread: Thread, node: Node, flags: Flags, source: int, target: int) -> Steps[None]:
        """Add paths from ``source`` to ``target`` for the node; none into ``source`` or out of ``target``."""
        match node:
            case Text():
                for index, character in enumerate(node.text):
                    after = target if index == len(node.text) - 1 else self.state(thread)
                    thread.add_edge(source, character_variants(character, self.pattern, flags), after)
                    source = after
            case Group():
                yield self.add(thread, node.body, apply_flags(flags, node.on, node.off), source, target)
            case Concatenation():
                if not node.parts:
                    thread.add_epsilon(source, target)
                for index, part in enumerate(node.parts):
                    after = target if index == len(node.parts) - 1 else self.state(thread)
                    yield self.add(thread, part, flags, source, after)
                    source = after
            case Alternation():
                for branch in node.branches:
                    yield self.add(thread, branch, flags, source, target)
            case Repeat():
                yield self.repeat(thread, node, flags, source, target)
            case Assertion() | Lookaround():
                for conditions in (yield self.conditions(node, flags)):
                    thread.add_epsilon(source, target, conditions)
            case _:
                thread.add_edge(source, node_charset(node, self.pattern, flags), target)

    def repeat(self, thread: Thread, node: Repeat, flags: Flags, source: int, target: int) -> Steps[None]:
        """A chain of copies, with a loop at its end if there is no maximum."""
        copies = max(node.minimum, 1) if node.maximum is None else node.maximum
        here = self.state(thread)
        thread.add_epsilon(source, here)
        for index in range(copies + 1):
            if index >= node.minimum:
                thread.add_epsilon(here, target)
            if index == copies:
                break
            after = self.state(thread)
            yield self.add(thread, node.body, flags, here, after)
            if node.maximum is None and index == copies - 1:
                thread.add_epsilon(after, here)
            here = after

    # -- assertions ---------------------------------------------------------------------------------------------

    def conditions(self, node: Assertion | Lookaround, flags: Flags) -> Steps[list[tuple[Condition, ...]]]:
        """When the assertion holds: any of these sets of conditions, all of its conditions."""
        if isinstance(node, Lookaround):
            body = Thread()
            body.start, body.final = self.state(body), self.state(body)
            yield self.add(body, node.body, flags, body.start, body.final)
            self.probes.append(Probe(body, ahead=node.ahead, anywhere=True))
            return [((len(self.probes) - 1, not node.negated),)]
        decided = self.anchors.get(id(node))
        if decided is not None:
            return [()] if decided else []
        return self.anchor(node.kind, flags)

    def anchor(self, kind: AssertionKind, flags: Flags) -> list[tuple[Condition, ...]]:
        lines = bool(flags & Flags.MULTILINE)
        python = self.pattern.dialect == "python"
        line_end = line_ends(self.pattern.dialect)
        start, end = (self.edge(ahead=False), True), (self.edge(ahead=True), True)
        if kind is AssertionKind.TEXT_START or (kind is AssertionKind.LINE_START and not lines):
            return [(start,)]
        if kind is AssertionKind.LINE_START:
            return [(start,), ((self.character(line_end, ahead=False), True),)]
        if kind is AssertionKind.TEXT_END or (kind is AssertionKind.LINE_END and not lines and not python):
            return [(end,)]
        if kind is AssertionKind.LINE_END:
            return [(end,), ((self.character(line_end, ahead=True, last=not lines), True),)]
        word = shorthand("w", self.pattern.dialect, flags)
        before, behind = self.character(word, ahead=False), self.character(word, ahead=True)
        if kind is AssertionKind.WORD_BOUNDARY:
            return [((before, True), (behind, False)), ((before, False), (behind, True))]
        same: list[tuple[Condition, ...]] = [((before, True), (behind, True))]
        neither: tuple[Condition, ...] = ((before, False), (behind, False))
        if python and re.search(r"\B", "") is None:  # until Python 3.14 there is no \B in the empty text
            return [*same, (*neither, (start[0], False)), (*neither, (end[0], False))]
        return [*same, neither]

    def edge(self, *, ahead: bool) -> int:
        """The probe for the end of the text (``ahead``) or its start: nothing, and nothing more."""
        thread = Thread()
        thread.start = thread.final = thread.add_state()
        return self.shared(("edge", ahead), Probe(thread, ahead=ahead, anywhere=False))

    def character(self, members: Charset, *, ahead: bool, last: bool = False) -> int:
        """The probe for a character of the set next to the place, with nothing behind it if it must be the ``last``."""
        thread = Thread()
        thread.start, thread.final = thread.add_state(), thread.add_state()
        thread.add_edge(thread.start, members, thread.final)
        return self.shared((members, ahead, last), Probe(thread, ahead=ahead, anywhere=not last))

    def shared(self, key: object, probe: Probe) -> int:
        number = self.simple.get(key)
        if number is None:
            number = self.simple[key] = len(self.probes)
            self.probes.append(probe)
        return number
