"""Keys and values of the tokens seen so far, in blocks that are made when tokens come, and can be shared."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from constrained.errors import ContextTooLong
from constrained.model.config import LlamaConfig

from .blocks import BLOCK_POSITIONS

__all__ = ["CpuBlocks", "CpuCache"]


@dataclass(slots=True)
class _Block:
    """Memory of 32 positions; one that several caches hold is copied before it is written to."""

    data: NDArray[np.float32]
    is_shared: bool = False

    @property
    def address(self) -> int:
        return self.data.ctypes.data


@dataclass(slots=True)
class _Row:
    """The blocks of one row, and their addresses."""

    blocks: list[_Block] = field(default_factory=list)
    addresses: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def copy(self) -> _Row:
        return _Row(list(self.blocks), self.addresses.copy())


@dataclass(frozen=True, slots=True)
class CpuBlocks:
    """Blocks apart from any cache; whoever holds them shares their memory."""

    blocks: tuple[_Block, ...]

    @property
    def num_bytes(self) -> int:
        """Memory taken."""
        return sum(block.data.nbytes for block in self.blocks)


class CpuCache:
    """Keys and values of ``batch_size`` rows of equal length, up to ``capacity`` tokens.

    Memory is taken when tokens come, 32 positions at a time. Rolling back is :meth:`truncate`; :meth:`fork` makes
    another cache that begins with the same tokens, and shares their memory.

    >>> from constrained.testing.tiny import tiny_config
    >>> cache = CpuCache(tiny_config(), batch_size=1, capacity=4096)
    >>> cache.length, cache.num_bytes
    (0, 0)
    """

    def __init__(self, config: LlamaConfig, *, batch_size: int, capacity: int) -> None:
        if batch_size < 1 or capacity < 1:
            raise ValueError(f"expected batch_size and capacity of at least 1, got {batch_size} and {capacity}")
        self._block_size = block_numbers(config)
        self._capacity = capacity
        self._length = 0
        self._rows = [_Row() for _ in range(batch_size)]

    @property
    def length(self) -> int:
        """Tokens held."""
        return self._length

    @property
    def capacity(self) -> int:
        """Tokens that fit."""
        return self._capacity

    @property
    def batch_size(self) -> int:
        """Rows."""
        return len(self._rows)

    @property
    def num_bytes(self) -> int:
        """Memory taken, with what is shared."""
        return sum(block.data.nbytes for row in self._rows for block in row.blocks)

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot truncate to {length}: the cache holds {self._length} tokens")
        self._length = length

    def fork(self, *, capacity: int | None = None) -> CpuCache:
        """Another cache with the same tokens, of this ``capacity`` or another. It costs no pass and no memory.

        >>> import torch
        >>> from constrained.model.cpu import CpuLlama
        >>> from constrained.testing.tiny import tiny_llama
        >>> model = CpuLlama.from_llama(tiny_llama())
        >>> prefix = model.new_cache(1, 100)
        >>> logits = model.forward(torch.tensor([[5, 6, 7]]), prefix)
        >>> one, other = prefix.fork(), prefix.fork(capacity=50)
        >>> torch.equal(model.forward(torch.tensor([[8]]), one), model.forward(torch.tensor([[8]]), other))
        True
        """
        capacity = self._capacity if capacity is None else capacity
        if capacity < max(1, self._length):
            raise ContextTooLong(needed=self._length, available=capacity, what="the KV cache")
        other = CpuCache.__new__(CpuCache)
        other._block_size, other._capacity, other._length = self._block_size, capacity, self._length
        for row in self._rows:
            for block in row.blocks:
                block.is_shared = True
        other._rows = [row.copy() for row in self._rows]
        return other

    def copy_out(self, start: int, stop: int) -> CpuBlocks:
        """What a cache of one row holds of the tokens from ``start`` up to ``stop``, whole blocks; it is shared."""
        if not 0 <= start < stop <= self._length or start % BLOCK_POSITIONS or stop % BLOCK_POSITIONS:
            raise ValueError(
                f"cannot copy tokens {start} to {stop}: expected multiples of {BLOCK_POSITIONS} within the "
                f"{self._length} held"
            )
        blocks = self._rows[0].blocks[start // BLOCK_POSITIONS : stop // BLOCK_POSITIONS]
        for block in blocks:
            block.is_shared = True
        return CpuBlocks(tuple(blocks))

    def append(self, blocks: CpuBlocks) -> None:
        """Hold the tokens of ``blocks`` after those held; they must be of the same positions as where they were."""
        count = BLOCK_POSITIONS * len(blocks.blocks)
        self.require_room(count)
        if self._length % BLOCK_POSITIONS:
            raise ValueError(
                f"cannot append blocks: the {self._length} tokens held are no multiple of {BLOCK_POSITIONS}"
            )
        row = self._rows[0]
        row.blocks[self._length // BLOCK_POSITIONS :] = blocks.blocks
        row.addresses = np.array([block.address for block in row.blocks], np.int64)
        self.advance(count)

    def require_room(self, num_tokens: int) -> None:
        """Raise :class:`ContextTooLong` unless ``num_tokens`` more fit."""
        if self._length + num_tokens > self._capacity:
            raise ContextTooLong(needed=self._length + num_tokens, available=self._capacity, what="the KV cache")

    def make_room(self, num_tokens: int) -> None:
        """Have blocks of this cache's own for ``num_tokens`` tokens after those held."""
        first, last = self._length // BLOCK_POSITIONS, (self._length + num_tokens - 1) // BLOCK_POSITIONS
        for row in self._rows:
            for index in range(first, min(last + 1, len(row.blocks))):
                if row.blocks[index].is_shared:
                    row.blocks[index] = _Block(row.blocks[index].data.copy())
                    row.addresses[index] = row.blocks[index].address
            if len(row.blocks) <= last:
                while len(row.blocks) <= last:
                    row.blocks.append(_Block(np.empty(self._block_size, np.float32)))
                row.addresses = np.array([block.address for block in row.blocks], np.int64)

    def addresses(self, row: int) -> NDArray[np.int64]:
        """Addresses of a row's blocks, in order of positions."""
        return self._rows[row].addresses

    def advance(self, num_tokens: int) -> None:
        """Count ``num_tokens`` written tokens as held."""
        self._length += num_tokens


def block_numbers(config: LlamaConfig) -> int:
    """Numbers (float32) of a block: keys and values of 32 positions of one row."""
    of_head = (config.head_dim + _padded(config.head_dim)) * BLOCK_POSITIONS
    return config.num_hidden_layers * config.num_key_value_heads * of_head


def _padded(size: int) -> int:
    return -(-size // BLOCK_POSITIONS) * BLOCK_POSITIONS


def bytes_per_token(config: LlamaConfig) -> int:
    """Bytes of keys and values of one token."""
    return block_numbers(config) * 4 // BLOCK_POSITIONS
