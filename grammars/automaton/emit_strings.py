"""JSON strings by what they mean: any spelling of given texts, and the strings that are none of them.

The texts are entered into a graph of bytes, every spelling of a character from one node to the same next node. For
the strings that are *none* of them, each node also gets the ways out: all bytes that can go on here in some character
(the automaton of :mod:`grammars.ir.json_character`) but do not go on to a given text. Behind a way out any string
follows. A character of text is never refused on the way, so each node between two characters has unbounded capacity.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import Int32Array
from ..jit import inlined, subroutine
from .emit_edges import Int64Array, add_edge, new_state
from .memory import UNBOUNDED_CAPACITY

__all__ = [
    "EVERY_SPELLING",
    "MOST_CHARACTER_STATES",
    "MOST_EDGES_A_BYTE",
    "MOST_STATES_A_BYTE",
    "OTHERS",
    "emit_strings",
]

EVERY_SPELLING = 1
OTHERS = 2

MOST_STATES_A_BYTE = 14  # of a text: raw, short escape, and 6 of an escape by number, 12 for a pair over 4 bytes
MOST_EDGES_A_BYTE = 14 * 16
MOST_CHARACTER_STATES = 40  # of the automaton of one character

_QUOTE, _BACKSLASH, _SLASH = 0x22, 0x5C, 0x2F

ByteArray = npt.NDArray[np.uint8]

# columns of a node of the graph
_FIRST, _PLACE, _ENDS, _STATE = 0, 1, 2, 3  # first edge; state of the character automaton; text ends; network state


@subroutine
def short_escape(code: int) -> int:
    """The letter behind the backslash, 0 if the character has none (the slash is not counted)."""
    if code in (_QUOTE, _BACKSLASH):
        return code
    for letter, escaped in ((98, 8), (102, 12), (110, 10), (114, 13), (116, 9)):
        if code == escaped:
            return letter
    return 0


@subroutine
def find_child(graph: Int32Array, links: Int32Array, node: int, byte: int) -> int:
    """Where a byte leads in the graph, -1 if nowhere."""
    edge = graph[node, _FIRST]
    while edge >= 0:
        if links[edge, 0] == byte:
            return links[edge, 1]
        edge = links[edge, 2]
    return -1


@subroutine
def link(graph: Int32Array, links: Int32Array, sizes: Int64Array, node: int, byte: int, target: int) -> None:
    """Let a byte lead from ``node`` to ``target``."""
    links[sizes[1], 0] = byte
    links[sizes[1], 1] = target
    links[sizes[1], 2] = graph[node, _FIRST]
    graph[node, _FIRST] = sizes[1]
    sizes[1] += 1


@subroutine
def add_node(graph: Int32Array, sizes: Int64Array) -> int:
    """A fresh node of the graph."""
    node = sizes[0]
    graph[node, _FIRST] = -1
    graph[node, _PLACE] = 0
    graph[node, _ENDS] = 0
    sizes[0] = node + 1
    return node


@subroutine
def step_character(offsets: Int32Array, table: Int32Array, place: int, byte: int) -> int:
    """The automaton of one character after a byte; 0 when the character is complete."""
    for edge in range(offsets[place], offsets[place + 1]):
        if table[edge, 0] <= byte <= table[edge, 1]:
            return max(0, table[edge, 2])
    return 0


@subroutine
def enter_spelling(
    graph: Int32Array, links: Int32Array, sizes: Int64Array, offsets: Int32Array, table: Int32Array, node: int,
    spelling: ByteArray, target: int,
) -> None:  # fmt: skip
    """Enter one spelling of a character from ``node`` to ``target``; hexadecimal letters in both cases."""
    for index in range(len(spelling)):
        byte = spelling[index]
        after = find_child(graph, links, node, byte)
        if after < 0:
            if index == len(spelling) - 1:
                after = target
            else:
                after = add_node(graph, sizes)
                graph[after, _PLACE] = step_character(offsets, table, graph[node, _PLACE], byte)
            link(graph, links, sizes, node, byte, after)
            if index % 6 >= 2 and spelling[0] == _BACKSLASH and 97 <= byte <= 102:
                link(graph, links, sizes, node, byte - 32, after)
        node = after


@subroutine
def write_unit(spelling: ByteArray, at: int, unit: int) -> None:
    r"""Write ``\uXXXX`` at a place of ``spelling``."""
    spelling[at] = _BACKSLASH
    spelling[at + 1] = 117
    for place in range(4):
        digit = (unit >> (12 - 4 * place)) & 15
        spelling[at + 2 + place] = 48 + digit if digit < 10 else 87 + digit


@subroutine
def enter_character(
    graph: Int32Array, links: Int32Array, sizes: Int64Array, offsets: Int32Array, table: Int32Array, every: bool,
    node: int, raw: ByteArray, code: int, buffer: ByteArray,
) -> int:  # fmt: skip
    """Enter a character in all its spellings from ``node``; the node behind it."""
    letter = short_escape(code)
    is_raw = code >= 0x20 and code != _QUOTE and code != _BACKSLASH
    # the first spelling finds a node that is there already
    if is_raw:
        first = raw
    elif letter:
        buffer[0], buffer[1] = _BACKSLASH, letter
        first = buffer[:2]
    else:
        write_unit(buffer, 0, code)
        first = buffer[:6]
    probe = node
    for byte in first:
        probe = find_child(graph, links, probe, byte) if probe >= 0 else -1
    if probe >= 0:
        return probe
    target = add_node(graph, sizes)
    enter_spelling(graph, links, sizes, offsets, table, node, first, target)
    if every:
        if code == _SLASH:
            buffer[0], buffer[1] = _BACKSLASH, _SLASH
            enter_spelling(graph, links, sizes, offsets, table, node, buffer[:2], target)
        if code < 0x10000:
            write_unit(buffer, 0, code)
            enter_spelling(graph, links, sizes, offsets, table, node, buffer[:6], target)
        else:
            write_unit(buffer, 0, 0xD800 + ((code - 0x10000) >> 10))
            write_unit(buffer, 6, 0xDC00 + ((code - 0x10000) & 0x3FF))
            enter_spelling(graph, links, sizes, offsets, table, node, buffer[:12], target)
    return target


@inlined
def code_point(text: ByteArray, index: int) -> tuple[int, int]:
    """The character that begins at ``index`` of UTF-8 text, and how many bytes it has."""
    lead = int(text[index])
    if lead < 0x80:
        return lead, 1
    length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    code = lead & (0x7F >> length)
    for place in range(1, length):
        code = code << 6 | int(text[index + place]) & 0x3F
    return code, length


@subroutine
def build_graph(
    nodes: Int32Array, data: ByteArray, members: Int32Array, offsets: Int32Array, table: Int32Array, every: bool
) -> tuple[Int32Array, Int32Array]:
    """The graph of all spellings of the texts: nodes (N, 4) and links (L, 3: byte, target, next link)."""
    total = 1
    for member in members:
        total += nodes[member, 2]
    graph = np.empty((MOST_STATES_A_BYTE * total + 1, 4), np.int32)
    links = np.empty((2 * MOST_STATES_A_BYTE * total, 3), np.int32)
    sizes = np.zeros(2, np.int64)
    buffer = np.empty(12, np.uint8)
    add_node(graph, sizes)
    for member in members:
        text = data[nodes[member, 1] : nodes[member, 1] + nodes[member, 2]]
        node = index = 0
        while index < len(text):
            code, length = code_point(text, index)
            raw = text[index : index + length]
            node = enter_character(graph, links, sizes, offsets, table, every, node, raw, code, buffer)
            index += length
        graph[node, _ENDS] = 1
    return graph[: sizes[0]], links[: sizes[1]]


@subroutine
def sorted_links(graph: Int32Array, links: Int32Array, node: int, bytes_: Int32Array, targets: Int32Array) -> int:
    """The links of a node in order of their bytes; how many."""
    count = 0
    edge = graph[node, _FIRST]
    while edge >= 0:
        place = count
        while place > 0 and bytes_[place - 1] > links[edge, 0]:
            bytes_[place] = bytes_[place - 1]
            targets[place] = targets[place - 1]
            place -= 1
        bytes_[place] = links[edge, 0]
        targets[place] = links[edge, 1]
        count += 1
        edge = links[edge, 2]
    return count


@subroutine
def emit_ways_out(
    counts: Int64Array, edges: Int32Array, offsets: Int32Array, table: Int32Array, place: int, source: int,
    bytes_: Int32Array, count: int, body: int, shared: int,
) -> None:  # fmt: skip
    """From ``source``, which stands at ``place`` of a character: all bytes that go on but are not taken by a link."""
    index = 0
    for edge in range(offsets[place], offsets[place + 1]):
        low, high, after = table[edge, 0], table[edge, 1], table[edge, 2]
        target = body if after < 0 else shared + after
        while index < count and bytes_[index] < low:
            index += 1
        while index < count and bytes_[index] <= high:
            if low < bytes_[index]:
                add_edge(counts, edges, source, low, bytes_[index] - 1, target)
            low = bytes_[index] + 1
            index += 1
        if low <= high:
            add_edge(counts, edges, source, low, high, target)


@subroutine
def emit_any_string(
    counts: Int64Array, edges: Int32Array, capacities: Int32Array, offsets: Int32Array, table: Int32Array, target: int
) -> tuple[int, int]:
    """The rest of any string with its closing quote: the state before it, and where those inside a character begin."""
    body = new_state(counts)
    shared = counts[0] - 1  # place 0 is ``body`` itself, so place p > 0 is shared + p
    counts[0] += len(offsets) - 2
    no_bytes = np.empty(0, np.int32)
    for place in range(len(offsets) - 1):
        emit_ways_out(counts, edges, offsets, table, place, shared + place, no_bytes, 0, body, shared)
    add_edge(counts, edges, body, _QUOTE, _QUOTE, target)
    capacities[body] = UNBOUNDED_CAPACITY
    return body, shared


@subroutine
def emit_strings(
    counts: Int64Array, edges: Int32Array, capacities: Int32Array, nodes: Int32Array, data: ByteArray,
    members: Int32Array, offsets: Int32Array, table: Int32Array, options: int, source: int, target: int,
) -> None:  # fmt: skip
    """A JSON string, quotes included, that spells one of ``members``, or with OTHERS none of them."""
    others = options & OTHERS != 0
    graph, links = build_graph(nodes, data, members, offsets, table, options & EVERY_SPELLING != 0)
    body = shared = 0
    if others:
        body, shared = emit_any_string(counts, edges, capacities, offsets, table, target)
    for node in range(len(graph)):
        graph[node, _STATE] = new_state(counts)
    add_edge(counts, edges, source, _QUOTE, _QUOTE, graph[0, _STATE])
    bytes_, targets = np.empty(256, np.int32), np.empty(256, np.int32)
    for node in range(len(graph)):
        here, place = graph[node, _STATE], graph[node, _PLACE]
        count = sorted_links(graph, links, node, bytes_, targets)
        for index in range(count):
            add_edge(counts, edges, here, bytes_[index], bytes_[index], graph[targets[index], _STATE])
        if others:
            emit_ways_out(counts, edges, offsets, table, place, here, bytes_, count, body, shared)
        if place == 0:
            if others:
                capacities[here] = UNBOUNDED_CAPACITY
            if (graph[node, _ENDS] != 0) != others:
                add_edge(counts, edges, here, _QUOTE, _QUOTE, target)
