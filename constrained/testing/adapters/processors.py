"""Logits processors as `transformers` calls them: ``(input_ids (B, T), scores (B, V)) -> scores``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from grammars.vocabulary import Vocabulary

from .base import Session

__all__ = ["ProcessorSession", "TransformersProcessor"]

TransformersProcessor = Callable[[Tensor, Tensor], Tensor]


class ProcessorSession(Session):
    """A fresh processor, and the ids that it was shown. It is called once a step, as `generate` does."""

    def __init__(
        self, processor: TransformersProcessor, vocabulary: Vocabulary, *, prompt_ids: Sequence[int] = (0,)
    ) -> None:
        super().__init__(vocabulary)
        self.processor = processor
        self._ids = list(prompt_ids)
        self._allowed: npt.NDArray[np.bool_] | None = None

    def allowed(self) -> npt.NDArray[np.bool_]:
        if self._allowed is None:
            scores = self.processor(torch.tensor([self._ids]), torch.zeros(1, self.vocabulary.size))
            self._allowed = (scores[0] > -torch.inf).cpu().numpy()
        return self._allowed

    def consume(self, token_id: int) -> bool:
        if not self.allowed()[token_id]:
            return False
        self._ids.append(token_id)
        self._allowed = None
        return True
