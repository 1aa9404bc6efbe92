"""From automata over text to automata over the bytes of its UTF-8 form, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from ...limits import DEFAULT_LIMITS, Limits
from ..charset import from_ranges
from ..utf8 import utf8_fragment
from .alphabet import BYTES, TEXT
from .dfa import Dfa
from .nfa import Nfa

__all__ = ["bytes_from_text", "text_from_bytes"]

_CONTINUATION_BITS = 6


def bytes_from_text(dfa: Dfa, *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """The automaton over bytes of the UTF-8 forms of the members of an automaton over text."""
    nfa = Nfa(BYTES)
    states = [nfa.add_state() for _ in range(len(dfa.accepting))]
    for state, edges in enumerate(dfa.edges()):
        for target, members in edges:
            names = {0: state, 1: target}
            for start, low, high, end in utf8_fragment(members)[1]:
                first, last = (
                    names[one] if one in names else names.setdefault(one, nfa.add_state()) for one in (start, end)
                )
                nfa.add_edge(first, ((low, high),), last)
    nfa.starts.append(dfa.start)
    nfa.finals.update(state for state in states if dfa.accepting[state])
    return nfa.determinise(limits=limits)


def text_from_bytes(dfa: Dfa, *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """The automaton over text of those members of an automaton over bytes that are well-formed UTF-8."""
    edges = dfa.edges()

    @cache
    def following(state: int, count: int) -> dict[int, list[tuple[int, int]]]:
        """By the state behind ``count`` continuation bytes: the ranges of the bits that they carry."""
        if count == 0:
            return {state: [(0, 0)]}
        unit = 1 << (_CONTINUATION_BITS * (count - 1))
        return _joined(
            (target, (byte & 0x3F) * unit + low, (byte & 0x3F) * unit + high)
            for middle, members in edges[state]
            for first, last in members
            for byte in range(max(first, 0x80), min(last, 0xBF) + 1)
            for target, ranges in following(middle, count - 1).items()
            for low, high in ranges
        )

    nfa = Nfa(TEXT)
    for _ in edges:
        nfa.add_state()
    for state in range(1, len(edges)):
        ways: dict[int, list[tuple[int, int]]] = {}
        for middle, members in edges[state]:
            for first, last in members:
                if first < 0x80:
                    ways.setdefault(middle, []).append((first, min(last, 0x7F)))
                for lead in range(max(first, 0xC2), min(last, 0xF4) + 1):
                    for target, low, high in _after_lead(lead, middle, following):
                        ways.setdefault(target, []).append((low, high))
        for target, ranges in ways.items():
            nfa.add_edge(state, from_ranges(ranges), target)
    nfa.starts.append(dfa.start)
    nfa.finals.update(state for state, accepts in enumerate(dfa.accepting.tolist()) if accepts)
    return nfa.determinise(limits=limits)


def _after_lead(
    lead: int, middle: int, following: Callable[[int, int], dict[int, list[tuple[int, int]]]]
) -> Iterator[tuple[int, int, int]]:
    """(target, lowest, highest code point) of the characters that begin with the byte ``lead``."""
    count = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
    base = (lead & (0x3F >> count)) << (_CONTINUATION_BITS * count)
    least = (0x80, 0x800, 0x10000)[count - 1]  # below, the form would be longer than it needs to be
    for target, ranges in following(middle, count).items():
        for low, high in ranges:
            if max(base + low, least) <= min(base + high, 0x10FFFF):
                yield target, max(base + low, least), min(base + high, 0x10FFFF)


def _joined(pieces: Iterator[tuple[int, int, int]]) -> dict[int, list[tuple[int, int]]]:
    """(target, low, high) in order of low for each target: as lists of ranges, neighbours joined."""
    result: dict[int, list[tuple[int, int]]] = {}
    for target, low, high in pieces:
        ranges = result.setdefault(target, [])
        ranges.append((low, high))
    for ranges in result.values():
        ranges.sort()
        kept: list[tuple[int, int]] = []
        for low, high in ranges:
            if kept and kept[-1][1] >= low - 1:
                kept[-1] = (kept[-1][0], max(high, kept[-1][1]))
            else:
                kept.append((low, high))
        ranges[:] = kept
    return result
