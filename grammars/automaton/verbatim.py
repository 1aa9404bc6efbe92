"""Stepping through documents: the states of suffix automata, as a machine has them behind those of its network.

A configuration may hold such states like any others; they are told by their numbers, from FIRST_VERBATIM on. A step
looks a byte up among the state's edges, sorted by byte; leaving a document ends a rule. Only the arenas VERBATIM_STATES
and VERBATIM_EDGES are read, and never written.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import Int32Array
from ..jit import inlined, kernel, subroutine
from .memory import (
    FIRST_VERBATIM,
    VERBATIM_EDGES,
    VERBATIM_MASK,
    VERBATIM_SHIFT,
    VERBATIM_STATES,
    Memory,
)

__all__ = ["first_way", "last_way", "may_leave", "read", "spread_writable"]


@inlined
def first_way(memory: Memory, state: int) -> int:
    """Where a state's edges begin in VERBATIM_EDGES."""
    return memory[memory[VERBATIM_STATES] + state - memory[FIRST_VERBATIM]] >> 1


@inlined
def last_way(memory: Memory, state: int) -> int:
    """Where a state's edges end."""
    return memory[memory[VERBATIM_STATES] + state - memory[FIRST_VERBATIM] + 1] >> 1


@inlined
def may_leave(memory: Memory, state: int) -> bool:
    """Whether a unit of the document ends here, somewhere."""
    return memory[memory[VERBATIM_STATES] + state - memory[FIRST_VERBATIM]] & 1 != 0


@subroutine
def read(memory: Memory, state: int, byte: int) -> int:
    """The state behind a byte, -1 if the document never goes on like this."""
    edges = memory[VERBATIM_EDGES]
    low, end = edges + first_way(memory, state), edges + last_way(memory, state)
    high = end
    wanted = byte << VERBATIM_SHIFT
    while low < high:
        middle = (low + high) >> 1
        if memory[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < end and memory[low] >> VERBATIM_SHIFT == byte:
        return memory[FIRST_VERBATIM] + (memory[low] & VERBATIM_MASK)
    return -1


@kernel
def spread_writable(
    states: Int32Array, edges: Int32Array, singles: npt.NDArray[np.bool_], writable: npt.NDArray[np.bool_]
) -> None:
    """From which states of documents a unit's end can be reached over bytes of ``singles`` (256,) alone."""
    changed = True
    while changed:
        changed = False
        for state in range(len(writable) - 1, -1, -1):
            if writable[state]:
                continue
            reaches = states[state] & 1 != 0
            for edge in range(states[state] >> 1, states[state + 1] >> 1):
                byte, target = edges[edge] >> VERBATIM_SHIFT, edges[edge] & VERBATIM_MASK
                reaches = reaches or (singles[byte] and writable[target])
            if reaches:
                writable[state] = True
                changed = True
