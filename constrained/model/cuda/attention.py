"""Attention of one new token a row, over as many keys as its row has."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["decode_attention", "decode_attention_tensor"]


def decode_attention(
    queries: Tensor, keys: Tensor, values: Tensor, positions: Tensor, *, window: int | None = None
) -> Tensor:
    """(B, H, D): row b looks at the keys of its positions up to ``positions[b]``, the last ``window`` of them.

    ``queries`` (B, H, D), ``keys`` and ``values`` (B, Hkv, S, D), whatever lies beyond; ``positions`` (B,) int64. On
    CUDA by kernels that read only what is looked at, else in tensor operations.
    """
    if queries.is_cuda:
        from constrained.model.cuda.kernels import split_attention

        return split_attention(queries, keys, values, positions, window=window)
    return decode_attention_tensor(queries, keys, values, positions, window=window)


def decode_attention_tensor(
    queries: Tensor, keys: Tensor, values: Tensor, positions: Tensor, *, window: int | None = None
) -> Tensor:
    """The same in tensor operations, all of S at once, in float32."""
    rows, heads, head_dim = queries.shape
    grouped = queries.view(rows, keys.shape[1], -1, head_dim).float()  # (B, Hkv, H / Hkv, D)
    weights = grouped @ keys.float().transpose(-1, -2) * head_dim**-0.5  # (B, Hkv, H / Hkv, S)
    places = torch.arange(keys.shape[2], device=keys.device)
    seen = places <= positions[:, None]  # (B, S)
    if window is not None:
        seen &= places > positions[:, None] - window
    weights = weights.masked_fill(~seen[:, None, None], -torch.inf).softmax(-1)
    clean = torch.where(seen[:, None, :, None], values.float(), 0.0)  # what was never written may be NaN
    mixed: Tensor = weights @ clean
    return mixed.view(rows, heads, head_dim).to(queries.dtype)
