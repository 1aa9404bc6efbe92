"""The tournament of a ``synthid`` watermark: a token's word has one fair bit for each round.

With p the distribution before a round, g the round's bits and q the probability of bit 1, a round makes p(v) into
p(v) (1 + g(v) - q): of two tokens drawn from p, the one with the larger bit wins, and a draw is decided by a coin.
Averaged over the bits nothing changes, so over all keys the watermark does not distort.

Source: Dathathri et al., "Scalable watermarking for identifying large language model outputs", Nature 634 (2024),
algorithm 2 and equation 19 (two-leaf tournaments).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrained.philox import philox_blocks, philox_word
from grammars.jit import kernel

__all__ = ["layer_weights", "play"]


def layer_weights(layers: int) -> NDArray[np.int64]:
    """(layers,) What the rounds count in a score: 10 for the first down to 1 for the last, as whole numbers.

    Early rounds find more choice than late ones. Whole numbers, so that the score's law under the null is exact.

    >>> layer_weights(4).tolist()
    [10, 7, 4, 1]
    """
    return np.rint(np.linspace(10, 1, layers)).astype(np.int64)


def play(logits: NDArray[np.float32], token_ids: NDArray[np.int64], key: NDArray[np.uint64], layers: int) -> None:
    """Replace ``logits`` (N,), one of them above -inf, by those after ``layers`` rounds, in place.

    ``token_ids`` are as in :func:`constrained.watermark.green.add_to_green`.
    """
    size = logits.shape[0]
    bits = np.empty(-(-size // 4) * 4, np.int32)
    if len(token_ids):
        _list_words(token_ids, key, bits)
    else:
        lanes = np.empty((4, len(bits) // 4), np.uint32)
        philox_blocks(0, key, lanes[0], lanes[1], lanes[2], lanes[3])
        bits[:] = lanes.T.reshape(-1).view(np.int32)
    weights = np.exp(logits.astype(np.float64) - float(logits.max()))
    weights *= 1.0 / weights.sum()
    _play_rounds(weights, bits, layers, np.empty(size))
    with np.errstate(divide="ignore"):
        np.log(weights, out=weights)
    logits[:] = weights  # what was -inf has weight 0 and stays -inf


@kernel
def _list_words(token_ids: NDArray[np.int64], key: NDArray[np.uint64], words: NDArray[np.int32]) -> None:
    """The words of tokens, their bits read as int32."""
    for column in range(token_ids.shape[0]):
        words[column] = np.int32(np.uint32(philox_word(token_ids[column], key)))


@kernel
def _play_rounds(
    weights: NDArray[np.float64], bits: NDArray[np.int32], layers: int, products: NDArray[np.float64]
) -> None:
    """Play every round on ``weights`` (N,), whose sum is 1; ``bits`` are used up, ``products`` (N,) is room to work in.

    A sum is made by adding halves to each other, so that the compiler makes vector code of it and its order is the same
    everywhere.
    """
    size = weights.shape[0]
    one = np.int32(1)
    for column in range(size):
        products[column] = weights[column] * float(bits[column] & one)
    for _ in range(layers):
        length = size
        while length > 1:
            half = length // 2
            low = products[:half]
            high = products[length - half : length]
            for place in range(half):
                low[place] += high[place]
            length -= half
        lost = 1.0 - min(products[0], 1.0)  # rounding must not make a weight negative
        for column in range(size):
            bit = bits[column]
            weight = weights[column] * (lost + float(bit & one))
            bit = bit >> one
            bits[column] = bit
            weights[column] = weight
            products[column] = weight * float(bit & one)
