"""A fixed digest of raw bits, and what else of a step's logits is kept; on the CPU by a kernel.

``nh64``: words of 32 bits, an odd number of them followed by a zero, are taken in pairs; each pair is xored with a pair
of keys (SplitMix64 of its index), and the products of its halves are summed modulo 2**64, with the halves changed over
added so that no half hides the other. The sum has no order, so any machine may cut it as it likes and gets the same.

Source of the products: Black et al., "UMAC: Fast and Secure Message Authentication", CRYPTO 1999, section 4 (NH), with
xor for addition. It finds accidents; it is no cryptographic digest.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grammars.jit import kernel

__all__ = ["DIGEST_NAME", "count_bits", "digest_tensor", "digest_words", "read_row"]

DIGEST_NAME = "nh64"
"""The name of the digest, as records have it."""

_BLOCK = 256


@lru_cache(maxsize=8)
def _keys(num_pairs: int) -> NDArray[np.uint64]:
    """(num_pairs,) SplitMix64 of 1, 2, 3 ..."""
    state = np.arange(1, num_pairs + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    keys: NDArray[np.uint64] = state ^ (state >> np.uint64(31))
    return keys


@kernel
def _digest(pairs: NDArray[np.uint64], keys: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Write the digest of ``pairs`` to ``out[0]``."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    total = np.uint64(pairs.shape[0])
    for index in range(pairs.shape[0]):
        pair = pairs[index]
        mixed = pair ^ keys[index]
        total += (mixed & low) * (mixed >> half) + ((pair << half) | (pair >> half))
    out[0] = total


@kernel
def _count_bits(words: NDArray[np.int32]) -> int:
    """How many bits of ``words`` are set."""
    count = 0
    for index in range(words.shape[0]):
        word = np.uint32(words[index])
        word = word - ((word >> np.uint32(1)) & np.uint32(0x55555555))
        word = (word & np.uint32(0x33333333)) + ((word >> np.uint32(2)) & np.uint32(0x33333333))
        word = (word + (word >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
        count += int(np.uint32(word * np.uint32(0x01010101)) >> np.uint32(24))
    return count


@kernel
def _find_best(
    logits: NDArray[np.float32], words: NDArray[np.int32], ids: NDArray[np.int64], values: NDArray[np.float32]
) -> None:
    """Write the largest allowed ``logits`` (V,), best first, and their ids; equal ones by ascending id.

    ``values`` begins as -inf, ``ids`` as -1. Most blocks allow nothing, or hold nothing above the least one kept; both
    are quick to see.
    """
    size, last = logits.shape[0], ids.shape[0] - 1
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        allowed = np.int32(0)
        for index in range(start >> 5, (stop + 31) >> 5):
            allowed |= words[index]
        if allowed == np.int32(0):
            continue
        bound = values[last]
        block = logits[start:stop]
        above = np.int32(0)
        for index in range(block.shape[0]):
            above += np.int32(block[index] > bound)
        if above == np.int32(0):
            continue
        for column in range(start, stop):
            logit = logits[column]
            if not logit > values[last] or not (words[column >> 5] >> np.int32(column & 31)) & np.int32(1):
                continue
            place = last
            while place > 0 and logit > values[place - 1]:
                values[place], ids[place] = values[place - 1], ids[place - 1]
                place -= 1
            values[place], ids[place] = logit, column


def digest_words(words: NDArray[np.generic]) -> int:
    """The ``nh64`` digest of a contiguous array of numbers of 32 bits (N,).

    >>> digest_words(np.zeros(3, np.float32)) == digest_words(np.array([0.0, -0.0, 0.0], np.float32))
    False
    """
    count = words.shape[0]
    if count % 2 or words.ctypes.data % 8:
        padded = np.zeros(count + count % 2, words.dtype)
        padded[:count] = words
        words = padded
    out = np.empty(1, np.uint64)
    pairs = words.view(np.uint64)
    _digest(pairs, _keys(len(pairs)), out)
    return int(out[0])


def digest_tensor(rows: Tensor) -> Tensor:
    """(B,) int64: the same of each row of ``rows`` (B, N) float32, in tensor operations and one sum, for any device."""
    if rows.shape[1] % 2:
        rows = torch.nn.functional.pad(rows, (0, 1))
    pairs = rows.contiguous().view(torch.int64)  # (B, N / 2)
    mixed = pairs ^ _key_tensor(pairs.shape[1], pairs.device)
    low = 0xFFFFFFFF
    swapped = (pairs << 32) | ((pairs >> 32) & low)
    return ((mixed & low) * ((mixed >> 32) & low) + swapped).sum(dim=1) + pairs.shape[1]


@lru_cache(maxsize=4)
def _key_tensor(num_pairs: int, device: torch.device) -> Tensor:
    return torch.from_numpy(_keys(num_pairs).view(np.int64)).to(device)


def count_bits(words: NDArray[np.int32]) -> int:
    """How many ids a bitmask (ceil(V / 32),) allows.

    >>> count_bits(np.array([5, -1], np.int32))
    34
    """
    return int(_count_bits(words))


def read_row(logits: NDArray[np.float32], words: NDArray[np.int32], count: int) -> tuple[list[tuple[int, float]], int]:
    """Of logits (V,) and a bitmask (ceil(V / 32),): the ``count`` best allowed ids with their logits, and the digest.

    >>> read_row(np.array([1.0, 3.0, 2.0], np.float32), np.array([5], np.int32), 2)[0]
    [(2, 2.0), (0, 1.0)]
    """
    ids = np.full(count, -1, np.int64)
    values = np.full(count, -np.inf, np.float32)
    _find_best(logits, words, ids, values)
    best = [(token_id, value) for token_id, value in zip(ids.tolist(), values.tolist(), strict=True) if token_id >= 0]
    return best, digest_words(logits)
