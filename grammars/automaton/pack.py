"""The last step to a network: shorten epsilon chains, order edges by state, and lay all of it out as words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import Int32Array
from ..jit import inlined, kernel
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

__all__ = ["pack"]

BoolArray = npt.NDArray[np.bool_]


@kernel
def find_forward(
    edges: Int32Array, calls: Int32Array, flags: Int32Array, capacities: Int32Array, ways: Int32Array,
    forward: Int32Array,
) -> None:  # fmt: skip
    """For each state, the state that stands in for it: where its only way on, an epsilon edge, leads in the end.

    ``ways`` (S,) is scratch, zeros.
    """
    num_states = len(flags)
    for row in range(len(edges)):
        source = edges[row, 0]
        ways[source] += 1 if edges[row, 1] < 0 else 2
        if edges[row, 1] < 0:
            forward[source] = edges[row, 2]
    for row in range(len(calls)):
        ways[calls[row, 0]] += 2
    for state in range(num_states):
        if ways[state] != 1 or flags[state] & FINAL or capacities[state] > 0:
            forward[state] = state
    for state in range(num_states):
        end = state
        steps = 0
        while forward[end] != end and steps < num_states:  # a cycle of epsilon edges stays as it is
            end = forward[end]
            steps += 1
        here = state
        while forward[here] != here and forward[here] != end and steps < num_states:
            after = forward[here]
            forward[here] = end
            here = after
        forward[state] = end if steps < num_states else state


@kernel
def place_edges(
    edges: Int32Array, calls: Int32Array, forward: Int32Array, states: Int32Array,
    byte_edges: Int32Array, epsilon_edges: Int32Array, call_edges: Int32Array,
) -> int:  # fmt: skip
    """Order edges and calls by state, and enter in ``states`` (zeros) where those of each are; how many byte edges.

    Calls become (rule, return state) for the time being.
    """
    for row in range(len(edges)):
        states[edges[row, 0], END_EPSILON if edges[row, 1] < 0 else END_EDGE] += 1
    for row in range(len(calls)):
        states[calls[row, 0], END_CALL] += 1
    num_edges = num_epsilons = num_calls = 0
    for state in range(len(states)):  # the ends move as the edges are placed
        states[state, FIRST_EDGE] = num_edges
        num_edges += states[state, END_EDGE]
        states[state, END_EDGE] = states[state, FIRST_EDGE]
        states[state, FIRST_EPSILON] = num_epsilons
        num_epsilons += states[state, END_EPSILON]
        states[state, END_EPSILON] = states[state, FIRST_EPSILON]
        states[state, FIRST_CALL] = num_calls
        num_calls += states[state, END_CALL]
        states[state, END_CALL] = states[state, FIRST_CALL]
    for row in range(len(edges)):
        source, span, target = edges[row, 0], edges[row, 1], forward[edges[row, 2]]
        if span < 0:
            epsilon_edges[states[source, END_EPSILON]] = target
            states[source, END_EPSILON] += 1
        else:
            place = states[source, END_EDGE]
            byte_edges[place, 0] = span
            byte_edges[place, 1] = target
            states[source, END_EDGE] = place + 1
    for row in range(len(calls)):
        source = calls[row, 0]
        place = states[source, END_CALL]
        call_edges[place, 0] = calls[row, 1]
        call_edges[place, 1] = forward[calls[row, 2]]
        states[source, END_CALL] = place + 1
    return num_edges


@inlined
def just_ends(states: Int32Array, state: int) -> bool:
    """Whether the end of its rule is all there is at a state."""
    return (
        states[state, STATE_FLAGS] & FINAL != 0
        and states[state, FIRST_EDGE] == states[state, END_EDGE]
        and states[state, FIRST_EPSILON] == states[state, END_EPSILON]
        and states[state, FIRST_CALL] == states[state, END_CALL]
    )


@kernel
def finish_states(
    states: Int32Array, byte_edges: Int32Array, call_edges: Int32Array, rule_starts: Int32Array, forward: Int32Array,
    neutral: BoolArray, spoken_for: BoolArray,
) -> None:  # fmt: skip
    """Let calls lead to the first state of the rule, and set TAKES_TEXT where text has a way without a capacity.

    A rule that is just one character of text (``neutral``, by rule; ``spoken_for``, by first state) is spoken for by
    its callers that have a capacity; a caller without one takes text itself.
    """
    for state in range(len(states)):
        takes = False
        for edge in range(states[state, FIRST_EDGE], states[state, END_EDGE]):
            span = byte_edges[edge, 0]
            takes = takes or reads_text(span & 0xFF, span >> 8)
        for call in range(states[state, FIRST_CALL], states[state, END_CALL]):
            rule, back = call_edges[call, 0], call_edges[call, 1]
            if rule >= 0:
                takes = takes or neutral[rule]
                call_edges[call, 0] = forward[rule_starts[rule]]
                if just_ends(states, back):
                    call_edges[call, 1] = -1
        if takes and states[state, STATE_CAPACITY] == 0 and not spoken_for[state]:
            states[state, STATE_FLAGS] |= TAKES_TEXT


def pack(
    edges: Int32Array, calls: Int32Array, rule_starts: Int32Array, capacities: Int32Array, flags: Int32Array,
    neutral: BoolArray,
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array]:  # fmt: skip
    """The arenas of a network: states (S, STATE_WORDS), byte edges (E, 2), epsilon edges (P,), call edges (C, 2)."""
    num_states, num_edges = len(flags), len(edges)
    states = np.zeros((num_states, STATE_WORDS), np.int32)
    byte_edges, epsilon_edges = np.empty((num_edges, 2), np.int32), np.empty(num_edges, np.int32)
    call_edges = np.empty((len(calls), 2), np.int32)
    forward, spoken_for = np.empty(num_states, np.int32), np.zeros(num_states, np.bool_)
    find_forward(edges, calls, flags, capacities, np.zeros(num_states, np.int32), forward)
    count = place_edges(edges, calls, forward, states, byte_edges, epsilon_edges, call_edges)
    states[:, STATE_FLAGS], states[:, STATE_CAPACITY] = flags, capacities
    spoken_for[rule_starts[neutral]] = True
    finish_states(states, byte_edges, call_edges, rule_starts, forward, neutral, spoken_for)
    return states, byte_edges[:count], epsilon_edges[: num_edges - count], call_edges
