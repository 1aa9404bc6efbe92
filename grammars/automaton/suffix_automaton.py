"""Suffix automata: the least automaton of all pieces of a document that begin where a unit begins.

Built byte by byte, from left to right, each step in constant time on average (Blumer et al., "The smallest automaton
recognizing the subwords of a text", Theoretical Computer Science 40, 1985). A state stands for texts that end at the
same places of the document; its *link* leads to the state of their longest ending that ends at more. That pieces begin
at units only costs one condition (compare Inenaga and Takeda, "On-line linear-time construction of word suffix trees",
2006): the first state goes on by symbols that begin a unit, and by no others. It works because what was read since a
unit's beginning tells whether the next byte begins one; so a state goes on by a byte in one way, and the marks of the
symbols can be dropped in the end. At most two states and three edges a byte, in practice less than half of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import LimitExceeded
from ..ir.nodes import Int32Array
from ..ir.verbatim import Spelled, Verbatim, spell
from ..jit import inlined, kernel, subroutine
from ..limits import Limits
from .memory import VERBATIM_MASK, VERBATIM_SHIFT, round_up_power

__all__ = ["Documents", "build_documents"]

_MARK = 256  # added to a byte that begins a unit
_SYMBOLS = 512
_NEXT = 2  # words of an edge: key, target, the next one of the same state
_EDGE_WORDS = 3


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
    """The slot of a state's edge, or the free one where it would be."""
    key = int(state) * _SYMBOLS + int(symbol)
    slot = (key * 0x9E3779B1 >> 11) & (size - 1)
    while edges[_EDGE_WORDS * slot] >= 0 and edges[_EDGE_WORDS * slot] != key:
        slot = (slot + 1) & (size - 1)
    return slot


@inlined
def put_edge(edges: Int32Array, slot: int, heads: Int32Array, state: int, symbol: int, target: int) -> None:
    """Fill a free slot."""
    edges[_EDGE_WORDS * slot] = int(state) * _SYMBOLS + int(symbol)
    edges[_EDGE_WORDS * slot + 1] = target
    edges[_EDGE_WORDS * slot + _NEXT] = heads[state]
    heads[state] = slot


@subroutine
def split(
    edges: Int32Array, size: int, lengths: Int32Array, links: Int32Array, heads: Int32Array, state: int, symbol: int,
    clone: int,
) -> None:  # fmt: skip
    """Part the state behind an edge in two: ``clone`` takes over the texts that end here as well."""
    whole = int(edges[_EDGE_WORDS * find_edge(edges, size, state, symbol) + 1])
    lengths[clone] = lengths[state] + 1
    links[clone] = links[whole]
    heads[clone] = -1
    slot = int(heads[whole])
    while slot >= 0:
        inner = int(edges[_EDGE_WORDS * slot]) % _SYMBOLS
        put_edge(edges, find_edge(edges, size, clone, inner), heads, clone, inner, int(edges[_EDGE_WORDS * slot + 1]))
        slot = int(edges[_EDGE_WORDS * slot + _NEXT])
    while state >= 0:
        slot = find_edge(edges, size, state, symbol)
        if edges[_EDGE_WORDS * slot] < 0 or edges[_EDGE_WORDS * slot + 1] != whole:
            break
        edges[_EDGE_WORDS * slot + 1] = clone
        state = int(links[state])
    links[whole] = clone


@kernel
def build(
    symbols: Int32Array, ends: Int32Array, edges: Int32Array, lengths: Int32Array, links: Int32Array,
    heads: Int32Array, leave: Int32Array,
) -> int:  # fmt: skip
    """Read all symbols; how many states there are.

    ``edges`` is a hash table of a power of two slots, _EDGE_WORDS each, all -1; the others have a word a state, zeros.
    """
    size = len(edges) // _EDGE_WORDS
    lengths[0], links[0], heads[0] = 0, -1, -1
    count, last = 1, 0
    for index in range(len(symbols)):
        symbol = int(symbols[index])
        fresh = count
        count += 1
        lengths[fresh] = lengths[last] + 1
        leave[fresh] = ends[index]
        heads[fresh] = -1
        state = last
        known = False
        while state > 0 or (state == 0 and symbol >= _MARK):
            slot = find_edge(edges, size, state, symbol)
            known = edges[_EDGE_WORDS * slot] >= 0
            if known:
                break
            put_edge(edges, slot, heads, state, symbol, fresh)
            state = int(links[state])
        if known:
            behind = int(edges[_EDGE_WORDS * find_edge(edges, size, state, symbol) + 1])
            if lengths[behind] != lengths[state] + 1:
                split(edges, size, lengths, links, heads, state, symbol, count)
                behind = count
                count += 1
            links[fresh] = behind
        else:
            links[fresh] = 0
        last = fresh
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
def write_out(
    edges: Int32Array, heads: Int32Array, leave: Int32Array, count: int, shift: int, first_edge: int,
    states_out: Int32Array, edges_out: Int32Array,
) -> int:  # fmt: skip
    """Write states and edges as :class:`Documents` has them, the states numbered from ``shift``; how many edges."""
    num_edges = 0
    for state in range(count):
        begin = num_edges
        slot = int(heads[state])
        while slot >= 0:
            byte = int(edges[_EDGE_WORDS * slot]) % _MARK
            word = byte << VERBATIM_SHIFT | (shift + int(edges[_EDGE_WORDS * slot + 1]))
            place = num_edges
            while place > begin and edges_out[place - 1] > word:
                edges_out[place] = edges_out[place - 1]
                place -= 1
            edges_out[place] = word
            num_edges += 1
            slot = int(edges[_EDGE_WORDS * slot + _NEXT])
        states_out[state] = (first_edge + begin) << 1 | leave[state]
    return num_edges


def build_documents(verbatims: Sequence[Verbatim], limits: Limits) -> Documents:
    """The automata of all documents. Raises SourceError where one is missing, LimitExceeded where one is too long."""
    states: list[Int32Array] = []
    edges: list[Int32Array] = []
    roots: list[int] = []
    num_states = num_edges = 0
    for verbatim in verbatims:
        document = spell(verbatim)
        if num_states + 2 * len(document.symbols) > min(limits.max_states, VERBATIM_MASK):
            raise LimitExceeded(
                "max_states",
                limits.max_states,
                f"verbatim text of {len(document.symbols):,} bytes, which may need two states a byte; shorten it",
            )
        roots.append(num_states)
        states_of_one, edges_of_one = _build_one(document, num_states, num_edges)
        states.append(states_of_one)
        edges.append(edges_of_one)
        num_states += len(states_of_one)
        num_edges += len(edges_of_one)
    end = np.array([num_edges << 1], np.int32)
    return Documents(np.concatenate([*states, end]), np.concatenate([end[:0], *edges]), np.array(roots, np.int32))


def _build_one(document: Spelled, shift: int, first_edge: int) -> tuple[Int32Array, Int32Array]:
    length = len(document.symbols)
    table = np.full(_EDGE_WORDS * round_up_power(4 * length + 8), -1, np.int32)
    lengths, links, heads, leave = (np.zeros(2 * length + 2, np.int32) for _ in range(4))
    count = build(document.symbols, document.ends, table, lengths, links, heads, leave)
    spread_ends(lengths, links, leave, count, np.zeros(2 * count + 2, np.int32))
    states, edges = np.empty(count, np.int32), np.empty(3 * length + 3, np.int32)
    num_edges = write_out(table, heads, leave, count, shift, first_edge, states, edges)
    return states, edges[:num_edges].copy()
