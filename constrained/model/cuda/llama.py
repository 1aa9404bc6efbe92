"""The forward pass on CUDA: prompts as ever, decode steps of any number of rows as one captured graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from constrained.errors import ContextTooLong
from constrained.model.config import LlamaConfig
from constrained.model.cuda.slots import RowCache, Slots
from constrained.model.cuda.step import DecodeStep
from constrained.model.kv_cache import KVCache
from constrained.model.llama import Llama, check_rows

__all__ = ["CudaLlama"]

_SHORTEST_ROOM = 256


class CudaLlama(Llama):
    """A :class:`~constrained.model.llama.Llama` whose rows share passes.

    Caches of one row lie in slots of one block; a pass in which every row has a single token runs over all slots at
    once. It works on a CPU too, without graphs: that is how it is tested.

    >>> from constrained.testing.tiny import tiny_llama
    >>> model = CudaLlama.from_llama(tiny_llama(seed=0, vocab_size=300))
    >>> caches = [model.new_cache(1, 8), model.new_cache(1, 8)]
    >>> model.forward_rows([[1, 2, 3], [4]], caches).shape, model.forward_rows([[5], [6]], caches).shape
    (torch.Size([2, 300]), torch.Size([2, 300]))
    """

    prefill_chunk = 8192  # large products are what the device is quick at

    def __init__(
        self, config: LlamaConfig, *, device: torch.device | str = "cuda", dtype: torch.dtype = torch.bfloat16
    ) -> None:
        super().__init__(config, device=device, dtype=dtype)
        self._prepare()

    @classmethod
    def from_llama(cls, model: Llama) -> CudaLlama:
        """The same weights, not copied."""
        shared = cls.__new__(cls)
        shared.__dict__.update(model.__dict__)
        shared._prepare()
        return shared

    def _prepare(self) -> None:
        self._slots: Slots | None = None
        self._steps: dict[tuple[int, int], DecodeStep] = {}
        self._version = 0

    def new_cache(self, batch_size: int, capacity: int) -> KVCache:
        """As :meth:`Llama.new_cache`; that of one row is a slot."""
        if batch_size != 1:
            return super().new_cache(batch_size, capacity)
        if capacity > self.config.max_position_embeddings:
            raise ContextTooLong(
                needed=capacity, available=self.config.max_position_embeddings, what="the model's context"
            )
        if self._slots is None:
            self._slots = Slots(self.config, device=self.device, dtype=self.dtype)
        return self._slots.take(capacity)

    def forward_rows(
        self, rows: Sequence[Sequence[int]], caches: Sequence[Any], *, all_positions: bool = False
    ) -> Tensor:
        """As :meth:`Llama.forward_rows`; the rows that have a single token share a pass."""
        check_rows(rows, caches)
        for row, cache in zip(rows, caches, strict=True):
            self._check(torch.tensor([list(row)], dtype=torch.int64), cache)
        single = [
            index
            for index, (row, cache) in enumerate(zip(rows, caches, strict=True))
            if len(row) == 1 and isinstance(cache, RowCache) and cache.slots is self._slots
        ]
        logits: dict[int, Tensor] = {}  # (1, V) of a row, or (T, V)
        if single:
            decoded = self._decode([rows[index][0] for index in single], [caches[index] for index in single])
            logits = {index: decoded[place : place + 1] for place, index in enumerate(single)}
        for index, (row, cache) in enumerate(zip(rows, caches, strict=True)):
            if index not in logits:
                logits[index] = super().forward_rows([row], [cache], all_positions=all_positions)
        return torch.cat([logits[index] for index in range(len(rows))])

    @torch.no_grad()
    def _decode(self, token_ids: list[int], caches: list[RowCache]) -> Tensor:
        """Logits (B, V) of one token a row."""
        assert self._slots is not None
        num_slots = 1 << max(cache.slot for cache in caches).bit_length()
        needed = 1 + max(cache.length for cache in caches)
        room = min(max(_SHORTEST_ROOM, 1 << (needed - 1).bit_length()), self._slots.room)
        step = self._step(min(num_slots, self._slots.num_slots), room)
        ids, positions = [0] * len(step.rows), [-1] * len(step.rows)
        for token_id, cache in zip(token_ids, caches, strict=True):
            ids[cache.slot], positions[cache.slot] = token_id, cache.length
        logits = step.run(torch.tensor(ids), torch.tensor(positions))
        for cache in caches:
            cache.advance(1)
        return logits[[cache.slot for cache in caches]]  # a copy: the next step overwrites

    def _step(self, num_slots: int, room: int) -> DecodeStep:
        assert self._slots is not None
        if self._version != self._slots.version:
            self._steps.clear()
            self._version = self._slots.version
        step = self._steps.get((num_slots, room))
        if step is None:
            step = DecodeStep(self, self._slots, num_slots=num_slots, room=room)
            self._steps[num_slots, room] = step
        return step
