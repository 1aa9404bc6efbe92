"""Products with the packed weights: each worker takes its share of the panels, for all rows of the pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from grammars.jit import inlined, subroutine

from .arithmetic import exponential
from .exact import LANES
from .plan import BIAS_AT, INPUTS, OUTPUTS, ROWS_AT_ONCE, SCALES_AT, WEIGHTS_AT, WORKERS
from .tile import run_tile

__all__ = ["first_of_share", "multiply", "multiply_gated", "num_tiles", "tile_start"]


@inlined
def first_of_share(count: int, worker: int, workers: int) -> int:
    """Where the share of a worker begins, of ``count`` things; the next worker's begins where it ends."""
    return count * worker // workers


@inlined
def num_tiles(rows: int, at_once: int) -> int:
    """Into how many tiles ``rows`` are cut."""
    return (rows + at_once - 1) // at_once


@inlined
def tile_start(rows: int, tiles: int, tile: int) -> int:
    """First row of a tile; tiles are of nearly one size, since one of few rows costs almost as much as a full one."""
    return rows * tile // tiles


@inlined
def _panel_product(
    weights: Any,
    params: Any,
    matrices: Any,
    matrix: int,
    panel: int,
    x: Any,
    x_at: int,
    rows: int,
    work: Any,
    work_at: int,
) -> None:
    """Outputs of one panel of one tile, with scale and bias, into ``work``: 32 for each row."""
    size = matrices[matrix, INPUTS]
    panel_at = matrices[matrix, WEIGHTS_AT] + panel * size * LANES
    run_tile(rows, False, x, x_at, size, weights, panel_at, size, work, work_at, LANES)
    scales, bias = matrices[matrix, SCALES_AT], matrices[matrix, BIAS_AT]
    if scales >= 0:
        for row in range(rows):
            for lane in range(LANES):
                work[work_at + row * LANES + lane] *= params[scales + panel * LANES + lane]
    if bias >= 0:
        for row in range(rows):
            for lane in range(LANES):
                work[work_at + row * LANES + lane] += params[bias + panel * LANES + lane]


@subroutine
def multiply(
    weights: Any,
    params: Any,
    matrices: Any,
    matrix: int,
    plan: Any,
    rows: int,
    x: Any,
    x_at: int,
    y: Any,
    y_at: int,
    adds: bool,
    work: Any,
    work_at: int,
    worker: int,
) -> None:
    """``y = x W^T * scale + bias`` of ``rows`` rows, or with ``adds``, ``y += ...``; this worker's share of it.

    Rows of ``x`` and ``y`` lie one after the other. A panel is used for all rows while it is in the cache.
    """
    outputs = matrices[matrix, OUTPUTS]
    panels = (outputs + LANES - 1) // LANES
    tiles = num_tiles(rows, plan[ROWS_AT_ONCE])
    first = first_of_share(panels, worker, plan[WORKERS])
    for panel in range(first, first_of_share(panels, worker + 1, plan[WORKERS])):
        lanes = min(LANES, outputs - panel * LANES)
        for tile in range(tiles):
            start = tile_start(rows, tiles, tile)
            count = tile_start(rows, tiles, tile + 1) - start
            inputs_at = x_at + start * matrices[matrix, INPUTS]
            _panel_product(weights, params, matrices, matrix, panel, x, inputs_at, count, work, work_at)
            for row in range(count):
                to = y_at + (start + row) * outputs + panel * LANES
                if adds:
                    for lane in range(lanes):
                        y[to + lane] += work[work_at + row * LANES + lane]
                else:
                    for lane in range(lanes):
                        y[to + lane] = work[work_at + row * LANES + lane]


@subroutine
def multiply_gated(
    weights: Any,
    params: Any,
    matrices: Any,
    matrix: int,
    plan: Any,
    rows: int,
    x: Any,
    x_at: int,
    y: Any,
    y_at: int,
    work: Any,
    work_at: int,
    worker: int,
) -> None:
    """``y = silu(gate) * up`` of ``rows`` rows; panels of gate and up take turns in the weights."""
    outputs = matrices[matrix, OUTPUTS]
    panels = (outputs + LANES - 1) // LANES
    tiles = num_tiles(rows, plan[ROWS_AT_ONCE])
    first = first_of_share(panels, worker, plan[WORKERS])
    for panel in range(first, first_of_share(panels, worker + 1, plan[WORKERS])):
        lanes = min(LANES, outputs - panel * LANES)
        for tile in range(tiles):
            start = tile_start(rows, tiles, tile)
            count = tile_start(rows, tiles, tile + 1) - start
            inputs_at, up_at = x_at + start * matrices[matrix, INPUTS], work_at + count * LANES
            _panel_product(weights, params, matrices, matrix, 2 * panel, x, inputs_at, count, work, work_at)
            _panel_product(weights, params, matrices, matrix, 2 * panel + 1, x, inputs_at, count, work, up_at)
            for place in range(count * LANES):
                gate = work[work_at + place]
                work[work_at + place] = gate / (np.float32(1) + exponential(-gate)) * work[up_at + place]
            for row in range(count):
                to = y_at + (start + row) * outputs + panel * LANES
                for lane in range(lanes):
                    y[to + lane] = work[work_at + row * LANES + lane]
