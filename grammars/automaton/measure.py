"""What each node of an IR will cost in the network, and what it means for string text.

Children have smaller ids than their parents (only calls go anywhere), so one pass in order is enough.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import IR, UNBOUNDED, Int32Array, Kind
from ..jit import inlined, kernel, subroutine
from .emit_strings import MOST_CHARACTER_STATES, MOST_EDGES_A_STATE, MOST_STATES_A_BYTE, OTHERS

__all__ = [
    "COVERS_TEXT",
    "LONGEST_LITERAL",
    "MOST_STRING_BYTES",
    "NUM_CALLS",
    "NUM_EDGES",
    "NUM_EPSILONS",
    "NUM_STATES",
    "ONLY_TEXT_CHARACTER",
    "STARTS_OUTSIDE_TEXT",
    "THROUGH_RULE",
    "Measures",
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
# columns of the last row, that of the whole grammar
MOST_STRING_BYTES = 4  # of the texts of one set of JSON strings
LONGEST_LITERAL = 5

Measures = npt.NDArray[np.int64]
"""(N + 1, MEASURES): a row for each node, and one for all that is in use."""

_NEVER, _EPSILON, _LITERAL, _FRAGMENT = int(Kind.NEVER), int(Kind.EPSILON), int(Kind.LITERAL), int(Kind.FRAGMENT)
_SEQUENCE, _ALTERNATION, _REPEAT = int(Kind.SEQUENCE), int(Kind.ALTERNATION), int(Kind.REPEAT)
_CALL, _LITERALS, _STRINGS = int(Kind.CALL), int(Kind.LITERALS), int(Kind.JSON_STRINGS)
_GUARD, _REGISTER, _VERBATIM = int(Kind.GUARD), int(Kind.REGISTER), int(Kind.VERBATIM)

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
def starts_outside_text(fragment_edges: Int32Array, first: int, end: int) -> bool:
    """Whether a fragment begins with a byte that string text cannot begin with."""
    outside = True
    for edge in range(first, end):
        if fragment_edges[edge, 0] == 0:
            low, high = fragment_edges[edge, 1], fragment_edges[edge, 2]
            outside = outside and low <= high and not reads_text(low, high)
    return outside


@subroutine
def measure_list(table: Measures, node: int, nodes: Int32Array, children: Int32Array) -> None:
    """Measure a sequence, an alternation or a set of literals."""
    kind, a, b = nodes[node, 0], nodes[node, 1], nodes[node, 2]
    num_text = num_outside = 0
    for index in range(a, a + b):
        child = children[index]
        for column in range(NUM_CALLS + 1):
            table[node, column] += table[child, column]
        num_text += table[child, ONLY_TEXT_CHARACTER]
        num_outside += table[child, STARTS_OUTSIDE_TEXT]
        if kind != _SEQUENCE:
            table[node, COVERS_TEXT] |= table[child, COVERS_TEXT]
        if kind == _LITERALS and nodes[child, 2] > table[len(nodes), LONGEST_LITERAL]:
            table[len(nodes), LONGEST_LITERAL] = nodes[child, 2]
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
def measure_strings(table: Measures, node: int, nodes: Int32Array, children: Int32Array) -> None:
    """Measure a set of JSON strings: an upper bound."""
    num_bytes = 2
    for index in range(nodes[node, 1], nodes[node, 1] + nodes[node, 2]):
        num_bytes += nodes[children[index], 2]
    others = nodes[node, 3] & OTHERS != 0
    num_states = MOST_STATES_A_BYTE * num_bytes + MOST_CHARACTER_STATES
    table[node, NUM_STATES] = num_states
    table[node, NUM_EDGES] = num_states * (MOST_EDGES_A_STATE if others else 2)
    table[node, STARTS_OUTSIDE_TEXT] = 1
    if num_bytes > table[len(nodes), MOST_STRING_BYTES]:
        table[len(nodes), MOST_STRING_BYTES] = num_bytes


@subroutine
def measure_repeat(table: Measures, node: int, nodes: Int32Array) -> None:
    """Measure a repeat, and decide whether its body is copied or called."""
    body, minimum, maximum = nodes[node, 1], nodes[node, 2], nodes[node, 3]
    copies = copies_of_repeat(minimum, maximum)
    size = table[body, NUM_EDGES] + table[body, NUM_EPSILONS] + table[body, NUM_CALLS]
    through_rule = copies > 1 and size > 1 and copies * size > COPY_LIMIT and nodes[body, 0] != _CALL
    # the rule itself is counted with every repeat that uses it, which is an upper bound
    for column in range(NUM_CALLS + 1):
        table[node, column] = table[body, column] if through_rule else copies * table[body, column]
    if through_rule:
        table[node, THROUGH_RULE] = 1
        table[node, NUM_CALLS] += copies
        table[node, NUM_STATES] += 2
    table[node, NUM_STATES] += copies + 1
    table[node, NUM_EPSILONS] += copies + 2


@kernel
def measure_nodes(
    table: Measures, nodes: Int32Array, children: Int32Array, data: npt.NDArray[np.uint8], fragments: Int32Array,
    fragment_states: Int32Array, fragment_edges: Int32Array, rules: Int32Array, start: int,
    reachable: npt.NDArray[np.bool_],
) -> None:  # fmt: skip
    """Fill the rows of all nodes and the last one; the table comes as zeros."""
    for node in range(len(nodes)):
        kind, a, b = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        if kind in (_SEQUENCE, _ALTERNATION, _LITERALS):
            measure_list(table, node, nodes, children)
        elif kind == _STRINGS:
            measure_strings(table, node, nodes, children)
        elif kind == _REPEAT:
            measure_repeat(table, node, nodes)
        elif kind == _EPSILON:
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
            table[node, STARTS_OUTSIDE_TEXT] = starts_outside_text(fragment_edges, fragments[a], fragments[a + 1])
        elif kind in (_GUARD, _REGISTER, _CALL, _VERBATIM):
            table[node, NUM_CALLS] = 1
            if kind == _CALL and rules[a] < node:
                for column in range(COVERS_TEXT, MEASURES):
                    table[node, column] = table[rules[a], column]
    for rule in range(len(rules) + 1):
        if rule == len(rules) or reachable[rule]:
            node = start if rule == len(rules) else rules[rule]
            for column in range(NUM_CALLS + 1):
                table[len(nodes), column] += table[node, column]


def measure(ir: IR, reachable: npt.NDArray[np.bool_]) -> Measures:
    """The measures of all nodes, and of all that is in use: the rules that can be reached and the start."""
    table = np.zeros((len(ir.nodes) + 1, MEASURES), np.int64)
    leaves = (ir.nodes, ir.children, ir.data, ir.fragments, ir.fragment_states, ir.fragment_edges, ir.rules)
    measure_nodes(table, *leaves, ir.start, reachable)
    return table
