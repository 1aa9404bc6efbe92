"""Drops the edges that lead nowhere: into states from which no end of the rule can be reached.

What is left is such that every configuration the machine can reach has a way to a complete text, so a mask never
allows a byte that ends in a dead end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ir.nodes import Int32Array
from ..jit import kernel
from .memory import FINAL

__all__ = ["drop_unproductive"]


@kernel
def spread_productive(
    edges: Int32Array, calls: Int32Array, rule_starts: Int32Array, productive: npt.NDArray[np.bool_]
) -> None:
    """From the final states, set ``productive`` (S,) wherever one can be reached: the least fixpoint, by sweeps."""
    changed = True
    while changed:
        changed = False
        for row in range(len(edges) - 1, -1, -1):
            if productive[edges[row, 2]] and not productive[edges[row, 0]]:
                productive[edges[row, 0]] = True
                changed = True
        for row in range(len(calls)):
            source, rule, back = calls[row, 0], calls[row, 1], calls[row, 2]
            matches = rule < 0 or productive[rule_starts[rule]]  # a guard may agree
            if productive[back] and matches and not productive[source]:
                productive[source] = True
                changed = True


def drop_unproductive(
    edges: Int32Array, calls: Int32Array, rule_starts: Int32Array, flags: Int32Array
) -> tuple[Int32Array, Int32Array]:
    """The byte and epsilon edges, and the calls, that lie on a way to the end of their rule."""
    productive = flags & FINAL != 0
    spread_productive(edges, calls, rule_starts, productive)
    matches = (calls[:, 1] < 0) | productive[rule_starts[np.maximum(calls[:, 1], 0)]]
    keep_calls = productive[calls[:, 2]] & matches
    return edges[productive[edges[:, 2]]], calls[keep_calls]
