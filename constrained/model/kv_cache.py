"""Keys and values of the tokens seen so far, in memory that is allocated once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from constrained.errors import ContextTooLong
from constrained.model.config import LlamaConfig

__all__ = ["KVBlock", "KVCache"]


@dataclass(frozen=True, slots=True, eq=False)
class KVBlock:
    """Keys and values of some tokens of one row, (layers, B, Hkv, T, D) each, apart from any cache."""

    keys: Tensor
    values: Tensor

    @property
    def num_bytes(self) -> int:
        """Memory taken."""
        return 2 * self.keys.numel() * self.keys.element_size()


class KVCache:
    """Keys and values of ``batch_size`` rows of equal length.

    ``keys`` and ``values`` have shape (layers, B, Hkv, capacity, D) and never move or grow; ``length`` says how many
    positions are filled. Rolling back is :meth:`truncate`: what lies beyond ``length`` is overwritten later.
    """

    def __init__(
        self, config: LlamaConfig, *, batch_size: int, capacity: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        if batch_size < 1 or capacity < 1:
            raise ValueError(f"expected batch_size and capacity of at least 1, got {batch_size} and {capacity}")
        shape = (config.num_hidden_layers, batch_size, config.num_key_value_heads, capacity, config.head_dim)
        # Left unset: the system hands out pages when they are written, so room that is never used costs nothing.
        self.keys = torch.empty(shape, device=device, dtype=dtype)
        self.values = torch.empty(shape, device=device, dtype=dtype)
        self._length = 0

    @property
    def length(self) -> int:
        """Tokens held."""
        return self._length

    @property
    def capacity(self) -> int:
        """Tokens that fit."""
        return self.keys.shape[3]

    @property
    def batch_size(self) -> int:
        """Rows."""
        return self.keys.shape[1]

    @property
    def num_bytes(self) -> int:
        """Memory taken, filled or not."""
        return 2 * self.keys.numel() * self.keys.element_size()

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot truncate to {length}: the cache holds {self._length} tokens")
        self._length = length

    def require_room(self, num_tokens: int) -> None:
        """Raise :class:`ContextTooLong` unless ``num_tokens`` more fit."""
        if self._length + num_tokens > self.capacity:
            raise ContextTooLong(needed=self._length + num_tokens, available=self.capacity, what="the KV cache")

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put the keys and values of new tokens, (B, T, Hkv, D) each, after those held; :meth:`advance` makes it count.

        Returns all keys and values of the layer so far, views of shape (B, Hkv, length + T, D).
        """
        stop = self._length + keys.shape[1]
        all_keys, all_values = self.keys[layer, :, :, :stop], self.values[layer, :, :, :stop]
        all_keys[:, :, self._length :].copy_(keys.transpose(1, 2))
        all_values[:, :, self._length :].copy_(values.transpose(1, 2))
        return all_keys, all_values

    def advance(self, num_tokens: int) -> None:
        """Count ``num_tokens`` written tokens as held, after every layer has written them."""
        self._length += num_tokens

    def copy_out(self, start: int, stop: int) -> KVBlock:
        """A copy of what is held of the tokens from ``start`` up to ``stop``."""
        if not 0 <= start < stop <= self._length:
            raise ValueError(f"cannot copy tokens {start} to {stop}: the cache holds {self._length}")
        return KVBlock(self.keys[:, :, :, start:stop].clone(), self.values[:, :, :, start:stop].clone())

    def append(self, block: KVBlock) -> None:
        """Hold the tokens of a block after those held; they must be of the same positions as where it was copied."""
        count = block.keys.shape[3]
        self.require_room(count)
        self.keys[:, :, :, self._length : self._length + count].copy_(block.keys)
        self.values[:, :, :, self._length : self._length + count].copy_(block.values)
        self.advance(count)
