"""Which states lead to the end of their rule, and dropping the edges into those that do not.

What is left is such that every configuration the machine can reach has a way to a complete text, so a mask never
allows a byte that ends in a dead end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import Int32Array
from ..jit import inlined, kernel
from .memory import FINAL

__all__ = ["drop_unproductive", "reach_end"]

BoolArray = npt.NDArray[np.bool_]
NOTHING = -1
"""As the callee of a call: a guard or work on a register, which reads nothing. As its return state: the end."""


@kernel
def order_rows(keys: Int32Array, offsets: Int32Array, rows: Int32Array) -> None:
    """Rows by their key: ``rows[offsets[key] : offsets[key + 1]]``; rows with a negative key are left out.

    ``offsets`` (keys + 2,) comes as zeros.
    """
    for row in range(len(keys)):
        if keys[row] >= 0:
            offsets[keys[row] + 2] += 1
    for key in range(len(offsets) - 1):
        offsets[key + 1] += offsets[key]
    for row in range(len(keys)):
        if keys[row] >= 0:
            rows[offsets[keys[row] + 1]] = row
            offsets[keys[row] + 1] += 1


@inlined
def mark(reaches: BoolArray, todo: Int32Array, count: int, state: int) -> int:
    """Note that a state reaches the end; how many are to do."""
    if reaches[state]:
        return count
    reaches[state] = True
    todo[count] = state
    return count + 1


@kernel
def spread_back(
    reaches: BoolArray, todo: Int32Array, count: int, sources: Int32Array, callers: Int32Array, callees: Int32Array,
    backs: Int32Array, by_target: Int32Array, edges: Int32Array, by_callee: Int32Array, calls_of: Int32Array,
    by_back: Int32Array, calls_to: Int32Array,
) -> None:  # fmt: skip
    """From the states in ``todo[:count]``, set ``reaches`` wherever they can be reached from: each edge once."""
    for call in range(len(callers)):
        if callees[call] < 0 and backs[call] < 0:
            count = mark(reaches, todo, count, callers[call])
    while count > 0:
        count -= 1
        state = todo[count]
        for place in range(by_target[state], by_target[state + 1]):
            count = mark(reaches, todo, count, sources[edges[place]])
        for place in range(by_callee[state], by_callee[state + 1]):
            call = calls_of[place]
            if backs[call] < 0 or reaches[backs[call]]:
                count = mark(reaches, todo, count, callers[call])
        for place in range(by_back[state], by_back[state + 1]):
            call = calls_to[place]
            if callees[call] < 0 or reaches[callees[call]]:
                count = mark(reaches, todo, count, callers[call])


def order_by(keys: Int32Array, num_keys: int) -> tuple[Int32Array, Int32Array]:
    """Offsets and rows, see :func:`order_rows`."""
    offsets, rows = np.zeros(num_keys + 2, np.int32), np.empty(len(keys), np.int32)
    order_rows(keys, offsets, rows)
    return offsets, rows


def reach_end(
    final: BoolArray, sources: Int32Array, targets: Int32Array, callers: Int32Array, callees: Int32Array,
    backs: Int32Array,
) -> BoolArray:  # fmt: skip
    """(S,) whether the end of the rule can be reached from a state: the least fixpoint.

    Edges lead from ``sources`` to ``targets``; a call at ``callers`` goes through ``callees`` (first states) to
    ``backs``; see NOTHING.
    """
    num_states = len(final)
    reaches, todo = final.copy(), np.zeros(num_states, np.int32)
    first = np.flatnonzero(final)
    todo[: len(first)] = first
    orders = (array for keys in (targets, callees, backs) for array in order_by(keys, num_states))
    spread_back(reaches, todo, len(first), sources, callers, callees, backs, *orders)
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
