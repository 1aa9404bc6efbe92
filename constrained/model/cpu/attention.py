"""Attention of the rows of one pass over the blocks of their caches.

Query heads that share keys stand side by side as rows of a tile. The softmax takes two turns: scores of a tile against
all its positions, then the largest, the exponentials and their sum, in an order that only positions decide: position p
is in chain p mod 32. Values are mixed in one chain over the positions. What a row must not see counts as exactly zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grammars.jit import inlined, subroutine

from .arithmetic import array_at, fma
from .blocks import BLOCK_POSITIONS, block_size, head_at, padded
from .exact import LANES
from .lanes import largest, sum_of
from .lanewise import divide_lanes, exponential_lanes
from .plan import (
    ATTENDED_AT,
    ATTENTION_SCALE_AT,
    COUNT,
    FIRST_BLOCK,
    FIRST_ROW,
    HEAD_DIM,
    HEADS,
    KV_HEADS,
    LAYERS,
    PANELS_SIZE,
    PROJECTED_AT,
    QUERIES_AT,
    ROWS,
    ROWS_AT_ONCE,
    START,
    WINDOW,
    WORKERS,
)
from .products import first_of_share, num_tiles, tile_start
from .tile import MOST_ROWS, run_tile

__all__ = ["attend", "turn_and_keep"]


@subroutine
def turn_and_keep(
    layer: int, params: Any, plan: Any, cos: Any, sin: Any, segments: Any, blocks: Any, scratch: Any, worker: int
) -> None:
    """Rotate queries and keys by their positions; queries are scaled, keys and values go to the cache."""
    head_dim, heads, kv_heads = plan[HEAD_DIM], plan[HEADS], plan[KV_HEADS]
    half, group, width = head_dim // 2, heads // kv_heads, (heads + 2 * kv_heads) * head_dim
    size = block_size(plan[LAYERS], kv_heads, head_dim)
    first_row = first_of_share(plan[ROWS], worker, plan[WORKERS])
    stop_row = first_of_share(plan[ROWS], worker + 1, plan[WORKERS])
    for segment in range(segments.shape[0]):
        start = segments[segment, FIRST_ROW]
        for row in range(max(first_row, start), min(stop_row, start + segments[segment, COUNT])):
            position = segments[segment, START] + row - start
            block = array_at(blocks[segments[segment, FIRST_BLOCK] + position // BLOCK_POSITIONS], size)
            row_at, turns_at = plan[PROJECTED_AT] + row * width, position * half
            for head in range(heads):
                place = (head // group * plan[ROWS] + row) * group + head % group
                to = plan[QUERIES_AT] + place * head_dim
                _turn(scratch, row_at + head * head_dim, cos, sin, turns_at, half, scratch, to, 1)
                for coordinate in range(head_dim):
                    scratch[to + coordinate] *= params[ATTENTION_SCALE_AT]
            for head in range(kv_heads):
                keys_at = head_at(layer, head, kv_heads, head_dim) + position % BLOCK_POSITIONS
                head_row = row_at + (heads + head) * head_dim
                _turn(scratch, head_row, cos, sin, turns_at, half, block, keys_at, LANES)
                values_at = head_at(layer, head, kv_heads, head_dim) + head_dim * LANES
                values_at += position % BLOCK_POSITIONS * LANES
                for coordinate in range(head_dim):
                    to = values_at + coordinate // LANES * LANES * LANES + coordinate % LANES
                    block[to] = scratch[head_row + kv_heads * head_dim + coordinate]


@inlined
def _turn(x: Any, at: int, cos: Any, sin: Any, turns_at: int, half: int, y: Any, y_at: int, y_step: int) -> None:
    """Pairs (i, i + D / 2) of one head turned by their angles."""
    for pair in range(half):
        low, high = x[at + pair], x[at + half + pair]
        c, s = cos[turns_at + pair], sin[turns_at + pair]
        y[y_at + pair * y_step] = fma(high, -s, low * c)
        y[y_at + (half + pair) * y_step] = fma(low, s, high * c)


@subroutine
def attend(
    layer: int, plan: Any, segments: Any, blocks: Any, scratch: Any, work: Any, work_at: int, worker: int
) -> None:
    """Mixed values of all rows, (rows, H, D): this worker's share of the tiles."""
    group, kv_heads = plan[HEADS] // plan[KV_HEADS], plan[KV_HEADS]
    unit = 0
    for segment in range(segments.shape[0]):
        rows = segments[segment, COUNT] * group
        tiles = num_tiles(rows, plan[ROWS_AT_ONCE])
        for head in range(kv_heads):
            for tile in range(tiles):
                if unit % plan[WORKERS] == worker:
                    first = tile_start(rows, tiles, tile)
                    count = tile_start(rows, tiles, tile + 1) - first
                    _attend_tile(layer, head, segment, first, count, plan, segments, blocks, scratch, work, work_at)
                unit += 1


@inlined
def _attend_tile(
    layer: int,
    head: int,
    segment: int,
    first: int,
    count: int,
    plan: Any,
    segments: Any,
    blocks: Any,
    scratch: Any,
    work: Any,
    work_at: int,
) -> None:
    """``count`` of a segment's rows (tokens x query heads of the group) from ``first`` on, against one head's keys."""
    head_dim, kv_heads = plan[HEAD_DIM], plan[KV_HEADS]
    group = plan[HEADS] // kv_heads
    start, first_row = segments[segment, START], segments[segment, FIRST_ROW]
    size = block_size(plan[LAYERS], kv_heads, head_dim)
    keys_at = head_at(layer, head, kv_heads, head_dim)
    values_at, value_width = keys_at + head_dim * LANES, padded(head_dim)
    stop = start + (first + count - 1) // group + 1  # positions that the last row sees
    first_block = max(0, start + first // group + 1 - plan[WINDOW]) // BLOCK_POSITIONS
    last_block = (stop - 1) // BLOCK_POSITIONS
    span = (last_block + 1 - first_block) * BLOCK_POSITIONS
    mixed_at = work_at + PANELS_SIZE
    scores_at = mixed_at + MOST_ROWS * value_width
    queries_at = plan[QUERIES_AT] + ((head * plan[ROWS] + first_row) * group + first) * head_dim
    blocks_at = segments[segment, FIRST_BLOCK]
    for index in range(first_block, last_block + 1):
        block = array_at(blocks[blocks_at + index], size)
        to = scores_at + (index - first_block) * BLOCK_POSITIONS
        run_tile(count, False, scratch, queries_at, head_dim, block, keys_at, head_dim, work, to, span)
    for row in range(count):
        position = start + (first + row) // group
        low = max(0, position + 1 - plan[WINDOW]) - first_block * BLOCK_POSITIONS
        high = position + 1 - first_block * BLOCK_POSITIONS
        _exponentials(work, scores_at + row * span, low, high, span)
    for index in range(first_block, last_block + 1):
        block = array_at(blocks[blocks_at + index], size)
        held = min(BLOCK_POSITIONS, stop - index * BLOCK_POSITIONS)
        shares_at = scores_at + (index - first_block) * BLOCK_POSITIONS
        for place in range(0, value_width, LANES):
            panel_at, onto = values_at + place * LANES, index > first_block
            run_tile(count, onto, work, shares_at, span, block, panel_at, held, work, mixed_at + place, value_width)
    for row in range(count):
        total = sum_of(work, scores_at + row * span, span)
        token, member = first_row + (first + row) // group, head * group + (first + row) % group
        to = plan[ATTENDED_AT] + (token * plan[HEADS] + member) * head_dim
        for place in range(mixed_at + row * value_width, mixed_at + (row + 1) * value_width, LANES):
            divide_lanes(work, place, total)
        for coordinate in range(head_dim):
            scratch[to + coordinate] = work[mixed_at + row * value_width + coordinate]


@inlined
def _exponentials(scores: Any, at: int, low: int, high: int, span: int) -> None:
    """Scores from ``low`` to ``high`` become e to the score less the largest; all others of the ``span`` become 0."""
    for place in range(low):
        scores[at + place] = -np.inf
    for place in range(high, span):
        scores[at + place] = -np.inf
    most = largest(scores, at, span)
    for place in range(at, at + span, LANES):
        exponential_lanes(scores, place, most)
