"""From IR to an automaton with calls: every node becomes paths from one state to another.

The invariant that makes sharing states safe: ``emit(node, source, target)`` adds no edge into ``source`` and none
out of ``target``. A repeat, which needs loops, makes fresh states of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..ir.json_character import character_table
from ..ir.nodes import IR, UNBOUNDED, Int32Array, Kind
from ..jit import inlined, kernel, subroutine
from .draft import (
    BUFFER,
    BUFFER_WORDS,
    CALL_ROWS,
    CALL_WORDS,
    CALLS,
    CAPACITIES,
    EDGE_ROWS,
    EDGE_WORDS,
    EDGES,
    FLAGS,
    GRAPH,
    GRAPH_WORDS,
    LINK_WORDS,
    LINKS,
    RULE_BODIES,
    RULE_OF,
    RULE_STARTS,
    RULES,
    STATES,
    TASK_ROWS,
    TASK_WORDS,
    TASKS,
    Draft,
    add_call,
    add_edge,
    add_task,
    new_draft,
    new_state,
    rows_of,
)
from .emit_strings import EVERY_SPELLING, MOST_STATES_A_BYTE, ONLY_ASCII, emit_strings
from .measure import (
    COVERS_TEXT,
    LONGEST_LITERAL,
    MOST_STRING_BYTES,
    NUM_CALLS,
    NUM_EDGES,
    NUM_EPSILONS,
    NUM_STATES,
    ONLY_TEXT_CHARACTER,
    THROUGH_RULE,
    Measures,
    copies_of_repeat,
)
from .memory import FINAL, TAKES_TEXT, UNBOUNDED_CAPACITY

__all__ = ["Emitted", "emit"]

_EPSILON, _LITERAL, _FRAGMENT = int(Kind.EPSILON), int(Kind.LITERAL), int(Kind.FRAGMENT)
_SEQUENCE, _ALTERNATION, _REPEAT = int(Kind.SEQUENCE), int(Kind.ALTERNATION), int(Kind.REPEAT)
_CALL, _LITERALS, _STRINGS = int(Kind.CALL), int(Kind.LITERALS), int(Kind.JSON_STRINGS)
_GUARD, _REGISTER, _VERBATIM = int(Kind.GUARD), int(Kind.REGISTER), int(Kind.VERBATIM)


@subroutine
def emit_literal(draft: Draft, data: Int32Array, first: int, end: int, source: int, target: int) -> None:
    """A chain of single bytes."""
    for index in range(first, end):
        after = target if index == end - 1 else new_state(draft)
        add_edge(draft, source, data[index], data[index], after)
        source = after


@subroutine
def emit_literals(
    draft: Draft, nodes: Int32Array, data: Int32Array, children: Int32Array, first: int, end: int, source: int,
    target: int,
) -> None:  # fmt: skip
    """A trie of the sorted, distinct texts ``children[first:end]``."""
    path = draft[BUFFER]  # the state at each depth
    draft[path] = source
    before = length_before = 0
    for index in range(first, end):
        text, length = nodes[children[index], 1], nodes[children[index], 2]
        shared = 0
        while shared < length_before and shared < length and data[before + shared] == data[text + shared]:
            shared += 1
        is_prefix = False  # of the next text: then its end has a way on
        if index + 1 < end and nodes[children[index + 1], 2] > length:
            other = nodes[children[index + 1], 1]
            is_prefix = True
            for position in range(length):
                is_prefix = is_prefix and data[other + position] == data[text + position]
        for position in range(shared, length):
            last = position == length - 1 and not is_prefix
            after = target if last else new_state(draft)
            draft[path + position + 1] = after
            byte = data[text + position]
            add_edge(draft, draft[path + position], byte, byte, after)
        if is_prefix:
            add_edge(draft, draft[path + length], 1, 0, target)
        before, length_before = text, length


@subroutine
def emit_fragment(
    draft: Draft, num_states: int, pieces: Int32Array, first: int, end: int, source: int, target: int
) -> None:
    """A finite automaton, its states renamed: 0 is the source, 1 the target."""
    shift = draft[STATES] - 2
    for _ in range(num_states - 2):
        new_state(draft)
    for row in range(first, end):
        start, last = pieces[row, 0], pieces[row, 3]
        start = source if start == 0 else shift + start
        last = target if last == 1 else shift + last
        add_edge(draft, start, pieces[row, 1], pieces[row, 2], last)


@subroutine
def open_rule(draft: Draft, rule: int, node: int) -> None:
    """Give a rule its first and last state, and leave its body for later."""
    first, last = new_state(draft), new_state(draft)
    draft[draft[RULE_STARTS] + rule] = first
    draft[draft[FLAGS] + last] = FINAL
    add_task(draft, node, first, last)


@subroutine
def rule_of_node(draft: Draft, node: int) -> int:
    """The rule made of a node that is too large to be copied, made at first need."""
    known = draft[RULE_OF] + node
    if draft[known] < 0:
        rule = draft[RULES]
        draft[RULES] = rule + 1
        draft[known] = rule
        draft[draft[RULE_BODIES] + rule] = node
        open_rule(draft, rule, node)
    return draft[known]


@subroutine
def emit_repeat(
    draft: Draft, table: Measures, node: int, body: int, minimum: int, maximum: int, source: int, target: int
) -> None:
    """A chain of fresh states, one for each time the body was read, with a loop at its end when it is unbounded."""
    rule = rule_of_node(draft, body) if table[node, THROUGH_RULE] else -1
    copies = copies_of_repeat(minimum, maximum)
    here = new_state(draft)
    add_edge(draft, source, 1, 0, here)
    for index in range(copies + 1):
        if index >= minimum:
            add_edge(draft, here, 1, 0, target)
        if index == copies:
            break
        looping = maximum == UNBOUNDED and index == copies - 1
        after = here if looping else new_state(draft)
        if rule >= 0:
            add_call(draft, here, rule, after)
        else:
            add_task(draft, body, here, after)
        if table[body, COVERS_TEXT]:
            draft[draft[CAPACITIES] + here] = UNBOUNDED_CAPACITY if maximum == UNBOUNDED else maximum - index
            if not table[body, ONLY_TEXT_CHARACTER]:
                draft[draft[FLAGS] + here] |= TAKES_TEXT
        if looping:
            break
        here = after


@inlined
def note_text_ahead(draft: Draft, characters: int, state: int) -> None:
    """So many characters of string text may follow in a state, which the edges there are a way for themselves."""
    draft[draft[CAPACITIES] + state] = UNBOUNDED_CAPACITY if characters == UNBOUNDED else characters
    draft[draft[FLAGS] + state] |= TAKES_TEXT


@kernel
def emit_all(
    draft: Draft, nodes: Int32Array, children: Int32Array, data: Int32Array, fragments: Int32Array,
    fragment_states: Int32Array, fragment_edges: Int32Array, rules: Int32Array, start: int, table: Measures,
    reachable: npt.NDArray[np.bool_],
    open_offsets: Int32Array, open_table: Int32Array, canonical_offsets: Int32Array, canonical_table: Int32Array,
    open_ascii_offsets: Int32Array, open_ascii_table: Int32Array, ascii_offsets: Int32Array, ascii_table: Int32Array,
) -> None:  # fmt: skip
    """Emit the rules in use and the start node, which becomes rule R; bodies of repeats may become further rules."""
    for node in range(len(nodes)):
        draft[draft[RULE_OF] + node] = -1
    draft[RULES] = len(rules) + 1
    for rule in range(len(rules) + 1):
        is_start = rule == len(rules)
        body = start if is_start else rules[rule]
        draft[draft[RULE_STARTS] + rule] = 0
        draft[draft[RULE_BODIES] + rule] = body
        if is_start or reachable[rule]:
            open_rule(draft, rule, body)
    while draft[TASKS] > 0:
        draft[TASKS] -= 1
        row = draft[TASK_ROWS] + TASK_WORDS * draft[TASKS]
        node, source, target = draft[row], draft[row + 1], draft[row + 2]
        kind, a, b, c = nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3]
        if kind == _EPSILON:
            add_edge(draft, source, 1, 0, target)
            if a != 0:
                note_text_ahead(draft, a, target)
        elif kind == _LITERAL:
            emit_literal(draft, data, a, a + b, source, target)
        elif kind == _LITERALS:
            emit_literals(draft, nodes, data, children, a, a + b, source, target)
        elif kind == _STRINGS and c & ONLY_ASCII and c & EVERY_SPELLING:
            emit_strings(
                draft, nodes, data, children, a, a + b, open_ascii_offsets, open_ascii_table, c, source, target
            )
        elif kind == _STRINGS and c & ONLY_ASCII:
            emit_strings(draft, nodes, data, children, a, a + b, ascii_offsets, ascii_table, c, source, target)
        elif kind == _STRINGS and c & EVERY_SPELLING:
            emit_strings(draft, nodes, data, children, a, a + b, open_offsets, open_table, c, source, target)
        elif kind == _STRINGS:
            emit_strings(draft, nodes, data, children, a, a + b, canonical_offsets, canonical_table, c, source, target)
        elif kind == _FRAGMENT:
            emit_fragment(draft, fragment_states[a], fragment_edges, fragments[a], fragments[a + 1], source, target)
        elif kind == _SEQUENCE:
            for index in range(b):
                after = target if index == b - 1 else new_state(draft)
                add_task(draft, children[a + index], source, after)
                source = after
        elif kind == _ALTERNATION:
            for index in range(b):
                add_task(draft, children[a + index], source, target)
        elif kind == _REPEAT:
            emit_repeat(draft, table, node, a, b, c, source, target)
        elif kind in (_CALL, _GUARD, _REGISTER, _VERBATIM):
            add_call(draft, source, a if kind == _CALL else -1 - node, target)


class Emitted(NamedTuple):
    """What :func:`emit` makes: S states, R rules and more that were made of bodies of repeats."""

    edges: Int32Array
    """(E, 3): source; low | high << 8, or -1 for an epsilon edge; target."""
    calls: Int32Array
    """(C, 3): source; rule, or -1 - node of a step; return state."""
    rule_starts: Int32Array
    """The first state of each rule."""
    rule_bodies: Int32Array
    """The node of each rule."""
    capacities: Int32Array
    """(S,)"""
    flags: Int32Array
    """(S,)"""


def emit(ir: IR, table: Measures, reachable: npt.NDArray[np.bool_]) -> Emitted:
    """Emit the rules of ``ir`` that are in use, and its start node as rule R."""
    num_nodes, num_rules = len(ir.nodes), len(ir.rules)
    totals = table[num_nodes].tolist()
    num_states = totals[NUM_STATES] + 2 * num_rules + 2
    num_edges = totals[NUM_EDGES] + totals[NUM_EPSILONS] + 1
    num_calls = totals[NUM_CALLS] + 1
    graph_size = MOST_STATES_A_BYTE * totals[MOST_STRING_BYTES] + 1
    draft = new_draft({
        CAPACITIES: num_states,
        FLAGS: num_states,
        RULE_STARTS: num_rules + 1 + num_nodes,
        RULE_BODIES: num_rules + 1 + num_nodes,
        RULE_OF: num_nodes,
        BUFFER: max(BUFFER_WORDS, totals[LONGEST_LITERAL] + 1),
        GRAPH: GRAPH_WORDS * graph_size,
        LINKS: 2 * LINK_WORDS * graph_size,
        TASK_ROWS: TASK_WORDS * (num_states + num_edges + num_calls + num_rules),
        CALL_ROWS: CALL_WORDS * num_calls,
        EDGE_ROWS: EDGE_WORDS * num_edges,
    })  # fmt: skip
    data = ir.data.astype(np.int32)
    emit_all(
        draft, ir.nodes, ir.children, data, ir.fragments, ir.fragment_states, ir.fragment_edges, ir.rules, ir.start,
        table, reachable, *character_table(True), *character_table(False), *character_table(True, True),
        *character_table(False, True),
    )  # fmt: skip
    return Emitted(
        rows_of(draft, EDGE_ROWS, EDGES, EDGE_WORDS),
        rows_of(draft, CALL_ROWS, CALLS, CALL_WORDS),
        rows_of(draft, RULE_STARTS, RULES),
        rows_of(draft, RULE_BODIES, RULES),
        rows_of(draft, CAPACITIES, STATES),
        rows_of(draft, FLAGS, STATES),
    )
