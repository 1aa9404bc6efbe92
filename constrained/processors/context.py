"""What a processor is, and what it is told.

A processor does one thing: ``(context, logits) -> logits``. It owns the logits that it is given (it may change and
return them, or return others of the same shape) and never turns a -inf into anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from constrained.processors.record import DrawNote, RowRecord
from constrained.sampling_config import SamplingConfig
from grammars.vocabulary import Vocabulary

__all__ = ["LogitsProcessor", "Stage", "StepContext", "stage_of"]


class Stage(IntEnum):
    """The places of the post-forward stage, in their fixed order; the draw comes after all of them."""

    USER = 0
    """Processors of the caller: they see raw logits, and nothing they do can revive what the mask forbids."""
    MASK = 1
    """The grammar mask, or without a grammar the ids that have no text."""
    PENALTIES = 2
    TEMPERATURE = 3
    TOP_K = 4
    TOP_P = 5
    MIN_P = 6
    WATERMARK = 7
    DIGEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """What is known of a step beside its logits; entry b of each field belongs to row b of the logits."""

    vocab_size: int
    """V: ids 0 to V - 1, the width of the model's logits."""
    positions: tuple[int, ...]
    """(B,) Index of the token to be drawn within its output: 0 for the first one after the prompt."""
    sampling: tuple[SamplingConfig, ...]
    """(B,) Settings of each row."""
    streams: tuple[int, ...]
    """(B,) Which of the independent sequences of draws under the row's seed; from 0 to 2**64 - 1."""
    token_bitmask: NDArray[np.int32]
    """(B, ceil(V / 32)) The allowed ids; bit ``id % 32`` of word ``id // 32`` is 1 where ``id`` is allowed."""
    prompt_ids: tuple[Sequence[int], ...] = ()
    """(B,) Ids of each prompt."""
    output_ids: tuple[Sequence[int], ...] = ()
    """(B,) Ids written so far after each prompt, forced ones too."""
    vocabulary: Vocabulary | None = None
    """What the ids write; a watermark and penalties need it."""
    records: tuple[RowRecord, ...] = ()
    """(B,) What is kept of each row from step to step. Without them every token of ``output_ids`` counts as drawn where
    there was a choice."""
    notes: tuple[DrawNote, ...] = ()
    """(B,) The notes of this step's draws; the pipeline begins them."""
    noise_keys: tuple[NDArray[np.uint64] | None, ...] = ()
    """(B,) What makes the noise of the draw, where it is not seed, stream and position: see ``constrained.philox``."""
    token_ids: Tensor | None = None
    """(B, N) Which token each column of the logits stands for, ascending; ``None``: column j is token j (N = V).
    After a mask that allows few ids the logits have columns for these only."""

    @property
    def batch_size(self) -> int:
        """B."""
        return len(self.sampling)


class LogitsProcessor(Protocol):
    """One step of the post-forward stage. A class may say its place by an attribute ``stage`` (:class:`Stage`);
    without it, it runs before the mask.

    >>> import torch
    >>> class Favour:
    ...     def __init__(self, token_id: int, bias: float) -> None:
    ...         self.token_id, self.bias = token_id, bias
    ...     def __call__(self, context: StepContext, logits: torch.Tensor) -> torch.Tensor:
    ...         logits[:, self.token_id] += self.bias
    ...         return logits
    >>> stage_of(Favour(3, 1.5)).name
    'USER'
    """

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits (B, N) float32 in, logits of the same shape out."""


def stage_of(processor: LogitsProcessor) -> Stage:
    """The place that a processor says it has; :attr:`Stage.USER` if it says none."""
    return Stage(getattr(processor, "stage", Stage.USER))
