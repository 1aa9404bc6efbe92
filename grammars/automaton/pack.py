"""The last step to a network: shorten epsilon chains, order edges by state, and lay all of it out as words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import Int32Array
from ..jit import kernel, subroutine
from .measure import reads_text
from .memory import (
    END_CALL,
    END_EDGE,
    END_EPSILON,
    FINAL,
    FIRST_CALL,
    FIRST_EDGE,
    FIRST_EPSILON,
    STATE_CAPACITY,
    STATE_FLAGS,
    STATE_WORDS,
    TAKES_TEXT,
)

__all__ = ["forward_states", "pack"]

BoolArray = npt.NDArray[np.bool_]


@subroutine
def forward_states(
    num_states: int, edges: Int32Array, calls: Int32Array, flags: Int32Array, capacities: Int32Array
) -> Int32Array:
    """For each state, the state that stands in for it: where its only way on, an epsilon edge, leads in the end."""
    ways = np.zeros(num_states, np.int32)
    only = np.arange(num_states).astype(np.int32)
    for row in range(len(edges)):
        source = edges[row, 0]
        ways[source] += 1 if edges[row, 1] < 0 else 2
        if edges[row, 1] < 0:
            only[source] = edges[row, 2]
    for call in range(len(calls)):
        ways[calls[call, 0]] += 2
    for state in range(num_states):
        if ways[state] != 1 or flags[state] & FINAL or capacities[state] > 0:
            only[state] = state
    for state in range(num_states):
        end = state
        steps = 0
        while only[end] != end and steps < num_states:  # a cycle of epsilon edges stays as it is
            end = only[end]
            steps += 1
        here = state
        while only[here] != here and only[here] != end and steps < num_states:
            here, only[here] = only[here], end
        only[state] = end if steps < num_states else state
    return only


@subroutine
def count_by_state(num_states: int, edges: Int32Array, calls: Int32Array) -> Int32Array:
    """(S + 1, 3) where the byte edges, epsilon edges and calls of each state begin, once ordered by state."""
    offsets = np.zeros((num_states + 1, 3), np.int32)
    for row in range(len(edges)):
        offsets[edges[row, 0] + 1, 1 if edges[row, 1] < 0 else 0] += 1
    for row in range(len(calls)):
        offsets[calls[row, 0] + 1, 2] += 1
    for state in range(num_states):
        for kind in range(3):
            offsets[state + 1, kind] += offsets[state, kind]
    return offsets


@subroutine
def mark_text(
    states: Int32Array,
    byte_edges: Int32Array,
    calls: Int32Array,
    order: Int32Array,
    rule_starts: Int32Array,
    neutral: BoolArray,
) -> None:
    """Set TAKES_TEXT where string text has a way that no capacity speaks of.

    A rule that is just one character of text (``neutral``) is spoken for by its callers that have a capacity; a
    caller without one takes text itself.
    """
    is_neutral_start = np.zeros(len(states), np.bool_)
    for rule in range(len(rule_starts)):
        if neutral[rule]:
            is_neutral_start[rule_starts[rule]] = True
    for state in range(len(states)):
        record = states[state]
        if record[STATE_CAPACITY] > 0 or is_neutral_start[state]:
            continue
        takes = False
        for edge in range(record[FIRST_EDGE], record[END_EDGE]):
            span = byte_edges[edge, 0]
            takes = takes or reads_text(span & 0xFF, span >> 8)
        for call in order[record[FIRST_CALL] : record[END_CALL]]:
            takes = takes or (calls[call, 1] >= 0 and neutral[calls[call, 1]])
        if takes:
            record[STATE_FLAGS] |= TAKES_TEXT


@kernel
def pack(
    edges: Int32Array, calls: Int32Array, rule_starts: Int32Array, capacities: Int32Array, flags: Int32Array,
    neutral: BoolArray,
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array]:  # fmt: skip
    """The arenas of a network: states (S, STATE_WORDS), byte edges (E, 2), epsilon edges (P,), call edges (C, 2)."""
    num_states = len(flags)
    forward = forward_states(num_states, edges, calls, flags, capacities)
    offsets = count_by_state(num_states, edges, calls)
    states = np.zeros((num_states, STATE_WORDS), np.int32)
    for state in range(num_states):
        states[state, FIRST_EDGE], states[state, END_EDGE] = offsets[state, 0], offsets[state + 1, 0]
        states[state, FIRST_EPSILON], states[state, END_EPSILON] = offsets[state, 1], offsets[state + 1, 1]
        states[state, FIRST_CALL], states[state, END_CALL] = offsets[state, 2], offsets[state + 1, 2]
        states[state, STATE_FLAGS] = flags[state]
        states[state, STATE_CAPACITY] = capacities[state]
    byte_edges = np.empty((offsets[num_states, 0], 2), np.int32)
    epsilon_edges = np.empty(offsets[num_states, 1], np.int32)
    for row in range(len(edges)):
        source, span, target = edges[row, 0], edges[row, 1], forward[edges[row, 2]]
        if span < 0:
            epsilon_edges[offsets[source, 1]] = target
            offsets[source, 1] += 1
        else:
            place = offsets[source, 0]
            byte_edges[place, 0] = span
            byte_edges[place, 1] = target
            offsets[source, 0] = place + 1
    call_order = np.empty(len(calls), np.int32)
    for row in range(len(calls)):
        call_order[offsets[calls[row, 0], 2]] = row
        offsets[calls[row, 0], 2] += 1
    call_edges = np.empty((len(calls), 2), np.int32)
    for place in range(len(calls)):
        row = call_order[place]
        back = forward[calls[row, 2]]
        if calls[row, 1] < 0:
            call_edges[place, 0] = calls[row, 1]
            call_edges[place, 1] = back
            continue
        record = states[back]
        ends_there = record[STATE_FLAGS] & FINAL and (
            record[FIRST_EDGE] == record[END_EDGE]
            and record[FIRST_EPSILON] == record[END_EPSILON]
            and record[FIRST_CALL] == record[END_CALL]
        )
        call_edges[place, 0] = forward[rule_starts[calls[row, 1]]]
        call_edges[place, 1] = -1 if ends_there else back
    mark_text(states, byte_edges, calls, call_order, rule_starts, neutral)
    return states, byte_edges, epsilon_edges, call_edges
