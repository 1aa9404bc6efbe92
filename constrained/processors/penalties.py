"""Penalties and biases: logits changed by what was drawn before, and by the caller's list.

Both come after the mask and change finite logits into finite logits, so they never empty the set of allowed tokens.
What counts as drawn is what was chosen: text that the grammar forces (keys, punctuation) is no repetition of the
model's. And where it forces the next byte now, nothing is penalised.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from constrained.processors.context import Stage, StepContext

__all__ = ["LogitBias", "Penalties"]

_LARGEST = 3.0e38


class Penalties:
    """Repetition, presence and frequency penalties of :class:`~constrained.SamplingConfig`, of each row its own.

    A logit of a token that was drawn c times, c > 0, becomes x / r (x > 0) or x r (else), less presence, less c times
    frequency. Source of the first: Keskar et al., "CTRL", 2019, section 4.1, with the sign kept as is usual since.
    """

    stage: ClassVar[Stage] = Stage.PENALTIES

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits (B, N) in, logits (B, N) out."""
        for row, config in enumerate(context.sampling):
            if not config.has_penalties:
                continue
            record, position = context.records[row], context.positions[row]
            if not context.notes[row].is_free:
                continue
            counts = Counter(record.free_ids(context.output_ids[row], before=position))
            columns, numbers = _columns(context, row, counts, logits.shape[1])
            if not len(columns):
                continue
            at = torch.from_numpy(columns).to(logits.device)
            old = logits[row, at]
            scale = torch.where(old > 0, 1.0 / config.repetition_penalty, config.repetition_penalty)
            taken = config.presence_penalty + config.frequency_penalty * numbers
            new = old * scale - torch.from_numpy(taken.astype(np.float32)).to(logits.device)
            logits[row, at] = torch.where(old > -torch.inf, new.clamp(-_LARGEST, _LARGEST), old)
        return logits


class LogitBias:
    """Adds each row's ``logit_bias``. Raises ValueError for ids outside the vocabulary."""

    stage: ClassVar[Stage] = Stage.PENALTIES

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits (B, N) in, logits (B, N) out."""
        for row, config in enumerate(context.sampling):
            if not config.logit_bias:
                continue
            beyond = [token_id for token_id in config.logit_bias if token_id >= context.vocab_size]
            if beyond:
                raise ValueError(f"logit_bias: expected token ids below {context.vocab_size:,}, got {beyond[0]:,}")
            columns, biases = _columns(context, row, config.logit_bias, logits.shape[1])
            at = torch.from_numpy(columns).to(logits.device)
            old = logits[row, at]
            new = old + torch.from_numpy(biases.astype(np.float32)).to(logits.device)
            logits[row, at] = torch.where(old > -torch.inf, new.clamp(-_LARGEST, _LARGEST), old)
        return logits


def _columns(
    context: StepContext, row: int, numbers: dict[int, float] | dict[int, int] | Counter[int], width: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The columns where these token ids are, as far as they have one, and each one's number."""
    ids = np.array(sorted(numbers), np.int64)
    values = np.array([numbers[int(token_id)] for token_id in ids], np.float64)
    if context.token_ids is None:
        return ids, values
    listed = context.token_ids[row].cpu().numpy()
    columns = np.minimum(np.searchsorted(listed, ids), width - 1)
    found = listed[columns] == ids
    return columns[found], values[found]
