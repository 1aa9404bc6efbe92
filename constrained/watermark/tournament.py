"""The tournament of a ``synthid`` watermark: a token's word has one fair bit for each round.

With p the distribution before a round, g the round's bits and q the probability of bit 1, a round makes p(v) into
p(v) (1 + g(v) - q): of two tokens drawn from p, the one with the larger bit wins, and a draw is decided by a coin.
Averaged over the bits nothing changes, so over all keys the watermark does not distort.

Source: Dathathri et al., "Scalable watermarking for identifying large language model outputs", Nature 634 (2024),
algorithm 2 and equation 19 (two-leaf tournaments).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from constrained.philox import philox_blocks, philox_word
from grammars.jit import kernel

__all__ = ["LANES", "layer_weights", "play"]

LANES = 8


def layer_weights(layers: int) -> NDArray[np.int64]:
    """(layers,) What the rounds count in a score: 10 for the first down to 1 for the last, as whole numbers.

    Early rounds find more choice than late ones. Whole numbers, so that the score's law under the null is exact.

    >>> layer_weights(4).tolist()
    [10, 7, 4, 1]
    """
    return np.rint(np.linspace(10, 1, layers)).astype(np.int64)


@kernel
def play(
    logits: NDArray[np.float32],
    token_ids: NDArray[np.int64],
    key: NDArray[np.uint64],
    layers: int,
    words: NDArray[np.uint32],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Replace ``logits`` (N,) by those after ``layers`` rounds, in place.

    ``token_ids`` are as in :func:`constrained.watermark.green.add_to_green`. Room to work in: ``words`` (4, M) with
    4 M >= N, ``weights`` of N rounded up to whole :data:`LANES`, ``sums`` (LANES,).
    """
    size = logits.shape[0]
    padded = weights.shape[0]
    best = logits[0]
    for column in range(size):
        best = max(best, logits[column])
    total = 0.0
    for column in range(size):
        weights[column] = math.exp(float(logits[column]) - float(best))
        total += weights[column]
    for column in range(size, padded):
        weights[column] = 0.0
    bits = np.zeros(padded, np.uint32)
    if token_ids.shape[0]:
        for column in range(size):
            bits[column] = np.uint32(philox_word(token_ids[column], key))
    else:
        philox_blocks(0, key, words[0], words[1], words[2], words[3])
        for column in range(size):
            bits[column] = words[column & 3, column >> 2]
    scale = 1.0 / total
    for column in range(padded):
        weights[column] *= scale
    _rounds(weights, bits, layers, sums)
    for column in range(size):
        if logits[column] > -np.inf:
            logits[column] = np.float32(math.log(weights[column])) if weights[column] > 0.0 else -np.inf


@kernel
def _rounds(weights: NDArray[np.float64], bits: NDArray[np.uint32], layers: int, sums: NDArray[np.float64]) -> None:
    """Play every round on ``weights`` (N,), N a multiple of :data:`LANES`, whose sum is 1."""
    for layer in range(layers):
        shift = np.uint32(layer)
        sums[:] = 0.0
        for start in range(0, weights.shape[0], LANES):
            for lane in range(LANES):
                bit = (bits[start + lane] >> shift) & np.uint32(1)
                sums[lane] += weights[start + lane] * float(bit)
        won = 0.0
        for lane in range(LANES):
            won += sums[lane]
        won = min(won, 1.0)  # rounding must not make a weight negative
        for column in range(weights.shape[0]):
            bit = (bits[column] >> shift) & np.uint32(1)
            weights[column] *= 1.0 + float(bit) - won
