"""From IR to an automaton with calls: every node becomes paths from one state to another.

The invariant that makes sharing states safe: ``emit(node, source, target)`` adds no edge into ``source`` and none
out of ``target``. A repeat, which needs loops, makes fresh states of its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import UNBOUNDED, Int32Array, Kind
from ..jit import inlined, kernel, subroutine
from .emit_edges import AGENDA, CALLS, EDGES, NUM_COUNTS, RULES, STATES, Int64Array, add_edge, new_state
from .emit_strings import EVERY_SPELLING, emit_strings
from .measure import (
    COVERS_TEXT,
    NUM_CALLS,
    NUM_EDGES,
    NUM_EPSILONS,
    NUM_STATES,
    ONLY_TEXT_CHARACTER,
    THROUGH_RULE,
    copies_of_repeat,
)
from .memory import FINAL, TAKES_TEXT, UNBOUNDED_CAPACITY

__all__ = ["emit_all"]

_EPSILON, _LITERAL, _FRAGMENT = int(Kind.EPSILON), int(Kind.LITERAL), int(Kind.FRAGMENT)
_SEQUENCE, _ALTERNATION, _REPEAT = int(Kind.SEQUENCE), int(Kind.ALTERNATION), int(Kind.REPEAT)
_CALL, _LITERALS, _STRINGS = int(Kind.CALL), int(Kind.LITERALS), int(Kind.JSON_STRINGS)
_GUARD, _REGISTER = int(Kind.GUARD), int(Kind.REGISTER)


@inlined
def add_task(counts: Int64Array, agenda: Int32Array, node: int, source: int, target: int) -> None:
    """Leave ``emit(node, source, target)`` for later."""
    row = counts[AGENDA]
    agenda[row, 0] = node
    agenda[row, 1] = source
    agenda[row, 2] = target
    counts[AGENDA] = row + 1


@subroutine
def emit_literal(counts: Int64Array, edges: Int32Array, text: npt.NDArray[np.uint8], source: int, target: int) -> None:
    """A chain of single bytes."""
    for index in range(len(text)):
        after = target if index == len(text) - 1 else new_state(counts)
        byte = int(text[index])
        add_edge(counts, edges, source, byte, byte, after)
        source = after


@subroutine
def emit_literals(
    counts: Int64Array, edges: Int32Array, nodes: Int32Array, data: npt.NDArray[np.uint8], members: Int32Array,
    source: int, target: int,
) -> None:  # fmt: skip
    """A trie of sorted, distinct texts."""
    longest = 0
    for member in members:
        if nodes[member, 2] > longest:
            longest = nodes[member, 2]
    path = np.empty(longest + 1, np.int64)
    path[0] = source
    before = data[:0]
    for index in range(len(members)):
        first, length = nodes[members[index], 1], nodes[members[index], 2]
        text = data[first : first + length]
        shared = 0
        while shared < len(before) and shared < length and before[shared] == text[shared]:
            shared += 1
        is_prefix = False  # of the next text: then its end has a way on
        if index + 1 < len(members) and nodes[members[index + 1], 2] > length:
            other = nodes[members[index + 1], 1]
            is_prefix = True
            for position in range(length):
                is_prefix = is_prefix and data[other + position] == text[position]
        for position in range(shared, length):
            last = position == length - 1 and not is_prefix
            path[position + 1] = target if last else new_state(counts)
            byte = int(text[position])
            add_edge(counts, edges, path[position], byte, byte, path[position + 1])
        if is_prefix:
            add_edge(counts, edges, path[length], 1, 0, target)
        before = text


@subroutine
def emit_fragment(
    counts: Int64Array, edges: Int32Array, num_states: int, pieces: Int32Array, source: int, target: int
) -> None:
    """A finite automaton, its states renamed: 0 is the source, 1 the target."""
    shift = counts[STATES] - 2
    counts[STATES] += num_states - 2
    for row in range(len(pieces)):
        start, end = pieces[row, 0], pieces[row, 3]
        start = source if start == 0 else shift + start
        end = target if end == 1 else shift + end
        add_edge(counts, edges, start, pieces[row, 1], pieces[row, 2], end)


@subroutine
def rule_of_node(
    counts: Int64Array, agenda: Int32Array, rule_of: Int32Array, rule_starts: Int32Array, rule_bodies: Int32Array,
    flags: Int32Array, node: int,
) -> int:  # fmt: skip
    """The rule made of a node that is too large to be copied, made at first need."""
    if rule_of[node] < 0:
        rule = counts[RULES]
        counts[RULES] = rule + 1
        rule_of[node] = rule
        first, last = new_state(counts), new_state(counts)
        rule_starts[rule] = first
        rule_bodies[rule] = node
        flags[last] |= FINAL
        add_task(counts, agenda, node, first, last)
    return rule_of[node]


@subroutine
def emit_repeat(
    counts: Int64Array, edges: Int32Array, calls: Int32Array, agenda: Int32Array, capacities: Int32Array,
    flags: Int32Array, table: Int64Array, body: int, rule: int, minimum: int, maximum: int, source: int, target: int,
) -> None:  # fmt: skip
    """A chain of fresh states, one for each time the body was read, with a loop at its end when it is unbounded."""
    copies = copies_of_repeat(minimum, maximum)
    here = new_state(counts)
    add_edge(counts, edges, source, 1, 0, here)
    for index in range(copies + 1):
        if index >= minimum:
            add_edge(counts, edges, here, 1, 0, target)
        if index == copies:
            break
        looping = maximum == UNBOUNDED and index == copies - 1
        after = here if looping else new_state(counts)
        if rule >= 0:
            row = counts[CALLS]
            calls[row, 0] = here
            calls[row, 1] = rule
            calls[row, 2] = after
            counts[CALLS] = row + 1
        else:
            add_task(counts, agenda, body, here, after)
        if table[body, COVERS_TEXT]:
            capacities[here] = UNBOUNDED_CAPACITY if maximum == UNBOUNDED else maximum - index
            if not table[body, ONLY_TEXT_CHARACTER]:
                flags[here] |= TAKES_TEXT
        if looping:
            break
        here = after


@kernel
def emit_all(
    nodes: Int32Array, children: Int32Array, data: npt.NDArray[np.uint8], fragments: Int32Array,
    fragment_states: Int32Array, fragment_edges: Int32Array, rules: Int32Array, start: int, table: Int64Array,
    reachable: npt.NDArray[np.bool_],
    open_offsets: Int32Array, open_table: Int32Array, canonical_offsets: Int32Array, canonical_table: Int32Array,
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array]:  # fmt: skip
    """Emit the rules in use and the start node, which becomes rule R; bodies of repeats may become further rules.

    Returns edges (E, 3): source, span or -1, target; calls (C, 3): source, rule (or -1 - node of a step), return
    state; first state and body node of each rule; capacity and flags of each state.
    """
    num_rules = len(rules) + 1
    sizes = np.zeros(4, np.int64)
    for rule in range(num_rules):
        if rule < len(rules) and not reachable[rule]:
            continue
        body = start if rule == len(rules) else rules[rule]
        for column in range(4):
            sizes[column] += table[body, column]
    most_states = sizes[NUM_STATES] + 2 * num_rules + 2
    counts = np.zeros(NUM_COUNTS, np.int64)
    edges = np.empty((sizes[NUM_EDGES] + sizes[NUM_EPSILONS] + 1, 3), np.int32)
    calls = np.empty((sizes[NUM_CALLS] + 1, 3), np.int32)
    agenda = np.empty(
        (most_states + sizes[NUM_EDGES] + sizes[NUM_CALLS] + sizes[NUM_EPSILONS] + num_rules + 1, 3), np.int32
    )
    capacities = np.zeros(most_states, np.int32)
    flags = np.zeros(most_states, np.int32)
    rule_of = np.full(len(nodes), -1, np.int32)
    rule_starts = np.empty(num_rules + len(nodes), np.int32)
    rule_bodies = np.empty(num_rules + len(nodes), np.int32)
    counts[RULES] = num_rules
    for rule in range(num_rules):
        rule_starts[rule] = 0
        rule_bodies[rule] = start if rule == len(rules) else rules[rule]
        if rule < len(rules) and not reachable[rule]:
            continue
        first, last = new_state(counts), new_state(counts)
        rule_starts[rule] = first
        flags[last] |= FINAL
        add_task(counts, agenda, rule_bodies[rule], first, last)
    while counts[AGENDA] > 0:
        counts[AGENDA] -= 1
        row = counts[AGENDA]
        node, source, target = agenda[row, 0], agenda[row, 1], agenda[row, 2]
        kind, a, b, c = nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3]
        if kind == _EPSILON:
            add_edge(counts, edges, source, 1, 0, target)
        elif kind == _LITERAL:
            emit_literal(counts, edges, data[a : a + b], source, target)
        elif kind == _LITERALS:
            emit_literals(counts, edges, nodes, data, children[a : a + b], source, target)
        elif kind == _STRINGS:
            offsets = open_offsets if c & EVERY_SPELLING else canonical_offsets
            character = open_table if c & EVERY_SPELLING else canonical_table
            members = children[a : a + b]
            emit_strings(counts, edges, capacities, nodes, data, members, offsets, character, c, source, target)
        elif kind == _FRAGMENT:
            pieces = fragment_edges[fragments[a] : fragments[a + 1]]
            emit_fragment(counts, edges, fragment_states[a], pieces, source, target)
        elif kind == _SEQUENCE:
            for index in range(b):
                after = target if index == b - 1 else new_state(counts)
                add_task(counts, agenda, children[a + index], source, after)
                source = after
        elif kind == _ALTERNATION:
            for index in range(b):
                add_task(counts, agenda, children[a + index], source, target)
        elif kind == _REPEAT:
            rule = -1
            if table[node, THROUGH_RULE]:
                rule = rule_of_node(counts, agenda, rule_of, rule_starts, rule_bodies, flags, a)
            emit_repeat(counts, edges, calls, agenda, capacities, flags, table, a, rule, b, c, source, target)
        elif kind in (_CALL, _GUARD, _REGISTER):
            row = counts[CALLS]
            calls[row, 0] = source
            calls[row, 1] = a if kind == _CALL else -1 - node
            calls[row, 2] = target
            counts[CALLS] = row + 1
    num_rules, num_states = counts[RULES], counts[STATES]
    return (
        edges[: counts[EDGES]], calls[: counts[CALLS]], rule_starts[:num_rules], rule_bodies[:num_rules],
        capacities[:num_states], flags[:num_states],
    )  # fmt: skip
