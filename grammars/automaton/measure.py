"""What each node of an IR will cost in the network, and what it means for string text.

Children have smaller ids than their parents (only calls go anywhere), so one pass in order is enough.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import UNBOUNDED, Int32Array, Kind
from ..jit import inlined, kernel, subroutine
from .emit_strings import MOST_CHARACTER_STATES, MOST_EDGES_A_BYTE, MOST_STATES_A_BYTE

__all__ = [
    "COVERS_TEXT",
    "MEASURES",
    "NUM_CALLS",
    "NUM_EDGES",
    "NUM_EPSILONS",
    "NUM_STATES",
    "ONLY_TEXT_CHARACTER",
    "STARTS_OUTSIDE_TEXT",
    "THROUGH_RULE",
    "measure",
    "reads_text",
]

# columns of the table of measures
NUM_STATES = 0
NUM_EDGES = 1
NUM_EPSILONS = 2
NUM_CALLS = 3
THROUGH_RULE = 4  # of a repeat: its body becomes a rule of its own, for it is too large to be copied
COVERS_TEXT = 5  # matches each single character of JSON string text
ONLY_TEXT_CHARACTER = 6  # covers text, and reads string text in no other way
STARTS_OUTSIDE_TEXT = 7  # whatever it matches begins with a byte that string text cannot begin with
MEASURES = 8

_NEVER, _EPSILON, _LITERAL, _FRAGMENT = int(Kind.NEVER), int(Kind.EPSILON), int(Kind.LITERAL), int(Kind.FRAGMENT)
_SEQUENCE, _ALTERNATION, _REPEAT = int(Kind.SEQUENCE), int(Kind.ALTERNATION), int(Kind.REPEAT)
_CALL, _LITERALS, _STRINGS = int(Kind.CALL), int(Kind.LITERALS), int(Kind.JSON_STRINGS)
_GUARD, _REGISTER = int(Kind.GUARD), int(Kind.REGISTER)

COPY_LIMIT = 64  # edges that the copies of a repeat's body may make before the body becomes a rule


@inlined
def reads_text(low: int, high: int) -> bool:
    """Whether a byte of the range can begin a character of JSON string text."""
    ascii_text = low <= 0x7F and high >= 0x20 and not (low == high and low in (0x22, 0x5C))
    return ascii_text or (low <= 0xF4 and high >= 0xC2)


@inlined
def copies_of_repeat(minimum: int, maximum: int) -> int:
    """How many times the body of a repeat stands in the network."""
    return minimum + 1 if maximum == UNBOUNDED else maximum


@subroutine
def measure_leaf(
    table: npt.NDArray[np.int64], node: int, nodes: Int32Array, data: npt.NDArray[np.uint8], fragments: Int32Array,
    fragment_states: Int32Array, fragment_edges: Int32Array, rules: Int32Array,
) -> None:  # fmt: skip
    """Measure a node without children."""
    kind, a, b = nodes[node, 0], nodes[node, 1], nodes[node, 2]
    if kind == _EPSILON:
        table[node, NUM_EPSILONS] = 1
    elif kind == _LITERAL:
        table[node, NUM_STATES] = b - 1
        table[node, NUM_EDGES] = b
        table[node, STARTS_OUTSIDE_TEXT] = not reads_text(data[a], data[a])
    elif kind == _FRAGMENT:
        count = fragments[a + 1] - fragments[a]
        table[node, NUM_STATES] = fragment_states[a] - 2
        table[node, NUM_EDGES] = count
        table[node, NUM_EPSILONS] = count
        table[node, COVERS_TEXT] = b
        table[node, ONLY_TEXT_CHARACTER] = b
        outside = True
        for edge in range(fragments[a], fragments[a + 1]):
            if fragment_edges[edge, 0] == 0:
                low, high = fragment_edges[edge, 1], fragment_edges[edge, 2]
                outside = outside and low <= high and not reads_text(low, high)
        table[node, STARTS_OUTSIDE_TEXT] = outside
    elif kind in (_GUARD, _REGISTER):
        table[node, NUM_CALLS] = 1
    elif kind == _CALL:
        table[node, NUM_CALLS] = 1
        body = rules[a]
        if body < node:
            table[node, COVERS_TEXT] = table[body, COVERS_TEXT]
            table[node, ONLY_TEXT_CHARACTER] = table[body, ONLY_TEXT_CHARACTER]
            table[node, STARTS_OUTSIDE_TEXT] = table[body, STARTS_OUTSIDE_TEXT]


@subroutine
def measure_list(table: npt.NDArray[np.int64], node: int, nodes: Int32Array, children: Int32Array) -> None:
    """Measure a sequence, an alternation or a set of literals."""
    kind, a, b = nodes[node, 0], nodes[node, 1], nodes[node, 2]
    num_text = num_outside = 0
    for child in children[a : a + b]:
        for column in range(NUM_CALLS + 1):
            table[node, column] += table[child, column]
        num_text += table[child, ONLY_TEXT_CHARACTER]
        num_outside += table[child, STARTS_OUTSIDE_TEXT]
        if kind != _SEQUENCE:
            table[node, COVERS_TEXT] |= table[child, COVERS_TEXT]
    if kind == _SEQUENCE:
        table[node, NUM_STATES] += b - 1
        table[node, STARTS_OUTSIDE_TEXT] = table[children[a], STARTS_OUTSIDE_TEXT]
    else:
        table[node, ONLY_TEXT_CHARACTER] = num_text == 1 and num_outside == b - 1
        table[node, STARTS_OUTSIDE_TEXT] = num_outside == b
    if kind == _LITERALS:
        table[node, NUM_STATES] += b
        table[node, NUM_EPSILONS] += b


@subroutine
def measure_strings(table: npt.NDArray[np.int64], node: int, nodes: Int32Array, children: Int32Array) -> None:
    """Measure a set of JSON strings: an upper bound."""
    a, b = nodes[node, 1], nodes[node, 2]
    num_bytes = 2
    for child in children[a : a + b]:
        num_bytes += nodes[child, 2]
    table[node, NUM_STATES] = MOST_STATES_A_BYTE * num_bytes + MOST_CHARACTER_STATES
    table[node, NUM_EDGES] = MOST_EDGES_A_BYTE * num_bytes + MOST_EDGES_A_BYTE * MOST_CHARACTER_STATES
    table[node, STARTS_OUTSIDE_TEXT] = True


@subroutine
def measure_repeat(table: npt.NDArray[np.int64], node: int, nodes: Int32Array) -> None:
    """Measure a repeat, and decide whether its body is copied or called."""
    body, minimum, maximum = nodes[node, 1], nodes[node, 2], nodes[node, 3]
    copies = copies_of_repeat(minimum, maximum)
    size = table[body, NUM_EDGES] + table[body, NUM_EPSILONS] + table[body, NUM_CALLS]
    if copies > 1 and size > 1 and copies * size > COPY_LIMIT and nodes[body, 0] != _CALL:
        table[node, THROUGH_RULE] = 1
        # the rule itself is counted with every repeat that uses it, which is an upper bound
        for column in range(NUM_CALLS + 1):
            table[node, column] = table[body, column]
        table[node, NUM_CALLS] += copies
        table[node, NUM_STATES] += 2
    else:
        for column in range(NUM_CALLS + 1):
            table[node, column] = copies * table[body, column]
    table[node, NUM_STATES] += copies + 1
    table[node, NUM_EPSILONS] += copies + 2


@kernel
def measure(
    nodes: Int32Array, children: Int32Array, data: npt.NDArray[np.uint8], fragments: Int32Array,
    fragment_states: Int32Array, fragment_edges: Int32Array, rules: Int32Array,
) -> npt.NDArray[np.int64]:  # fmt: skip
    """The (N, MEASURES) table of all nodes."""
    table = np.zeros((len(nodes), MEASURES), np.int64)
    for node in range(len(nodes)):
        kind = nodes[node, 0]
        if kind in (_SEQUENCE, _ALTERNATION, _LITERALS):
            measure_list(table, node, nodes, children)
        elif kind == _STRINGS:
            measure_strings(table, node, nodes, children)
        elif kind == _REPEAT:
            measure_repeat(table, node, nodes)
        else:
            measure_leaf(table, node, nodes, data, fragments, fragment_states, fragment_edges, rules)
    return table
