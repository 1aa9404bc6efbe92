"""Philox-4x32-10: random words as a function of a key and a counter, so that no draw depends on another.

A 64-bit key and a 128-bit counter give four 32-bit words. The words of token ``id`` at a position are

    key     = (seed mod 2**32, seed div 2**32)
    counter = (id div 4, position, stream mod 2**32, stream div 2**32)
    h       = word (id mod 4) of philox(key, counter)

which is one to one: no two (seed, stream, position, id) share a word. The upper four bits of the position word stay 0
here; they are kept for draws of another purpose.

Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, section 3.3 and table 2.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grammars.jit import kernel

__all__ = ["MAX_POSITION", "philox_blocks", "philox_word", "philox_words_tensor"]

MAX_POSITION = 2**28 - 1

_ROUNDS = 10
_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)


@kernel
def philox_blocks(
    first: np.uint64,
    position: np.uint64,
    stream: np.uint64,
    seed: np.uint64,
    words_0: NDArray[np.uint32],
    words_1: NDArray[np.uint32],
    words_2: NDArray[np.uint32],
    words_3: NDArray[np.uint32],
) -> None:
    """Fill the words of ids 4 * first, 4 * first + 1, ...: word k of the j-th block into ``words_k[j]``.

    The rounds stand in the loop, and the four words in arrays of their own, so that the
    compiler makes vector code of it: some 0.4 ns a word.
    """
    stream_low = stream & _MASK
    stream_high = stream >> _SHIFT
    seed_low = seed & _MASK
    seed_high = seed >> _SHIFT
    for block in range(words_0.shape[0]):
        x0 = (first + np.uint64(block)) & _MASK
        x1 = position
        x2 = stream_low
        x3 = stream_high
        key_0 = seed_low
        key_1 = seed_high
        for _ in range(_ROUNDS):
            product_0 = _MULTIPLIER_0 * x0
            product_1 = _MULTIPLIER_1 * x2
            x0 = (product_1 >> _SHIFT) ^ x1 ^ key_0
            x2 = (product_0 >> _SHIFT) ^ x3 ^ key_1
            x1 = product_1 & _MASK
            x3 = product_0 & _MASK
            key_0 = (key_0 + _WEYL_0) & _MASK
            key_1 = (key_1 + _WEYL_1) & _MASK
        words_0[block] = x0
        words_1[block] = x1
        words_2[block] = x2
        words_3[block] = x3


@kernel
def philox_word(token_id: np.uint64, position: np.uint64, stream: np.uint64, seed: np.uint64) -> np.uint64:
    """The word of one id."""
    x0 = token_id >> np.uint64(2)
    x1 = position
    x2 = stream & _MASK
    x3 = stream >> _SHIFT
    key_0 = seed & _MASK
    key_1 = seed >> _SHIFT
    for _ in range(_ROUNDS):
        product_0 = _MULTIPLIER_0 * x0
        product_1 = _MULTIPLIER_1 * x2
        x0 = (product_1 >> _SHIFT) ^ x1 ^ key_0
        x2 = (product_0 >> _SHIFT) ^ x3 ^ key_1
        x1 = product_1 & _MASK
        x3 = product_0 & _MASK
        key_0 = (key_0 + _WEYL_0) & _MASK
        key_1 = (key_1 + _WEYL_1) & _MASK
    lane = token_id & np.uint64(3)
    if lane < np.uint64(2):
        return x0 if lane == np.uint64(0) else x1
    return x2 if lane == np.uint64(2) else x3


def philox_words_tensor(token_ids: Tensor, positions: Tensor, streams: Tensor, seeds: Tensor) -> Tensor:
    """The words of ids (B, N) under positions, streams and seeds (B,), as int64 (B, N) on their device.

    Streams and seeds are 64-bit patterns held in int64. The same words as the kernels', bit for bit; meant for devices
    other than the CPU.
    """
    mask = 0xFFFFFFFF
    x0 = token_ids >> 2  # (B, N)
    x1 = positions[:, None].expand_as(x0)
    x2 = (streams & mask)[:, None].expand_as(x0)
    x3 = ((streams >> 32) & mask)[:, None].expand_as(x0)
    key_0 = (seeds & mask)[:, None]  # (B, 1)
    key_1 = ((seeds >> 32) & mask)[:, None]
    for _ in range(_ROUNDS):
        product_0 = x0 * int(_MULTIPLIER_0)  # wraps in int64; the bits are those of the unsigned product
        product_1 = x2 * int(_MULTIPLIER_1)
        x0, x1, x2, x3 = (
            ((product_1 >> 32) & mask) ^ x1 ^ key_0,
            product_1 & mask,
            ((product_0 >> 32) & mask) ^ x3 ^ key_1,
            product_0 & mask,
        )
        key_0 = (key_0 + int(_WEYL_0)) & mask
        key_1 = (key_1 + int(_WEYL_1)) & mask
    words = torch.stack((x0, x1, x2, x3), dim=-1)  # (B, N, 4)
    return words.gather(-1, (token_ids & 3).unsqueeze(-1)).squeeze(-1)  # (B, N)
