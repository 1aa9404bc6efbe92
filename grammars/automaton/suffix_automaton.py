"""Suffix automata: the least automaton of all pieces of a document that begin where a unit begins.

Built character by character, from left to right, each step in constant time on average (Blumer et al., "The smallest
automaton recognizing the subwords of a text", Theoretical Computer Science 40, 1985). A state stands for texts that end
at the same places of the document; its *link* leads to the state of their longest ending that ends at more. That pieces
begin at units only costs one condition (compare Inenaga and Takeda, "On-line linear-time construction of word suffix
trees", 2006): the first state goes on by characters that begin a unit, and by no others. It works because what was read
since a unit's beginning tells whether the next character begins one (its first byte may not tell: in JSON a backslash
begins a quote and a line break). So a state goes on by a character in one way, and in the end characters can be written
out as their bytes and the marks be dropped. At most two states and three edges a character, in practice half of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import LimitExceeded
from ..ir.nodes import Int32Array
from ..ir.verbatim import Spelled, Verbatim, document_of, spell
from ..jit import inlined, kernel, subroutine
from ..limits import Limits
from .memory import VERBATIM_MASK, VERBATIM_SHIFT, round_up_power

__all__ = ["Documents", "build_documents"]

_SYMBOL, _TARGET, _NEXT = 1, 2, 3  # words of an edge; the first is its state, the last the next edge of that state
_EDGE_WORDS = 4


class Documents(NamedTuple):
    """The suffix automata of several documents, one behind the other: the arenas of their states, edges and roots."""

    states: Int32Array
    """(S + 1,) first edge << 1 | whether a unit ends there; S states in all."""
    edges: Int32Array
    """(E,) byte << VERBATIM_SHIFT | target, sorted by byte for each state."""
    roots: Int32Array
    """(D,) the first state of each."""


@inlined
def find_edge(edges: Int32Array, size: int, state: int, symbol: int) -> int:
    """Where a state's edge lies, or the free place where it would be."""
    mixed = int(state) * 0x9E3779B1 + int(symbol) * 0x85EBCA6B
    place = _EDGE_WORDS * ((mixed ^ mixed >> 21) & (size - 1))
    while edges[place] >= 0 and (edges[place] != state or edges[place + _SYMBOL] != symbol):
        place = place + _EDGE_WORDS if place + _EDGE_WORDS < _EDGE_WORDS * size else 0
    return place


@inlined
def put_edge(edges: Int32Array, place: int, heads: Int32Array, state: int, symbol: int, target: int) -> None:
    """Fill a free place."""
    edges[place] = state
    edges[place + _SYMBOL] = symbol
    edges[place + _TARGET] = target
    edges[place + _NEXT] = heads[state]
    heads[state] = place


@subroutine
def split(
    edges: Int32Array, size: int, lengths: Int32Array, links: Int32Array, heads: Int32Array, state: int, symbol: int,
    clone: int,
) -> int:  # fmt: skip
    """Part the state behind an edge in two: ``clone`` takes over the texts that end here as well; its edges."""
    whole = int(edges[find_edge(edges, size, state, symbol) + _TARGET])
    lengths[clone] = lengths[state] + 1
    links[clone] = links[whole]
    heads[clone] = -1
    count = 0
    place = int(heads[whole])
    while place >= 0:
        inner, target = int(edges[place + _SYMBOL]), int(edges[place + _TARGET])
        put_edge(edges, find_edge(edges, size, clone, inner), heads, clone, inner, target)
        place = int(edges[place + _NEXT])
        count += 1
    while state >= 0:
        place = find_edge(edges, size, state, symbol)
        if edges[place] < 0 or edges[place + _TARGET] != whole:
            break
        edges[place + _TARGET] = clone
        state = int(links[state])
    links[whole] = clone
    return count


@kernel
def build(
    symbols: Int32Array, ends: Int32Array, edges: Int32Array, lengths: Int32Array, links: Int32Array,
    heads: Int32Array, leave: Int32Array, most_edges: int,
) -> int:  # fmt: skip
    """Read all symbols; how many states there are, -1 if there are more than ``most_edges`` edges before the end.

    ``edges`` is a hash table, _EDGE_WORDS for each of a power of two of places, all -1, and with room for as many edges
    as a step may add; the others have a word a state, zeros.
    """
    size = len(edges) // _EDGE_WORDS
    lengths[0], links[0], heads[0] = 0, -1, -1
    count, last, num_edges = 1, 0, 0
    for index in range(len(symbols)):
        symbol = int(symbols[index])
        fresh = count
        count += 1
        lengths[fresh] = lengths[last] + 1
        leave[fresh] = ends[index]
        heads[fresh] = -1
        state = last
        known = False
        while state > 0 or (state == 0 and symbol & 1 != 0):
            place = find_edge(edges, size, state, symbol)
            known = edges[place] >= 0
            if known:
                break
            if num_edges >= most_edges:
                return -1
            put_edge(edges, place, heads, state, symbol, fresh)
            num_edges += 1
            state = int(links[state])
        if known:
            behind = int(edges[find_edge(edges, size, state, symbol) + _TARGET])
            if lengths[behind] != lengths[state] + 1:
                if num_edges + edges_of(edges, heads, behind) > most_edges:
                    return -1
                num_edges += split(edges, size, lengths, links, heads, state, symbol, count)
                behind = count
                count += 1
            links[fresh] = behind
        else:
            links[fresh] = 0
        last = fresh
    return count


@inlined
def edges_of(edges: Int32Array, heads: Int32Array, state: int) -> int:
    """How many edges a state has."""
    count = 0
    place = int(heads[state])
    while place >= 0:
        count += 1
        place = int(edges[place + _NEXT])
    return count


@kernel
def spread_ends(lengths: Int32Array, links: Int32Array, leave: Int32Array, count: int, order: Int32Array) -> None:
    """Let a unit end at a state if one ends at any that links to it. ``order`` (2 count + 2,) is scratch, zeros."""
    for state in range(count):
        order[lengths[state] + 1] += 1
    for length in range(count):
        order[length + 1] += order[length]
    for state in range(count):
        place = order[lengths[state]]
        order[lengths[state]] = place + 1
        order[count + 1 + place] = state
    for place in range(count - 1, 0, -1):
        state = order[count + 1 + place]
        if leave[state] != 0 and links[state] > 0:
            leave[links[state]] = 1


@kernel
def order_edges(
    edges: Int32Array, num_states: int, firsts: Int32Array, characters: Int32Array, targets: Int32Array
) -> None:
    """The edges of the table by state, and for each state by the number of their character.

    ``firsts`` (num_states + 2,), zeros: those of a state go from its entry to the next.
    """
    for place in range(0, len(edges), _EDGE_WORDS):
        if edges[place] >= 0:
            firsts[edges[place] + 2] += 1
    for state in range(num_states):
        firsts[state + 1] += firsts[state]
    firsts[num_states + 1] += firsts[num_states]
    for place in range(0, len(edges), _EDGE_WORDS):
        if edges[place] >= 0:
            row = firsts[edges[place] + 1]
            characters[row] = edges[place + _SYMBOL] >> 1
            targets[row] = edges[place + _TARGET]
            firsts[edges[place] + 1] = row + 1
    for state in range(num_states):
        for row in range(firsts[state] + 1, firsts[state + 1]):
            character, target = characters[row], targets[row]
            free = row
            while free > firsts[state] and characters[free - 1] > character:
                characters[free] = characters[free - 1]
                targets[free] = targets[free - 1]
                free -= 1
            characters[free] = character
            targets[free] = target


@kernel
def number_states(
    firsts: Int32Array, characters: Int32Array, data: Int32Array, offsets: Int32Array, numbers: Int32Array
) -> None:
    """``numbers`` (states + 1,): what each state will be called, and in the end how many there are.

    Behind each come the places inside the characters that it goes on with, one for each byte but the last; where
    characters share bytes they share these.
    """
    total = 0
    for state in range(len(numbers) - 1):
        numbers[state] = total
        total += 1
        for row in range(firsts[state], firsts[state + 1]):
            begin = offsets[characters[row]]
            length = offsets[characters[row] + 1] - begin
            if length > 1:
                shared = 0
                if row > firsts[state]:
                    before = offsets[characters[row - 1]]
                    while data[before + shared] == data[begin + shared]:
                        shared += 1
                total += length - 1 - shared
    numbers[len(numbers) - 1] = total


@kernel
def write_out(
    firsts: Int32Array, characters: Int32Array, targets: Int32Array, leave: Int32Array, data: Int32Array,
    offsets: Int32Array, numbers: Int32Array, shift: int, first_edge: int, groups: Int32Array,
    states_out: Int32Array, edges_out: Int32Array,
) -> int:  # fmt: skip
    """Write states and edges as :class:`Documents` has them, numbered from ``shift``; how many edges.

    A place inside characters is told by the edges of its state that lie ahead (``groups``, scratch: first, end, depth).
    """
    num_edges = 0
    for state in range(len(numbers) - 1):
        groups[0], groups[1], groups[2] = firsts[state], firsts[state + 1], 0
        done, waiting = 0, 1
        while done < waiting:
            first, end, depth = groups[3 * done], groups[3 * done + 1], groups[3 * done + 2]
            may_leave = leave[state] if done == 0 else 0
            states_out[numbers[state] + done] = (first_edge + num_edges) << 1 | may_leave
            done += 1
            while first < end:
                character = characters[first]
                byte = data[offsets[character] + depth]
                last = first + 1
                while last < end and data[offsets[characters[last]] + depth] == byte:
                    last += 1
                if offsets[character] + depth + 1 == offsets[character + 1]:
                    target = numbers[targets[first]]
                else:
                    groups[3 * waiting], groups[3 * waiting + 1], groups[3 * waiting + 2] = first, last, depth + 1
                    target = numbers[state] + waiting
                    waiting += 1
                edges_out[num_edges] = byte << VERBATIM_SHIFT | (shift + target)
                num_edges += 1
                first = last
    return num_edges


def build_documents(verbatims: Sequence[Verbatim], limits: Limits) -> Documents:
    """The automata of all documents. Raises SourceError where one is missing, LimitExceeded where one is too long."""
    states: list[Int32Array] = []
    edges: list[Int32Array] = []
    roots: list[int] = []
    num_states = num_edges = 0
    for verbatim in verbatims:
        room = min(limits.max_states, VERBATIM_MASK) - num_states
        built = _build_one(spell(verbatim), num_states, num_edges, room)
        if built is None:
            length = len(document_of(verbatim))
            raise LimitExceeded(
                "max_states", limits.max_states, f"the source of verbatim text, {length:,} characters, is too long"
            )
        roots.append(num_states)
        states.append(built[0])
        edges.append(built[1])
        num_states += len(built[0])
        num_edges += len(built[1])
    end = np.array([num_edges << 1], np.int32)
    return Documents(np.concatenate([*states, end]), np.concatenate([end[:0], *edges]), np.array(roots, np.int32))


def _build_one(document: Spelled, shift: int, first_edge: int, room: int) -> tuple[Int32Array, Int32Array] | None:
    """States and edges; ``None`` if there are more than ``room`` states."""
    symbols, ends, data, offsets = document
    if len(symbols) > room:  # each of them makes a state
        return None
    lengths, links, heads, leave = (np.zeros(2 * len(symbols) + 2, np.int32) for _ in range(4))
    size, count = round_up_power(3 * len(symbols) + 8), -1
    while count < 0:  # texts of few repeats have less than two edges a character, the worst three
        table = np.full(_EDGE_WORDS * size, -1, np.int32)
        count = build(symbols, ends, table, lengths, links, heads, leave, size // 4 * 3)
        size *= 2
    spread_ends(lengths, links, leave, count, np.zeros(2 * count + 2, np.int32))
    num_edges = np.count_nonzero(table[::_EDGE_WORDS] >= 0)
    firsts, characters, targets = np.zeros(count + 2, np.int32), *np.empty((2, num_edges), np.int32)
    order_edges(table, count, firsts, characters, targets)
    numbers = np.empty(count + 1, np.int32)
    number_states(firsts, characters, data, offsets, numbers)
    num_states = int(numbers[count])
    if num_states > room:
        return None
    states, edges = np.empty(num_states, np.int32), np.empty(num_edges + num_states, np.int32)
    groups = np.empty(3 * (len(data) + 1), np.int32)
    ways = (firsts, characters, targets, leave, data, offsets, numbers)
    written = write_out(*ways, shift, first_edge, groups, states, edges)
    return states, edges[:written].copy()
