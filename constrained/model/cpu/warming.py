"""Has machine code of the forward pass at hand before it is needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammars.jit import is_compiled, prepare

from .forward import PASSES
from .kinds import WEIGHT_KINDS, WEIGHT_TYPES, WeightKind

__all__ = ["is_warm", "warm_up"]


def is_warm(kinds: Sequence[WeightKind] = WEIGHT_KINDS) -> bool:
    """Whether machine code for these kinds of weights is on disk: else the first model takes seconds to load."""
    return all(is_compiled(PASSES[kind]) for kind in kinds)


def warm_up(kinds: Sequence[WeightKind] = WEIGHT_KINDS) -> None:
    """Have machine code for these kinds of weights at hand. It is kept on disk: once after an install is enough."""
    numbers, places, table = np.zeros(1, np.float32), np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
    for kind in kinds:
        weights = np.zeros(1, WEIGHT_TYPES[kind])
        prepare(
            PASSES[kind], weights, numbers, table, places, numbers, numbers, places, table, places,
            places, numbers, numbers, places, 0,
        )  # fmt: skip
