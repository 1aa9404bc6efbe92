"""The parts of a Llama block: attention, gated feed-forward, and the block that joins them.

Sources: RMSNorm, Zhang & Sennrich (arXiv:1910.07467) eq. 4; grouped-query attention, Ainslie et al. (arXiv:2305.13245);
SwiGLU, Shazeer (arXiv:2002.05202) eq. 6. Query, key and value projections are one matrix, and so are gate and up: one
product reads the input once. Shapes: B rows, T new tokens, S tokens in all, H heads, Hkv key/value heads, D head size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from constrained.model.config import LlamaConfig
from constrained.model.kv_cache import KVCache
from constrained.model.rope import rotate

__all__ = ["MLP", "Attention", "Block", "Linear", "Pass", "RMSNorm"]


@dataclass(frozen=True, slots=True)
class Pass:
    """What every layer of one forward pass shares."""

    cache: KVCache
    cos: Tensor  # (T, 1, D)
    sin: Tensor  # (T, 1, D), first half negated
    attn_mask: Tensor | None  # (T, S) bool, True = may look; None: no mask needed beyond is_causal
    is_causal: bool


class Linear(nn.Module):
    """y = x W^T + b, weights left uninitialised."""

    def __init__(self, size_in: int, size_out: int, *, bias: bool = False, **factory: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size_out, size_in, **factory), requires_grad=False)
        self.bias = nn.Parameter(torch.empty(size_out, **factory), requires_grad=False) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class RMSNorm(nn.Module):
    """x / rms(x) * weight, the mean of squares taken in float32."""

    def __init__(self, size: int, eps: float, **factory: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, **factory), requires_grad=False)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


class Attention(nn.Module):
    """Causal grouped-query attention over the cache."""

    def __init__(self, config: LlamaConfig, layer: int, **factory: Any) -> None:
        super().__init__()
        self.layer = layer
        self.num_heads = config.num_attention_heads
        self.num_kv_heads = config.num_key_value_heads
        self.head_dim = config.head_dim
        self.sliding_window = config.sliding_window
        bias = config.attention_bias
        width = self.num_heads * self.head_dim
        heads_in_all = self.num_heads + 2 * self.num_kv_heads
        self.qkv = Linear(config.hidden_size, heads_in_all * self.head_dim, bias=bias, **factory)
        self.output = Linear(width, config.hidden_size, bias=bias, **factory)

    def forward(self, x: Tensor, shared: Pass) -> Tensor:
        rows, steps, _ = x.shape
        heads = self.qkv(x).view(rows, steps, -1, self.head_dim)  # (B, T, H + 2 Hkv, D)
        turned = rotate(heads[:, :, : self.num_heads + self.num_kv_heads], shared.cos, shared.sin)
        queries, new_keys = turned[:, :, : self.num_heads], turned[:, :, self.num_heads :]
        new_values = heads[:, :, self.num_heads + self.num_kv_heads :]
        keys, values = shared.cache.write(self.layer, new_keys, new_values)  # (B, Hkv, S, D)
        attend = self._attend_one if steps == 1 else self._attend_many
        return self.output(attend(queries, keys, values, shared))  # type: ignore[no-any-return]

    def _attend_one(self, queries: Tensor, keys: Tensor, values: Tensor, shared: Pass) -> Tensor:
        """One new token sees everything in its window, so the query heads of a group can stand in for the T axis."""
        rows = queries.shape[0]
        if self.sliding_window is not None:
            keys, values = keys[:, :, -self.sliding_window :], values[:, :, -self.sliding_window :]
        grouped = queries.reshape(rows, self.num_kv_heads, -1, self.head_dim)  # (B, Hkv, H / Hkv, D)
        return F.scaled_dot_product_attention(grouped, keys, values).reshape(rows, 1, -1)  # (B, 1, H D)

    def _attend_many(self, queries: Tensor, keys: Tensor, values: Tensor, shared: Pass) -> Tensor:
        rows, steps = queries.shape[:2]
        mixed = F.scaled_dot_product_attention(
            queries.transpose(1, 2),  # (B, H, T, D)
            keys,
            values,
            attn_mask=shared.attn_mask,
            is_causal=shared.is_causal,
            enable_gqa=self.num_heads != self.num_kv_heads,
        )
        return mixed.transpose(1, 2).reshape(rows, steps, -1)  # (B, T, H D)


class MLP(nn.Module):
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, config: LlamaConfig, **factory: Any) -> None:
        super().__init__()
        self.gate_up = Linear(config.hidden_size, 2 * config.intermediate_size, bias=config.mlp_bias, **factory)
        self.down = Linear(config.intermediate_size, config.hidden_size, bias=config.mlp_bias, **factory)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate).mul_(up))  # type: ignore[no-any-return]


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, config: LlamaConfig, layer: int, **factory: Any) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, config.rms_norm_eps, **factory)
        self.attention = Attention(config, layer, **factory)
        self.mlp_norm = RMSNorm(config.hidden_size, config.rms_norm_eps, **factory)
        self.mlp = MLP(config, **factory)

    def forward(self, x: Tensor, shared: Pass) -> Tensor:
        x = x + self.attention(self.attention_norm(x), shared)
        return x + self.mlp(self.mlp_norm(x))  # type: ignore[no-any-return]
