"""The places of a token walk at which guards are asked, as :mod:`grammars.masks.walk` noted them.

A place is a node of the token trie. Inside a string there are more than a thousand of them, one for each token that
has a quote, so kernels tell which are worth a look.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..automaton.memory import (
    FIRST_GUARDED,
    GUARDED,
    PENDING,
    PENDING_WORDS,
    TRANSITIONS,
    Memory,
    words_of,
)
from ..ir.nodes import Int32Array
from ..jit import inlined, kernel, subroutine
from ..vocabulary.tables import NODES, OTHERS, ROOTS, TOKEN_BYTES, TOKEN_OFFSETS
from ..vocabulary.trie import DEPTH_SHIFT, TOKEN_MASK

__all__ = [
    "BEYOND",
    "INSIDE",
    "SPELLED",
    "Place",
    "any_inside",
    "find_place",
    "first_node",
    "guards_asked",
    "guards_of",
    "list_odd",
    "place_at",
]

QUOTE, BACKSLASH = 0x22, 0x5C
STRUCTURE = (0x2C, 0x3A, 0x5B, 0x5D, 0x7B, 0x7D)
OUTSIDE, IN_STRING, BEHIND_BACKSLASH = 0, 1, 2
PLAIN, SPELLED, BEYOND, INSIDE = 0, 1, 2, 3
"""Kinds of places; INSIDE: below another one, so that some value has ended before."""


class Place(NamedTuple):
    """A node of the token trie at which guards are asked."""

    node: int
    end: int
    """The node behind its subtree."""
    configuration: int
    """Before its byte."""
    ahead: bytes
    """The bytes of the tokens up to there."""
    guards: tuple[int, ...]


@kernel
def any_inside(memory: Memory, first: int, end: int) -> bool:
    """Whether some place from ``first`` to ``end`` lies below another one."""
    found = False
    for place in range(first, end):
        found = found or memory[memory[PENDING] + PENDING_WORDS * place + 2] != 0
    return found


@subroutine
def first_node(tables: Memory, trie: int) -> int:
    """The first node of one of the tries; they lie one behind the other."""
    for byte in range(256):
        if tables[tables[ROOTS] + trie + byte] >= 0:
            return tables[tables[ROOTS] + trie + byte]
    return 1 << 30


@inlined
def kind_of(tables: Memory, first: int, end: int, in_string: bool) -> int:
    """How bytes end a value: PLAIN, SPELLED or BEYOND (see :class:`grammars.guards.questions.Ahead`)."""
    kind = PLAIN
    mode = IN_STRING if in_string else OUTSIDE
    for index in range(first, end):
        byte = tables[index]
        if mode == BEHIND_BACKSLASH:
            mode = IN_STRING
        elif mode == IN_STRING:
            if byte == QUOTE:
                mode = OUTSIDE
            elif byte == BACKSLASH:
                mode = BEHIND_BACKSLASH
                kind = SPELLED
        elif byte == QUOTE:
            mode = IN_STRING
        elif byte in STRUCTURE:
            return BEYOND
        elif byte < 48 or byte > 57:
            kind = SPELLED
    return kind


@kernel
def token_below(tables: Memory, node: int) -> int:
    """Some token whose path leads through a node."""
    nodes = tables[NODES]
    while tables[nodes + 2 * node + 1] & TOKEN_MASK == 0:
        node += 1
    return (tables[nodes + 2 * node + 1] & TOKEN_MASK) - 1


@kernel
def list_odd(memory: Memory, tables: Memory, first: int, end: int, in_string: bool, odd: Int32Array) -> int:
    """List the places from ``first`` to ``end`` that are not plain, as (place, kind) pairs; how many."""
    count = 0
    for place in range(first, end):
        words = memory[PENDING] + PENDING_WORDS * place
        node = memory[words]
        begin = tables[TOKEN_BYTES] + tables[tables[TOKEN_OFFSETS] + token_below(tables, node)]
        depth = tables[tables[NODES] + 2 * node + 1] >> DEPTH_SHIFT
        kind = kind_of(tables, begin, begin + depth + 1, in_string)
        if memory[words + 2] != 0 and kind == BEYOND:
            kind = INSIDE
        if kind != PLAIN:
            odd[2 * count] = place
            odd[2 * count + 1] = kind
            count += 1
    return count


@kernel
def find_place(memory: Memory, tables: Memory, first: int, end: int, text: Memory) -> int:
    """The place from ``first`` to ``end`` whose bytes are ``text`` (one byte a word), -1 if there is none."""
    pending, nodes = memory[PENDING], tables[NODES]
    roots = tables[ROOTS]
    if memory[pending + PENDING_WORDS * first] >= first_node(tables, OTHERS):  # that trie was walked
        roots += OTHERS
    node = tables[roots + text[0]]
    if node < 0:
        return -1
    for index in range(1, len(text)):
        last = node + (tables[nodes + 2 * node] >> 8)
        node += 1
        while node < last and tables[nodes + 2 * node] & 0xFF != text[index]:
            node += tables[nodes + 2 * node] >> 8
        if node >= last:
            return -1
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if memory[pending + PENDING_WORDS * middle] < node:
            low = middle + 1
        else:
            high = middle
    return low if low < end and memory[pending + PENDING_WORDS * low] == node else -1


def text_of_node(tables: Memory, node: int) -> bytes:
    """The bytes on the path to a node of the token trie, its own included."""
    depth = int(tables[int(tables[NODES]) + 2 * node + 1]) >> DEPTH_SHIFT
    first = int(tables[TOKEN_BYTES]) + int(tables[int(tables[TOKEN_OFFSETS]) + token_below(tables, node)])
    return bytes(words_of(tables)[first : first + depth + 1].astype(np.uint8))


def guards_of(memory: Memory, code: int) -> tuple[int, ...]:
    """The guards that a transition hangs on."""
    first = int(memory[GUARDED]) + FIRST_GUARDED - code
    return tuple(words_of(memory)[first + 2 : first + 2 + int(memory[first + 1])].tolist())


def place_at(memory: Memory, tables: Memory, index: int) -> Place:
    """One of the places noted."""
    words = int(memory[PENDING]) + PENDING_WORDS * index
    node, configuration = int(memory[words]), int(memory[words + 1])
    word = int(tables[int(tables[NODES]) + 2 * node])
    code = int(memory[int(memory[TRANSITIONS]) + 256 * configuration + (word & 0xFF)])
    return Place(node, node + (word >> 8), configuration, text_of_node(tables, node), guards_of(memory, code))


def guards_asked(memory: Memory, tables: Memory, first: int, end: int) -> frozenset[int]:
    """All guards that are asked at the places from ``first`` to ``end``."""
    words, base = words_of(memory), int(memory[PENDING])
    noted = words[base + PENDING_WORDS * first : base + PENDING_WORDS * end].reshape(-1, PENDING_WORDS)
    bytes_read = words_of(tables)[int(tables[NODES]) + 2 * noted[:, 0]] & 0xFF
    codes = words[int(memory[TRANSITIONS]) + 256 * noted[:, 1] + bytes_read]
    return frozenset(guard for code in set(codes.tolist()) for guard in guards_of(memory, code))
