"""The words of :mod:`constrained.philox` in tensor operations, for devices whose memory the kernels cannot read."""

from __future__ import annotations

import torch
from torch import Tensor

from constrained.philox import MULTIPLIER_0, MULTIPLIER_1, ROUNDS, WEYL_0, WEYL_1

__all__ = ["philox_words_tensor"]


def philox_words_tensor(token_ids: Tensor, keys: Tensor) -> Tensor:
    """The words of ids (B, N) under keys (B, 3), as int64 (B, N) on their device.

    Keys are those of :func:`constrained.philox.draw_key`, their bits read as int64. The words are the kernels', bit
    for bit; meant for devices other than the CPU.
    """
    mask = 0xFFFFFFFF
    x0 = token_ids >> 2  # (B, N)
    x1 = keys[:, 2:].expand_as(x0)
    x2 = (keys[:, 1:2] & mask).expand_as(x0)
    x3 = ((keys[:, 1:2] >> 32) & mask).expand_as(x0)
    key_0 = keys[:, :1] & mask  # (B, 1)
    key_1 = (keys[:, :1] >> 32) & mask
    for _ in range(ROUNDS):
        product_0 = x0 * int(MULTIPLIER_0)  # wraps in int64; the bits are those of the unsigned product
        product_1 = x2 * int(MULTIPLIER_1)
        x0, x1, x2, x3 = (
            ((product_1 >> 32) & mask) ^ x1 ^ key_0,
            product_1 & mask,
            ((product_0 >> 32) & mask) ^ x3 ^ key_1,
            product_0 & mask,
        )
        key_0 = (key_0 + int(WEYL_0)) & mask
        key_1 = (key_1 + int(WEYL_1)) & mask
    words = torch.stack((x0, x1, x2, x3), dim=-1)  # (B, N, 4)
    return words.gather(-1, (token_ids & 3).unsqueeze(-1)).squeeze(-1)  # (B, N)
