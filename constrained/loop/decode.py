"""One step: the pass over what is pending, and the masks made meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.loop.engine import Engine
from constrained.loop.prefill import allocate_cache
from constrained.loop.row import Row
from constrained.processors import StepContext

__all__ = ["fill_token_bitmask", "forward", "step_context"]


def forward(engine: Engine, rows: Sequence[Row]) -> Tensor:
    """Launch the pass that takes the pending ids of ``rows``; logits (B, V) float32 after the last of each.

    Each row has a cache of its own length, and is passed by itself: its logits do not depend on its neighbours.
    """
    logits = []
    for row in rows:
        if row.cache is None:
            row.cache = allocate_cache(row)
        token_ids = torch.tensor([row.pending], dtype=torch.int64, device=engine.model.device)  # (1, T)
        logits.append(engine.model.forward(token_ids, row.cache))  # (1, V)
        row.pending.clear()
        row.forward_passes += 1
    return logits[0] if len(logits) == 1 else torch.cat(logits)


def fill_token_bitmask(engine: Engine, rows: Sequence[Row]) -> NDArray[np.int32]:
    """The masks of ``rows``, (B, ceil(V / 32)) int32; made on the CPU while the device runs the pass."""
    bitmask = np.empty((len(rows), engine.free_bitmask.shape[0]), np.int32)
    for place, row in enumerate(rows):
        if row.matcher is None:
            bitmask[place] = engine.free_bitmask
        elif row.bitmask is not None:
            bitmask[place], row.bitmask = row.bitmask[0], None
        else:
            row.fill(row.matcher, bitmask, place)
    return bitmask


def step_context(engine: Engine, rows: Sequence[Row], token_bitmask: NDArray[np.int32]) -> StepContext:
    """What the processors are told of this step."""
    return StepContext(
        vocab_size=engine.vocabulary.size,
        positions=tuple(len(row.output_ids) for row in rows),
        sampling=tuple(row.request.sampling for row in rows),
        streams=tuple(row.request.stream for row in rows),
        token_bitmask=token_bitmask,
        prompt_ids=tuple(row.request.prompt_ids for row in rows),
        output_ids=tuple(row.output_ids for row in rows),
        vocabulary=engine.vocabulary,
        records=tuple(row.record for row in rows),
    )
