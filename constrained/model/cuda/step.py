"""One token a row for all slots at once: the pass of a decode step, captured as a CUDA graph.

A pass of one token launches some ten kernels a layer, each shorter than its launch. A graph launches them all in one
go. It holds addresses and shapes, so there is one for each number of slots and each bound of length, powers of two;
lengths themselves are read from memory, and keys beyond them are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from constrained.model.cuda.attention import decode_attention
from constrained.model.cuda.slots import Slots
from constrained.model.layers import Attention, Block
from constrained.model.rope import rotate

if TYPE_CHECKING:
    from constrained.model.llama import Llama

__all__ = ["DecodeStep"]

_WARMING = 2
"""Passes before a capture: libraries allocate their workspaces in the first."""


class DecodeStep:
    """Runs one token for each of the first ``num_slots`` slots, whose rows have fewer than ``room`` tokens.

    On the CPU the same pass runs as it is, for tests.
    """

    def __init__(self, model: Llama, slots: Slots, *, num_slots: int, room: int) -> None:
        self.model = model
        self.keys, self.values = slots.keys[:, :num_slots, :, :room], slots.values[:, :num_slots, :, :room]
        self.cos, self.sin = model.rotary(slots.room)
        self.rows = torch.arange(num_slots, device=model.device)
        self.token_ids = torch.zeros(num_slots, dtype=torch.int64, device=model.device)
        self.positions = torch.zeros(num_slots, dtype=torch.int64, device=model.device)
        self.all_keys, self.all_values = slots.keys, slots.values
        self._graph: torch.cuda.CUDAGraph | None = None
        self._logits: Tensor | None = None

    @torch.no_grad()
    def run(self, token_ids: Tensor, positions: Tensor) -> Tensor:
        """Logits (slots, V) float32 of ``token_ids`` (slots,) at ``positions`` (slots,); both may be on the CPU.

        Keys and values are written there. A row that sits out is at position -1: it looks at nothing, and writes to the
        last place of its slot, which is nobody's. The logits are overwritten by the next call.
        """
        self.token_ids.copy_(token_ids, non_blocking=True)
        self.positions.copy_(positions, non_blocking=True)
        if not self.token_ids.is_cuda:
            return self._forward()
        if self._graph is None:
            self._capture()
        assert self._graph is not None
        assert self._logits is not None
        self._graph.replay()
        return self._logits

    def _capture(self) -> None:
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # the tokens are the real ones: writing them more than once changes nothing
            for _ in range(_WARMING):
                self._forward()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._logits = self._forward()
        self._graph = graph

    def _forward(self) -> Tensor:
        cos, sin = self.cos[self.positions], self.sin[self.positions]  # (slots, 1, D)
        hidden = F.embedding(self.token_ids, self.model.embedding.weight)  # (slots, hidden)
        for block in cast(Iterable[Block], self.model.blocks):
            hidden = hidden + self._attend(block.attention, block.attention_norm(hidden), cos, sin)
            hidden = hidden + block.mlp(block.mlp_norm(hidden))
        return self.model.scores(hidden)

    def _attend(self, attention: Attention, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        turning = attention.num_heads + attention.num_kv_heads
        heads = attention.qkv(x).view(1, len(self.rows), -1, attention.head_dim)  # (1, slots, H + 2 Hkv, D)
        turned = rotate(heads[:, :, :turning], cos, sin)[0]
        queries, new_keys = turned[:, : attention.num_heads], turned[:, attention.num_heads :]
        self.all_keys[attention.layer][self.rows, :, self.positions] = new_keys
        self.all_values[attention.layer][self.rows, :, self.positions] = heads[0, :, turning:]
        keys, values = self.keys[attention.layer], self.values[attention.layer]  # (slots, Hkv, room, D)
        mixed = decode_attention(queries, keys, values, self.positions, window=attention.sliding_window)
        return attention.output(mixed.flatten(1))  # type: ignore[no-any-return]
