"""A model that knows what will be asked: it computes the logits of many tokens of a known text in one pass.

With it the loop runs as it always does, mask, draw and all, and yet a text of n tokens costs about n / 64 passes. Where
the loop leaves the known text, it computes what is asked, as the model itself would. The logits are those of the model
alone where its numerics are invariant, and only there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from constrained.loop.engine import CausalModel

__all__ = ["AheadModel"]

_CHUNK = 64
_KEPT = 2 * _CHUNK  # logits behind the last that was taken


class AheadModel:
    """``model``, which will be fed ``script``, whose first ``num_prompt`` ids are a prompt.

    >>> from constrained.loop import Engine, Request, generate
    >>> from constrained.model import CpuLlama
    >>> from constrained.testing.tiny import tiny_llama, tiny_tokenizer
    >>> model, tokenizer = CpuLlama.from_llama(tiny_llama()), tiny_tokenizer()
    >>> request = Request(prompt_ids=[5, 6], max_tokens=40)
    >>> alone = generate(Engine.from_model(model, tokenizer), request).token_ids
    >>> ahead = AheadModel(model, [5, 6, *alone], num_prompt=2)
    >>> generate(Engine.from_model(ahead, tokenizer), request).token_ids == alone, ahead.num_passes
    (True, 2)
    """

    def __init__(self, model: CausalModel, script: Sequence[int], *, num_prompt: int) -> None:
        self._model = model
        self.script = list(script)
        self.num_prompt = num_prompt
        self.config = model.config
        self.num_passes = 0
        """Passes of the model so far."""

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        return self._model.vocab_size

    @property
    def device(self) -> torch.device:
        """That of the model."""
        return self._model.device

    def new_cache(self, batch_size: int, capacity: int) -> _AheadCache:
        """A cache of one row."""
        if batch_size != 1:
            raise ValueError(f"batch_size: expected 1, got {batch_size}")
        return _AheadCache(self, capacity)

    def forward_rows(
        self, rows: Sequence[Sequence[int]], caches: Sequence[_AheadCache], *, all_positions: bool = False
    ) -> Tensor:
        """(B, V) The logits after the last id of each row."""
        if all_positions:
            raise ValueError("all_positions: expected False; without drafts nobody asks for it")
        return torch.cat([cache.take(list(ids)) for ids, cache in zip(rows, caches, strict=True)])

    def feed(self, ids: Sequence[int], cache: Any, *, num_wanted: int) -> Tensor:
        """(num_wanted, V) Logits after the last ``num_wanted`` of ``ids``, which are appended to the inner cache."""
        if len(ids) > num_wanted:
            self._model.forward_rows([ids[:-num_wanted]], [cache])
            self.num_passes += 1
        self.num_passes += 1
        return self._model.forward_rows([ids[-num_wanted:]], [cache], all_positions=True)


class _AheadCache:
    """What the loop believes to be in the cache, and what is: often more."""

    def __init__(self, model: AheadModel, capacity: int) -> None:
        self._model = model
        self._script = model.script[:capacity]
        self._inner = model._model.new_cache(1, capacity)
        self._ids: list[int] = []  # in the inner cache
        self._logits: list[Tensor | None] = []  # (1, V) after each of them, as far as it is kept
        self.length = 0
        """Tokens held."""

    @property
    def num_bytes(self) -> int:
        """Memory of keys and values."""
        return int(self._inner.num_bytes)

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = length

    def take(self, ids: list[int]) -> Tensor:
        """(1, V) Logits after the last of ``ids``, which are appended."""
        start, stop = self.length, self.length + len(ids)
        agreed = next((i for i, (a, b) in enumerate(zip(ids, self._ids[start:], strict=False)) if a != b), None)
        known = min(stop, len(self._ids)) if agreed is None else start + agreed
        if known == stop and self._logits[stop - 1] is None:
            known = stop - 1
        if known < stop:
            self._forget(known)
            self._feed(ids[known - start :])
        self.length = stop
        for place in range(max(0, stop - 2 * _KEPT), stop - _KEPT):
            self._logits[place] = None
        logits = self._logits[stop - 1]
        assert logits is not None
        return logits

    def _forget(self, length: int) -> None:
        self._inner.truncate(length)
        del self._ids[length:], self._logits[length:]

    def _feed(self, ids: list[int]) -> None:
        stop = len(self._ids) + len(ids)
        ahead: list[int] = []
        if stop >= self._model.num_prompt and self._script[:stop] == self._ids + ids:
            ahead = self._script[stop : stop + _CHUNK]
        logits = self._model.feed([*ids, *ahead], self._inner, num_wanted=1 + len(ahead))
        self._ids += [*ids, *ahead]
        self._logits += [None] * (len(ids) - 1)
        self._logits += [logits[place : place + 1] for place in range(len(logits))]
