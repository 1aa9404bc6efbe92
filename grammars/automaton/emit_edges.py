"""The two smallest moves of writing an automaton: a fresh state, an edge."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import Int32Array
from ..jit import inlined

__all__ = ["NUM_COUNTS", "Int64Array", "add_edge", "new_state"]

Int64Array = npt.NDArray[np.int64]

# counters of what has been emitted
STATES, EDGES, CALLS, AGENDA, RULES = 0, 1, 2, 3, 4
NUM_COUNTS = 5


@inlined
def add_edge(counts: Int64Array, edges: Int32Array, source: int, low: int, high: int, target: int) -> None:
    """A byte edge, or an epsilon edge when ``low > high`` (marked by a span of -1)."""
    row = counts[EDGES]
    edges[row, 0] = source
    edges[row, 1] = low | high << 8 if low <= high else -1
    edges[row, 2] = target
    counts[EDGES] = row + 1


@inlined
def new_state(counts: Int64Array) -> int:
    """A state that nothing else uses."""
    counts[STATES] += 1
    return counts[STATES] - 1
