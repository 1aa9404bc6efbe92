"""Products with the packed weights: each worker takes its share of the panels, for all rows of the pass."""

from __future__ import annotations

from typing import Any

from grammars.jit import inlined, subroutine

from .arithmetic import widened
from .exact import LANES
from .lanewise import add_lanes, copy_lanes, gate_lanes, scale_lanes
from .plan import BIAS_AT, INPUTS, OUTPUTS, PANELS_SIZE, ROWS_AT_ONCE, SCALES_AT, WEIGHTS_AT, WORKERS
from .tile import run_tile

__all__ = ["TILES_TO_WIDEN_FOR", "first_of_share", "multiply", "multiply_gated", "num_tiles", "tile_start"]

TILES_TO_WIDEN_FOR = 3
"""With so many tiles of rows, a panel that is packed in fewer bits is widened once, not again for every tile."""


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
def _widen(weights: Any, matrices: Any, matrix: int, panel: int, work: Any, to: int) -> None:
    """One panel as float32."""
    size = matrices[matrix, INPUTS] * LANES
    panel_at = matrices[matrix, WEIGHTS_AT] + panel * size
    for place in range(size):
        work[to + place] = widened(weights, panel_at + place)


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
    wide_at: int,
) -> None:
    """Outputs of one panel of one tile, with scale and bias, into ``work``: 32 for each row.

    ``wide_at`` is the place of the panel as float32 in ``work``, or -1: it is read as it is packed.
    """
    size = matrices[matrix, INPUTS]
    if wide_at >= 0:
        run_tile(rows, False, x, x_at, size, work, wide_at, size, work, work_at, LANES)
    else:
        panel_at = matrices[matrix, WEIGHTS_AT] + panel * size * LANES
        run_tile(rows, False, x, x_at, size, weights, panel_at, size, work, work_at, LANES)
    scales, bias = matrices[matrix, SCALES_AT], matrices[matrix, BIAS_AT]
    if scales >= 0:
        for row in range(rows):
            scale_lanes(work, work_at + row * LANES, params, scales + panel * LANES)
    if bias >= 0:
        for row in range(rows):
            add_lanes(work, work_at + row * LANES, params, bias + panel * LANES)


@inlined
def _hand_over(work: Any, work_at: int, y: Any, to: int, lanes: int, adds: bool) -> None:
    """The first ``lanes`` of 32 numbers into ``y``, or added to what it has."""
    if lanes == LANES:
        if adds:
            add_lanes(y, to, work, work_at)
        else:
            copy_lanes(y, to, work, work_at)
    else:
        for lane in range(lanes):
            y[to + lane] = y[to + lane] + work[work_at + lane] if adds else work[work_at + lane]


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
        wide_at = -1
        if weights.itemsize < 4 and tiles >= TILES_TO_WIDEN_FOR:
            wide_at = work_at + PANELS_SIZE
            _widen(weights, matrices, matrix, panel, work, wide_at)
        for tile in range(tiles):
            start = tile_start(rows, tiles, tile)
            count = tile_start(rows, tiles, tile + 1) - start
            inputs_at = x_at + start * matrices[matrix, INPUTS]
            _panel_product(weights, params, matrices, matrix, panel, x, inputs_at, count, work, work_at, wide_at)
            for row in range(count):
                to = y_at + (start + row) * outputs + panel * LANES
                _hand_over(work, work_at + row * LANES, y, to, lanes, adds)


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
        lanes, gate, up = min(LANES, outputs - panel * LANES), 2 * panel, 2 * panel + 1
        gate_wide = up_wide = -1
        if weights.itemsize < 4 and tiles >= TILES_TO_WIDEN_FOR:
            gate_wide = work_at + PANELS_SIZE
            up_wide = gate_wide + matrices[matrix, INPUTS] * LANES
            _widen(weights, matrices, matrix, gate, work, gate_wide)
            _widen(weights, matrices, matrix, up, work, up_wide)
        for tile in range(tiles):
            start = tile_start(rows, tiles, tile)
            count = tile_start(rows, tiles, tile + 1) - start
            inputs_at, up_at = x_at + start * matrices[matrix, INPUTS], work_at + count * LANES
            _panel_product(weights, params, matrices, matrix, gate, x, inputs_at, count, work, work_at, gate_wide)
            _panel_product(weights, params, matrices, matrix, up, x, inputs_at, count, work, up_at, up_wide)
            for row in range(count):
                gate_lanes(work, work_at + row * LANES, work, up_at + row * LANES)
                to = y_at + (start + row) * outputs + panel * LANES
                _hand_over(work, work_at + row * LANES, y, to, lanes, False)
