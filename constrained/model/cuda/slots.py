"""Keys and values of many rows in one block of memory, a slot for each row.

A captured graph reads and writes fixed addresses, so rows live in slots of one tensor, and a step runs over the first
so many of them. A new row takes the lowest slot that is free. Where all are taken, or one is too short, a larger block
takes over: what was captured for the old one is of no use then.
"""

from __future__ import annotations

from weakref import WeakSet

import torch
from torch import Tensor

from constrained.model.config import LlamaConfig
from constrained.model.kv_cache import KVCache

__all__ = ["RowCache", "Slots"]


class RowCache(KVCache):
    """The cache of one row: a view of its slot. It holds the slot until it is forgotten."""

    def __init__(self, slots: Slots, slot: int, capacity: int) -> None:
        self.slots = slots
        self.slot = slot
        self._capacity = capacity
        self._length = 0

    @property
    def keys(self) -> Tensor:  # type: ignore[override]
        """(layers, 1, Hkv, capacity, D)"""
        return self.slots.keys[:, self.slot : self.slot + 1, :, : self._capacity]

    @property
    def values(self) -> Tensor:  # type: ignore[override]
        """(layers, 1, Hkv, capacity, D)"""
        return self.slots.values[:, self.slot : self.slot + 1, :, : self._capacity]


class Slots:
    """``keys`` and ``values``, (layers, slots, Hkv, room, D) each.

    ``room`` is one position more than the longest row may have: rows that sit out write there.

    >>> from constrained.testing.tiny import tiny_llama
    >>> slots = Slots(tiny_llama().config, device=torch.device("cpu"), dtype=torch.float32)
    >>> one, other = slots.take(10), slots.take(20)
    >>> one.slot, other.slot, slots.num_slots, slots.room
    (0, 1, 2, 21)
    """

    def __init__(self, config: LlamaConfig, *, device: torch.device, dtype: torch.dtype) -> None:
        self.config = config
        self.device, self.dtype = device, dtype
        self.rows: WeakSet[RowCache] = WeakSet()
        self.version = 0
        """Counts how often a new block took over."""
        self._allocate(0, 1)

    def _allocate(self, num_slots: int, room: int) -> None:
        config = self.config
        shape = (config.num_hidden_layers, num_slots, config.num_key_value_heads, room, config.head_dim)
        self.keys = torch.zeros(shape, device=self.device, dtype=self.dtype)
        self.values = torch.zeros(shape, device=self.device, dtype=self.dtype)

    @property
    def num_slots(self) -> int:
        """How many rows fit."""
        return self.keys.shape[1]

    @property
    def room(self) -> int:
        """Positions of a slot."""
        return self.keys.shape[3]

    def take(self, capacity: int) -> RowCache:
        """A cache of ``capacity`` positions in the lowest free slot."""
        taken = {row.slot for row in self.rows}
        slot = next(slot for slot in range(len(taken) + 1) if slot not in taken)
        if slot >= self.num_slots or capacity >= self.room:
            self._grow(slot + 1, capacity + 1)
        row = RowCache(self, slot, capacity)
        self.rows.add(row)
        return row

    def _grow(self, num_slots: int, room: int) -> None:
        keys, values = self.keys, self.values
        num_slots = keys.shape[1] if num_slots <= keys.shape[1] else 1 << (num_slots - 1).bit_length()
        self._allocate(num_slots, max(room, keys.shape[3]))
        for row in self.rows:
            self.keys[:, row.slot, :, : row.length] = keys[:, row.slot, :, : row.length]
            self.values[:, row.slot, :, : row.length] = values[:, row.slot, :, : row.length]
        self.version += 1
