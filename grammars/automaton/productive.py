"""Which states lead to the end of their rule, and dropping the edges into those that do not.

What is left is such that every configuration the machine can reach has a way to a complete text, so a mask never
allows a byte that ends in a dead end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import Int32Array
from ..jit import kernel
from .memory import FINAL

__all__ = ["drop_unproductive", "reach_end"]

BoolArray = npt.NDArray[np.bool_]
NOTHING = -1
"""As the callee of a call: a guard or work on a register, which reads nothing. As its return state: the end."""


@kernel
def order_by(keys: Int32Array, num_keys: int) -> tuple[Int32Array, Int32Array]:
    """Rows by their key: ``rows[offsets[key] : offsets[key + 1]]``; rows with a negative key are left out."""
    offsets = np.zeros(num_keys + 2, np.int32)
    for key in keys:
        if key >= 0:
            offsets[key + 2] += 1
    for key in range(num_keys + 1):
        offsets[key + 1] += offsets[key]
    rows = np.empty(len(keys), np.int32)
    for row in range(len(keys)):
        if keys[row] >= 0:
            rows[offsets[keys[row] + 1]] = row
            offsets[keys[row] + 1] += 1
    return offsets, rows


@kernel
def reach_end(
    final: BoolArray, sources: Int32Array, targets: Int32Array, callers: Int32Array, callees: Int32Array,
    backs: Int32Array,
) -> BoolArray:  # fmt: skip
    """(S,) whether the end of the rule can be reached from a state: the least fixpoint, each edge looked at once.

    Edges lead from ``sources`` to ``targets``; a call at ``callers`` goes through ``callees`` (first states) to
    ``backs``; see NOTHING.
    """
    num_states = len(final)
    by_target, edges = order_by(targets, num_states)
    by_callee, calls_of = order_by(callees, num_states)
    by_back, calls_to = order_by(backs, num_states)
    reaches = final.copy()
    todo = np.empty(num_states, np.int32)
    count = 0
    for state in range(num_states):
        if reaches[state]:
            todo[count] = state
            count += 1
    for call in range(len(callers)):
        if callees[call] < 0 and backs[call] < 0 and not reaches[callers[call]]:
            reaches[callers[call]] = True
            todo[count] = callers[call]
            count += 1
    while count > 0:
        count -= 1
        state = todo[count]
        for place in range(by_target[state], by_target[state + 1]):
            source = sources[edges[place]]
            if not reaches[source]:
                reaches[source] = True
                todo[count] = source
                count += 1
        for kind in range(2):
            offsets = by_callee if kind == 0 else by_back
            rows = calls_of if kind == 0 else calls_to
            for place in range(offsets[state], offsets[state + 1]):
                call = rows[place]
                callee, back = callees[call], backs[call]
                if (callee < 0 or reaches[callee]) and (back < 0 or reaches[back]) and not reaches[callers[call]]:
                    reaches[callers[call]] = True
                    todo[count] = callers[call]
                    count += 1
    return reaches


def drop_unproductive(
    edges: Int32Array, calls: Int32Array, rule_starts: Int32Array, flags: Int32Array
) -> tuple[Int32Array, Int32Array]:
    """The byte and epsilon edges, and the calls, that lie on a way to the end of their rule."""
    callees = np.where(calls[:, 1] < 0, np.int32(NOTHING), rule_starts[np.maximum(calls[:, 1], 0)])
    columns = [np.ascontiguousarray(column) for column in (edges[:, 0], edges[:, 2], calls[:, 0], callees, calls[:, 2])]
    productive = reach_end(flags & FINAL != 0, *columns)
    matches = (callees < 0) | productive[callees]
    return edges[productive[edges[:, 2]]], calls[productive[calls[:, 2]] & matches]
