"""Logits after any output: a cache that goes back to what two outputs share and reads on from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.errors import LogitsError
from constrained.loop import Engine, Request
from constrained.loop.engine import TokenMatcher

__all__ = ["Reader", "allowed_ids", "room_of"]


def room_of(engine: Engine, request: Request) -> int:
    """Most output tokens of a request."""
    return min(request.max_tokens, engine.context_length - len(request.prompt_ids) - 1)


class Reader:
    """Reads one output after the other behind the same prompt."""

    def __init__(self, engine: Engine, request: Request) -> None:
        self._engine = engine
        self._prompt_ids = list(request.prompt_ids)
        self._capacity = len(self._prompt_ids) + room_of(engine, request) + 1
        self._temperature = request.sampling.temperature or 1.0
        self._cache: Any = None
        self._held: list[int] = []
        self.forward_passes = 0

    def logits(self, output_ids: Sequence[int]) -> Tensor:
        """(V,) float32 after the prompt and ``output_ids``."""
        wanted = [*self._prompt_ids, *output_ids]
        if self._cache is None:
            self._cache = self._engine.model.new_cache(1, self._capacity)
        shared = 0
        for held, token_id in zip(self._held, wanted[:-1], strict=False):
            if held != token_id:
                break
            shared += 1
        self._cache.truncate(shared)
        logits = self._engine.model.forward_rows([wanted[shared:]], [self._cache])[0]
        self._held = wanted
        self.forward_passes += 1
        if not bool((logits < torch.inf).all()):
            raise LogitsError(
                source="the forward pass", position=len(output_ids), row=0, what="NaN or +inf among the logits"
            )
        return logits

    def logprobs(self, output_ids: Sequence[int]) -> NDArray[np.float64]:
        """(V,) Log-probabilities at the request's temperature (at 1 if that is 0)."""
        scaled = self.logits(output_ids).double() / self._temperature
        return scaled.log_softmax(0).cpu().numpy()


def allowed_ids(engine: Engine, matcher: TokenMatcher | None, *, is_last: bool) -> NDArray[np.bool_]:
    """(V,) Which ids may come next; only those that end the text, if ``is_last``: no more tokens may follow."""
    size = engine.vocabulary.size
    bitmask = engine.free_bitmask[None].copy()
    if matcher is not None:
        matcher.fill_next_token_bitmask(bitmask, 0)
    allowed = np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")[:size].astype(np.bool_)
    if is_last:
        ends = np.zeros(size, np.bool_)
        ends[list(engine.eos_token_ids)] = True
        allowed &= ends
    return allowed
