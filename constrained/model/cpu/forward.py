"""The whole forward pass as one kernel, run by one worker or by several that wait for each other between its steps."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from grammars.jit import inlined, subroutine, threaded_kernel

from .arithmetic import widened
from .attention import attend, turn_and_keep
from .exact import LANES
from .kinds import WEIGHT_TYPES
from .lanes import sum_of_squares
from .meeting import meet
from .plan import (
    ATTENDED_AT,
    DOWN,
    EPSILON_AT,
    GATE_UP,
    GATED_AT,
    HIDDEN,
    INPUTS,
    LAYERS,
    MATRICES_OF_LAYER,
    NORMED_AT,
    NORMS_AT,
    OUTPUT,
    PROJECTED_AT,
    QKV,
    ROWS,
    SCALES_AT,
    STREAM_AT,
    WANTED,
    WEIGHTS_AT,
    WORK_AT,
    WORK_SIZE,
    WORKERS,
)
from .products import first_of_share, multiply, multiply_gated

__all__ = ["PASSES"]


def _run_pass(
    weights: Any,
    params: Any,
    matrices: Any,
    plan: Any,
    cos: Any,
    sin: Any,
    token_ids: Any,
    segments: Any,
    blocks: Any,
    wanted: Any,
    scratch: Any,
    logits: Any,
    meeting: Any,
    worker: int,
) -> None:
    """Logits (wanted, V) of the ``wanted`` rows; the keys and values of all rows are in the caches afterwards.

    Arrays are flat but for ``matrices`` and ``segments``, see ``plan.py``. ``blocks`` has the addresses of the blocks
    of all caches. ``meeting`` counts arrivals, from 0.
    """
    rows, workers, layers = plan[ROWS], plan[WORKERS], plan[LAYERS]
    stream, normed, attended, gated = plan[STREAM_AT], plan[NORMED_AT], plan[ATTENDED_AT], plan[GATED_AT]
    projected, work_at = plan[PROJECTED_AT], plan[WORK_AT] + worker * plan[WORK_SIZE]
    first, stop = first_of_share(rows, worker, workers), first_of_share(rows, worker + 1, workers)
    embedding = MATRICES_OF_LAYER * layers + 1
    for row in range(first, stop):
        _look_up(weights, params, matrices, embedding, token_ids[row], scratch, stream + row * plan[HIDDEN])
    for layer in range(layers):
        at = MATRICES_OF_LAYER * layer
        for row in range(first, stop):
            _norm(params, 2 * layer, plan, scratch, stream, row, normed, row)
        meet(meeting, workers)
        multiply(
            weights, params, matrices, at + QKV, plan, rows,
            scratch, normed, scratch, projected, False, scratch, work_at, worker,
        )  # fmt: skip
        meet(meeting, workers)
        turn_and_keep(layer, params, plan, cos, sin, segments, blocks, scratch, worker)
        meet(meeting, workers)
        attend(layer, plan, segments, blocks, scratch, scratch, work_at, worker)
        meet(meeting, workers)
        multiply(
            weights, params, matrices, at + OUTPUT, plan, rows,
            scratch, attended, scratch, stream, True, scratch, work_at, worker,
        )  # fmt: skip
        meet(meeting, workers)
        for row in range(first, stop):
            _norm(params, 2 * layer + 1, plan, scratch, stream, row, normed, row)
        meet(meeting, workers)
        multiply_gated(
            weights, params, matrices, at + GATE_UP, plan, rows,
            scratch, normed, scratch, gated, scratch, work_at, worker,
        )  # fmt: skip
        meet(meeting, workers)
        multiply(
            weights, params, matrices, at + DOWN, plan, rows,
            scratch, gated, scratch, stream, True, scratch, work_at, worker,
        )  # fmt: skip
        meet(meeting, workers)
    count = plan[WANTED]
    for place in range(first_of_share(count, worker, workers), first_of_share(count, worker + 1, workers)):
        _norm(params, 2 * layers, plan, scratch, stream, wanted[place], normed, place)
    meet(meeting, workers)
    multiply(
        weights, params, matrices, embedding - 1, plan, count,
        scratch, normed, logits, 0, False, scratch, work_at, worker,
    )  # fmt: skip


def _pass_for(kind: str) -> Callable[..., None]:
    """The pass under a name of its own, so that it can be told on disk from that for other kinds of weights."""
    name = f"run_pass_{kind}"
    function = FunctionType(_run_pass.__code__, globals(), name)
    function.__qualname__ = name
    return threaded_kernel(function)


PASSES = {kind: _pass_for(kind) for kind in WEIGHT_TYPES}
"""Kind of weights -> the kernel."""


@subroutine
def _look_up(weights: Any, params: Any, matrices: Any, matrix: int, token_id: int, y: Any, y_at: int) -> None:
    """One row of a packed matrix: the embedding of a token."""
    size = matrices[matrix, INPUTS]
    at = matrices[matrix, WEIGHTS_AT] + token_id // LANES * LANES * size + token_id % LANES
    for place in range(size):
        y[y_at + place] = widened(weights, at + place * LANES)
    if matrices[matrix, SCALES_AT] >= 0:
        for place in range(size):
            y[y_at + place] *= params[matrices[matrix, SCALES_AT] + token_id]


@inlined
def _norm(params: Any, norm: int, plan: Any, x: Any, x_at: int, row: int, y_at: int, y_row: int) -> None:
    """Row ``row`` at ``x_at`` divided by the root of its mean square, times the norm's weights; to ``y_at``."""
    size = plan[HIDDEN]
    at, to, weights_at = x_at + row * size, y_at + y_row * size, NORMS_AT + norm * size
    whole = size // LANES * LANES
    total = sum_of_squares(x, at, whole)
    for place in range(whole, size):
        total += x[at + place] * x[at + place]
    inverse = np.float32(1) / np.sqrt(total / np.float32(size) + params[EPSILON_AT])
    for place in range(size):
        x[to + place] = x[at + place] * inverse * params[weights_at + place]
