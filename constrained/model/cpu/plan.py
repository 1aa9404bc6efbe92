"""What a pass is told in whole numbers: the sizes of the model, and where things are in flat arrays.

Kernels see arrays and integers only; these are the names of the entries. Places count numbers, not bytes.
"""

from __future__ import annotations

from typing import Final

# Entries of the plan: sizes of the model ...
LAYERS: Final = 0
HIDDEN: Final = 1
INNER: Final = 2
HEADS: Final = 3
KV_HEADS: Final = 4
HEAD_DIM: Final = 5
WINDOW: Final = 6
"""Positions that a token looks back on, its own included; more than any context holds where there is no window."""
ROWS_AT_ONCE: Final = 7
WORKERS: Final = 8
# ... and of one pass, with the places of its arrays in the scratch memory.
ROWS: Final = 9
WANTED: Final = 10
STREAM_AT: Final = 11
NORMED_AT: Final = 12
PROJECTED_AT: Final = 13
"""Queries, keys and values of each row as the product gives them, side by side."""
QUERIES_AT: Final = 14
"""Queries, turned and scaled: (Hkv, rows, H / Hkv, D)."""
ATTENDED_AT: Final = 15
GATED_AT: Final = 16
WORK_AT: Final = 17
"""Memory of each worker's own, one after the other."""
WORK_SIZE: Final = 18
PLAN_SIZE: Final = 19

# Columns of the table of segments: rows of a pass that go to one cache.
FIRST_ROW: Final = 0
COUNT: Final = 1
START: Final = 2
"""Position of the first row."""
FIRST_BLOCK: Final = 3
"""Place of the address of the cache's first block."""

# Columns of the table of matrices; its rows: four of each layer, then the head, then the embedding.
WEIGHTS_AT: Final = 0
SCALES_AT: Final = 1
"""Place of the scale of each output among the parameters, or -1."""
BIAS_AT: Final = 2
"""Place of the bias among the parameters, or -1."""
INPUTS: Final = 3
OUTPUTS: Final = 4
MATRICES_OF_LAYER: Final = 4
QKV: Final = 0
OUTPUT: Final = 1
GATE_UP: Final = 2
DOWN: Final = 3

# Places in the parameters; the norms' weights follow, two of each layer and the last.
EPSILON_AT: Final = 0
ATTENTION_SCALE_AT: Final = 1
NORMS_AT: Final = 32

# A worker's memory: this, then what attention needs (mixed values of a tile, then its scores), or widened panels.
PANELS_SIZE: Final = 2 * 8 * 32
"""Two panels of outputs of eight rows."""
