"""Philox-4x32-10: random words as a function of a key and a counter, so that no draw depends on another.

A 64-bit key and a 128-bit counter give four 32-bit words. The words of token ``id`` at a position are

    key     = (seed mod 2**32, seed div 2**32)
    counter = (id div 4, position, stream mod 2**32, stream div 2**32)
    h       = word (id mod 4) of philox(key, counter)

which is one to one: no two (seed, stream, position, id) share a word. The upper four bits of the position word say what
the words are for (:data:`DRAWS`, :data:`WATERMARK`, ...), so that no purpose meets the words of another.

Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, section 3.3 and table 2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammars.jit import kernel

__all__ = [
    "DRAWS",
    "MAX_POSITION",
    "MULTIPLIER_0",
    "MULTIPLIER_1",
    "PARTICLES",
    "ROUNDS",
    "WATERMARK",
    "WEYL_0",
    "WEYL_1",
    "draw_key",
    "gumbel",
    "philox_blocks",
    "philox_word",
]

MAX_POSITION = 2**28 - 1

DRAWS, WATERMARK, PARTICLES = 0, 1, 2
"""Purposes: which token comes next, the watermark's words, and the choices of samplers that run several texts."""

ROUNDS = 10
_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)


def draw_key(*, seed: int, stream: int, position: int, purpose: int = DRAWS) -> NDArray[np.uint64]:
    """(3,) What the kernels take: seed and stream from 0 to 2**64 - 1, position from 0 to :data:`MAX_POSITION`."""
    if not 0 <= position <= MAX_POSITION:
        raise ValueError(f"position: expected 0 to {MAX_POSITION:,}, got {position}")
    return np.array([seed, stream, position | purpose << 28], np.uint64)


@kernel
def philox_blocks(
    first: int,
    key: NDArray[np.uint64],
    words_0: NDArray[np.uint32],
    words_1: NDArray[np.uint32],
    words_2: NDArray[np.uint32],
    words_3: NDArray[np.uint32],
) -> None:
    """Fill the words of ids 4 * first, 4 * first + 1, ...: word k of the j-th block into ``words_k[j]``.

    ``key`` is that of :func:`draw_key`.
    The rounds stand in the loop, and the four words in arrays of their own, so that the
    compiler makes vector code of it: some 0.4 ns a word.
    """
    seed_low = key[0] & _MASK
    seed_high = key[0] >> _SHIFT
    stream_low = key[1] & _MASK
    stream_high = key[1] >> _SHIFT
    position = key[2]
    origin = np.uint64(first)
    for block in range(words_0.shape[0]):
        x0 = (origin + np.uint64(block)) & _MASK
        x1 = position
        x2 = stream_low
        x3 = stream_high
        key_0 = seed_low
        key_1 = seed_high
        for _ in range(ROUNDS):
            product_0 = MULTIPLIER_0 * x0
            product_1 = MULTIPLIER_1 * x2
            x0 = (product_1 >> _SHIFT) ^ x1 ^ key_0
            x2 = (product_0 >> _SHIFT) ^ x3 ^ key_1
            x1 = product_1 & _MASK
            x3 = product_0 & _MASK
            key_0 = (key_0 + WEYL_0) & _MASK
            key_1 = (key_1 + WEYL_1) & _MASK
        words_0[block] = x0
        words_1[block] = x1
        words_2[block] = x2
        words_3[block] = x3


@kernel
def philox_word(token_id: int, key: NDArray[np.uint64]) -> np.uint64:
    """The word of one id under the ``key`` of :func:`draw_key`."""
    x0 = np.uint64(token_id) >> np.uint64(2)
    x1 = key[2]
    x2 = key[1] & _MASK
    x3 = key[1] >> _SHIFT
    key_0 = key[0] & _MASK
    key_1 = key[0] >> _SHIFT
    for _ in range(ROUNDS):
        product_0 = MULTIPLIER_0 * x0
        product_1 = MULTIPLIER_1 * x2
        x0 = (product_1 >> _SHIFT) ^ x1 ^ key_0
        x2 = (product_0 >> _SHIFT) ^ x3 ^ key_1
        x1 = product_1 & _MASK
        x3 = product_0 & _MASK
        key_0 = (key_0 + WEYL_0) & _MASK
        key_1 = (key_1 + WEYL_1) & _MASK
    lane = token_id & 3
    word: np.uint64 = x0
    if lane == 1:
        word = x1
    elif lane == 2:
        word = x2
    elif lane == 3:
        word = x3
    return word


@kernel
def gumbel(word: int | np.unsignedinteger[Any]) -> float:
    """-ln(-ln u) of u = (word + 1/2) / 2**32, for a word from 0 to 2**32 - 1."""
    return -math.log(-math.log((float(word) + 0.5) * 2.0**-32))
