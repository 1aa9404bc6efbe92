"""The names that are none of the declared ones, after unescaping, as small automata over bytes.

A name leaves the trie of the declared ones at some character, or stops before one of them is whole. Ways out that
leave the same characters in are shared, so the size is linear in the text of the names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...ir.charset import JSON_TEXT, difference, from_ranges, intersection
from ...ir.utf8 import Fragment
from .spelling import END, FragmentEdges, SpellingTrie, character_table

__all__ = ["other_strings"]


def other_strings(names: Sequence[str], *, every: bool) -> tuple[Fragment, Fragment]:
    """The strings that are none of ``names`` (at least one), without the opening quote, in two parts.

    The first fragment matches up to the character where a string leaves all the names: any text and a quote may
    follow. The second matches the strings (closing quote included) that are only the beginning of a name.
    """
    if not every and all(name.isascii() and name.isprintable() for name in names):
        joined = "".join(names)
        if '"' not in joined and "\\" not in joined:
            return _other_plain_strings(names)
    return _other_spelled_strings(names, every)


def _other_plain_strings(names: Sequence[str]) -> tuple[Fragment, Fragment]:
    """:func:`other_strings` for names that are spelled as they are, one byte a character: most names by far."""
    children: list[dict[int, int]] = [{}]
    ends: set[int] = set()
    for name in names:
        state = 0
        for byte in name.encode():
            after = children[state].get(byte)
            if after is None:
                after = children[state][byte] = len(children)
                children.append({})
            state = after
        ends.add(state)
    # states: 0 starts (the root), 1 ends, s + 1 is state s > 0 of the trie, then the shared ways out
    fixed_edges, fixed_count = _ways_out(len(children) + 1)
    edges = list(fixed_edges)
    stops: list[tuple[int, int, int, int]] = []
    exits: dict[tuple[int, ...], int] = {}
    count = fixed_count
    base = len(children) + 1
    dead = _without_a_beginning(children, ends)
    for state, inner in enumerate(children):
        source = state + 1 if state else 0
        key = tuple(inner) if len(inner) < 2 else tuple(sorted(inner))
        way_out = exits.get(key)
        if way_out is None:
            way_out = exits[key] = count
            count += 1
            edges.append((way_out, 1, 0, base))
            edges += [(way_out, low, high, 1) for low, high in _plain_ranges_without(key)]
        edges.append((source, 1, 0, way_out))
        for byte, goal in inner.items():
            edge = (source, byte, byte, goal + 1)
            edges.append(edge)
            if goal not in dead:
                stops.append(edge)
        if state not in ends:
            stops.append((source, 34, 34, 1))
    return (count, tuple(edges)), (len(children) + 1, tuple(stops))


def _without_a_beginning(children: Sequence[Mapping[Any, int]], ends: set[int]) -> set[int]:
    """States of a trie from which no state is reached that is only the beginning of a name."""
    dead: set[int] = set()
    for state in sorted(ends, reverse=True):
        if all(goal in dead for goal in children[state].values()):
            dead.add(state)
    return dead


@lru_cache(maxsize=4096)
def _plain_ranges_without(taken: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The bytes that spell an ASCII character by themselves, without those in ``taken``."""
    plain = intersection(JSON_TEXT, ((0, 0x7F),))
    return difference(plain, from_ranges((byte, byte) for byte in taken))


@lru_cache(maxsize=512)
def _ways_out(base: int) -> tuple[FragmentEdges, int]:
    """Edges of all characters of several bytes, from state ``base`` to state 1; and the next free state."""
    table = character_table(False)
    edges = []
    for state, row in enumerate(table):
        edges += [
            (base + state, low, high, 1 if after == END else base + after)
            for low, high, after in row
            if state or low >= 0x80 or low == 92
        ]
    return tuple(edges), base + len(table)


def _other_spelled_strings(names: Sequence[str], every: bool) -> tuple[Fragment, Fragment]:
    """:func:`other_strings` for any names, by their trie over characters."""
    children: list[dict[str, int]] = [{}]
    ends: set[int] = set()
    for name in names:
        state = 0
        for character in name:
            after = children[state].get(character)
            if after is None:
                after = children[state][character] = len(children)
                children.append({})
            state = after
        ends.add(state)
    dead = _without_a_beginning(children, ends)
    # states: 0 starts (the root), 1 ends, s + 1 is state s > 0 of the trie; then the states of the table, then others
    base = len(children) + 1
    table = character_table(every)
    edges = [
        (base + state, low, high, 1 if after == END else base + after)
        for state, row in enumerate(table)
        for low, high, after in row
        if state
    ]
    stops: list[tuple[int, int, int, int]] = []
    exits: dict[tuple[str, ...], int] = {}
    count, stop_count = base + len(table), base
    for state, inner in enumerate(children):
        source = state + 1 if state else 0
        key = tuple(sorted(inner))
        way_out = exits.get(key)
        if way_out is None:
            way_out = exits[key] = count
            leaving, states = _way_out(key, every)
            edges += [
                (count + start, low, high, count + end if end >= 0 else 1 if end == END else base - 1 - end)
                for start, low, high, end in leaving
            ]
            count += states
        edges.append((source, 1, 0, way_out))
        for character, goal in inner.items():
            path, inside = _spelled_path(character, every)
            target = goal + 1
            edges += _placed(path, source, target, count)
            count += inside
            if goal not in dead:
                stops += _placed(path, source, target, stop_count)
                stop_count += inside
        if state not in ends:
            stops.append((source, 34, 34, 1))
    return (count, tuple(edges)), (stop_count, tuple(stops))


def _placed(path: FragmentEdges, source: int, target: int, base: int) -> list[tuple[int, int, int, int]]:
    """The path with its ends 0 and 1 at ``source`` and ``target``, and its inner states from ``base`` on."""
    ends = (source, target)
    return [
        (ends[start] if start < 2 else base + start - 2, low, high, ends[end] if end < 2 else base + end - 2)
        for start, low, high, end in path
    ]


@lru_cache(maxsize=4096)
def _spelled_path(character: str, every: bool) -> tuple[FragmentEdges, int]:
    """All spellings of one character, from state 0 to state 1; and the number of states between."""
    trie = SpellingTrie((character,), every)
    (end,) = trie.ends
    place = {0: 0, end: 1}
    for state in range(len(trie.edges)):
        place.setdefault(state, len(place))
    edges = tuple(
        (place[state], byte, byte, place[after])
        for state, outgoing in enumerate(trie.edges)
        for byte, after in outgoing.items()
    )
    return edges, len(trie.edges) - 2


@lru_cache(maxsize=4096)
def _way_out(taken: tuple[str, ...], every: bool) -> tuple[FragmentEdges, int]:
    """All spellings of the characters that are not ``taken``, from state 0 on; and the number of states.

    A target below zero is ``END`` or state q of the table of a character, written as ``-1 - q``.
    """
    trie = SpellingTrie(taken, every)
    table = character_table(every)
    place = [0] * len(trie.edges)  # the state of the table that each state of the trie is in
    edges: list[tuple[int, int, int, int]] = []
    for state, inner in enumerate(trie.edges):
        if state in trie.ends:
            continue
        for low, high, after in table[place[state]]:
            target = END if after == END else -1 - after
            cut = low
            for byte in sorted(byte for byte in inner if low <= byte <= high):
                if cut < byte:
                    edges.append((state, cut, byte - 1, target))
                cut = byte + 1
                if inner[byte] not in trie.ends:
                    place[inner[byte]] = after
                    edges.append((state, byte, byte, inner[byte]))
            if cut <= high:
                edges.append((state, cut, high, target))
    return tuple(edges), len(trie.edges)
