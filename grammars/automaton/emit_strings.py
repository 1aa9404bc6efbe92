"""JSON strings by what they mean: any spelling of given texts, and the strings that are none of them.

The texts are entered into a graph of bytes, every spelling of a character from one node to the same next node. For
the strings that are *none* of them, each node also gets the ways out: all bytes that can go on here in some character
(the automaton of :mod:`grammars.ir.json_character`) but do not go on to a given text. Behind a way out any string
follows. A character of text is never refused on the way, so each node between two characters has unbounded capacity.
"""

from __future__ import annotations

from typing import Final

from ..ir.nodes import Int32Array
from ..jit import inlined, subroutine
from .draft import (
    BUFFER,
    CAPACITIES,
    GRAPH,
    GRAPH_LINKS,
    GRAPH_NODES,
    GRAPH_WORDS,
    LINK_WORDS,
    LINKS,
    Draft,
    add_edge,
    new_state,
)
from .memory import UNBOUNDED_CAPACITY

__all__ = [
    "EVERY_SPELLING",
    "MOST_CHARACTER_STATES",
    "MOST_EDGES_A_STATE",
    "MOST_STATES_A_BYTE",
    "ONLY_ASCII",
    "OTHERS",
    "emit_strings",
]

EVERY_SPELLING: Final = 1
OTHERS: Final = 2
ONLY_ASCII: Final = 4

MOST_STATES_A_BYTE: Final = 14  # of a text: raw, short escape, and 6 of an escape by number, 12 for a pair over 4 bytes
MOST_EDGES_A_STATE: Final = 16  # of strings that are none of the given ones; else 2
MOST_CHARACTER_STATES: Final = 40  # of the automaton of one character

_QUOTE, _BACKSLASH, _SLASH, _U = 0x22, 0x5C, 0x2F, 0x75

# words of a node of the graph: first link; state of the character automaton; whether a text ends; network state
_FIRST, _PLACE, _ENDS, _STATE = 0, 1, 2, 3
# words of a link of the graph
_BYTE, _TARGET, _NEXT = 0, 1, 2


@inlined
def short_escape(code: int) -> int:
    """The letter behind the backslash, 0 if the character has none (the slash is not counted)."""
    if code in (_QUOTE, _BACKSLASH):
        return code
    if code == 8:
        return 98
    if code == 9:
        return 116
    if code == 10:
        return 110
    if code == 12:
        return 102
    return 114 if code == 13 else 0


@inlined
def node_at(draft: Draft, node: int) -> int:
    """Where a node of the graph lies."""
    return draft[GRAPH] + GRAPH_WORDS * node


@inlined
def find_child(draft: Draft, node: int, byte: int) -> int:
    """Where a byte leads in the graph, -1 if nowhere."""
    link = draft[node_at(draft, node) + _FIRST]
    while link >= 0:
        words = draft[LINKS] + LINK_WORDS * link
        if draft[words + _BYTE] == byte:
            return draft[words + _TARGET]
        link = draft[words + _NEXT]
    return -1


@inlined
def add_link(draft: Draft, node: int, byte: int, target: int) -> None:
    """Let a byte lead from ``node`` to ``target``."""
    words = draft[LINKS] + LINK_WORDS * draft[GRAPH_LINKS]
    first = node_at(draft, node) + _FIRST
    draft[words + _BYTE] = byte
    draft[words + _TARGET] = target
    draft[words + _NEXT] = draft[first]
    draft[first] = draft[GRAPH_LINKS]
    draft[GRAPH_LINKS] += 1


@inlined
def add_node(draft: Draft, place: int) -> int:
    """A fresh node of the graph, at a place of the automaton of one character."""
    node = draft[GRAPH_NODES]
    words = node_at(draft, node)
    draft[words + _FIRST] = -1
    draft[words + _PLACE] = place
    draft[words + _ENDS] = 0
    draft[GRAPH_NODES] = node + 1
    return node


@inlined
def step_character(offsets: Int32Array, table: Int32Array, place: int, byte: int) -> int:
    """The automaton of one character after a byte; 0 when the character is complete."""
    for edge in range(offsets[place], offsets[place + 1]):
        if table[edge, 0] <= byte <= table[edge, 1]:
            return max(0, table[edge, 2])
    return 0


@subroutine
def enter_spelling(
    draft: Draft, offsets: Int32Array, table: Int32Array, every: int, node: int, length: int, target: int
) -> None:
    """Enter the spelling in the buffer, from ``node`` to ``target``; with ``every`` hexadecimal digits in any case."""
    buffer = draft[BUFFER]
    for index in range(length):
        byte = draft[buffer + index]
        after = find_child(draft, node, byte)
        if after < 0:
            after = target
            if index < length - 1:
                place = draft[node_at(draft, node) + _PLACE]
                after = add_node(draft, step_character(offsets, table, place, byte))
            add_link(draft, node, byte, after)
            if every != 0 and index % 6 >= 2 and draft[buffer] == _BACKSLASH and 97 <= byte <= 102:
                add_link(draft, node, byte - 32, after)
        node = after


@inlined
def write_pair(draft: Draft, byte: int) -> int:
    """Write a backslash and a byte into the buffer; how long that is."""
    draft[draft[BUFFER]] = _BACKSLASH
    draft[draft[BUFFER] + 1] = byte
    return 2


@subroutine
def write_number(draft: Draft, at: int, unit: int) -> int:
    r"""Write ``\uXXXX`` at a place of the buffer; where it ends."""
    words = draft[BUFFER] + at
    draft[words] = _BACKSLASH
    draft[words + 1] = _U
    for place in range(4):
        digit = (unit >> (12 - 4 * place)) & 15
        draft[words + 2 + place] = 48 + digit if digit < 10 else 87 + digit
    return at + 6


@subroutine
def write_numbers(draft: Draft, code: int) -> int:
    r"""Write a character into the buffer by number, as a pair of surrogates beyond the basic plane; its length."""
    if code < 0x10000:
        return write_number(draft, 0, code)
    write_number(draft, 0, 0xD800 + ((code - 0x10000) >> 10))
    return write_number(draft, 6, 0xDC00 + ((code - 0x10000) & 0x3FF))


@subroutine
def enter_character(
    draft: Draft, offsets: Int32Array, table: Int32Array, options: int, node: int, code: int, length: int
) -> int:
    """Enter a character in all its spellings from ``node``; the node behind it. The buffer holds its UTF-8."""
    every = options & EVERY_SPELLING
    if short_escape(code) != 0:
        length = write_pair(draft, short_escape(code))
    elif code < 0x20 or (code > 0x7E and options & ONLY_ASCII != 0):
        length = write_numbers(draft, code)
    # the first spelling finds a node that is there already
    known = node
    for index in range(length):
        known = find_child(draft, known, draft[draft[BUFFER] + index]) if known >= 0 else -1
    if known >= 0:
        return known
    target = add_node(draft, 0)
    enter_spelling(draft, offsets, table, every, node, length, target)
    if every:
        if code == _SLASH:
            enter_spelling(draft, offsets, table, every, node, write_pair(draft, _SLASH), target)
        enter_spelling(draft, offsets, table, every, node, write_numbers(draft, code), target)
    return target


@inlined
def length_of_character(lead: int) -> int:
    """Bytes of a character of UTF-8 by its first one."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@subroutine
def enter_text(
    draft: Draft, data: Int32Array, offsets: Int32Array, table: Int32Array, options: int, first: int, end: int
) -> None:
    """Enter all spellings of the text ``data[first:end]``."""
    node = 0
    while first < end:
        code = data[first]
        length = length_of_character(code)
        if length > 1:
            code &= 0x7F >> length
        draft[draft[BUFFER]] = data[first]
        for place in range(1, length):
            draft[draft[BUFFER] + place] = data[first + place]
            code = code << 6 | data[first + place] & 0x3F
        node = enter_character(draft, offsets, table, options, node, code, length)
        first += length
    draft[node_at(draft, node) + _ENDS] = 1


@inlined
def sort_links(draft: Draft, node: int) -> int:
    """Write the links of a node into the buffer in order of their bytes, two words each; how many."""
    buffer = draft[BUFFER]
    count = 0
    link = draft[node_at(draft, node) + _FIRST]
    while link >= 0:
        words = draft[LINKS] + LINK_WORDS * link
        place = buffer + 2 * count
        while place > buffer and draft[place - 2] > draft[words + _BYTE]:
            draft[place] = draft[place - 2]
            draft[place + 1] = draft[place - 1]
            place -= 2
        draft[place] = draft[words + _BYTE]
        draft[place + 1] = draft[words + _TARGET]
        count += 1
        link = draft[words + _NEXT]
    return count


@subroutine
def emit_ways_out(
    draft: Draft, offsets: Int32Array, table: Int32Array, place: int, source: int, count: int, body: int
) -> None:
    """From ``source``, which stands at ``place`` of a character: all bytes that go on but are not taken by a link.

    The links are the first ``count`` in the buffer. Place p of any other string is state ``body + p``.
    """
    link = draft[BUFFER]
    end = link + 2 * count
    for edge in range(offsets[place], offsets[place + 1]):
        low, high, after = table[edge, 0], table[edge, 1], table[edge, 2]
        target = body if after < 0 else body + after
        while link < end and draft[link] < low:
            link += 2
        while link < end and draft[link] <= high:
            if low < draft[link]:
                add_edge(draft, source, low, draft[link] - 1, target)
            low = draft[link] + 1
            link += 2
        if low <= high:
            add_edge(draft, source, low, high, target)


@subroutine
def emit_any_string(draft: Draft, offsets: Int32Array, table: Int32Array, capacity: int, target: int) -> int:
    """The rest of any string with its closing quote; the state before it, behind which those inside a character lie."""
    body = new_state(draft)
    for _ in range(len(offsets) - 2):
        new_state(draft)
    for place in range(len(offsets) - 1):
        emit_ways_out(draft, offsets, table, place, body + place, 0, body)
    add_edge(draft, body, _QUOTE, _QUOTE, target)
    draft[draft[CAPACITIES] + body] = capacity
    return body


@subroutine
def emit_strings(
    draft: Draft, nodes: Int32Array, data: Int32Array, children: Int32Array, first: int, end: int,
    offsets: Int32Array, table: Int32Array, options: int, source: int, target: int,
) -> None:  # fmt: skip
    """A JSON string, quotes included, that spells one of ``children[first:end]``, or with OTHERS none of them."""
    draft[GRAPH_NODES] = 0
    draft[GRAPH_LINKS] = 0
    add_node(draft, 0)
    for index in range(first, end):
        text = nodes[children[index], 1]
        enter_text(draft, data, offsets, table, options, text, text + nodes[children[index], 2])
    others = options & OTHERS != 0
    capacity = 0 if options & ONLY_ASCII else UNBOUNDED_CAPACITY
    body = emit_any_string(draft, offsets, table, capacity, target) if others else 0
    for node in range(draft[GRAPH_NODES]):
        draft[node_at(draft, node) + _STATE] = new_state(draft)
    add_edge(draft, source, _QUOTE, _QUOTE, draft[node_at(draft, 0) + _STATE])
    for node in range(draft[GRAPH_NODES]):
        words = node_at(draft, node)
        here, place = draft[words + _STATE], draft[words + _PLACE]
        count = sort_links(draft, node)
        for link in range(draft[BUFFER], draft[BUFFER] + 2 * count, 2):
            add_edge(draft, here, draft[link], draft[link], draft[node_at(draft, draft[link + 1]) + _STATE])
        if others:
            emit_ways_out(draft, offsets, table, place, here, count, body)
        if place == 0:
            if others:
                draft[draft[CAPACITIES] + here] = capacity
            if (draft[words + _ENDS] != 0) != others:
                add_edge(draft, here, _QUOTE, _QUOTE, target)
