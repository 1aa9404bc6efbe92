"""Slow, clear twins of the post-forward stage, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from constrained.processors import StepContext
from constrained.processors.mask import bitmask_of
from constrained.sampling_config import SamplingConfig


def philox(
    counter: Sequence[int], key: Sequence[int], *, multipliers: Sequence[int], weyl: Sequence[int], bits: int
) -> list[int]:
    """Philox-4xW-10 as in the paper, for words of any width."""
    mask = 2**bits - 1
    words, keys = list(counter), list(key)
    for _ in range(10):
        product_0, product_1 = multipliers[0] * words[0], multipliers[1] * words[2]
        words = [
            (product_1 >> bits) ^ words[1] ^ keys[0],
            product_1 & mask,
            (product_0 >> bits) ^ words[3] ^ keys[1],
            product_0 & mask,
        ]
        keys = [(keys[0] + weyl[0]) & mask, (keys[1] + weyl[1]) & mask]
    return words


def philox4x32(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    return philox(counter, key, multipliers=(0xD2511F53, 0xCD9E8D57), weyl=(0x9E3779B9, 0xBB67AE85), bits=32)


def word(seed: int, stream: int, position: int, token_id: int) -> int:
    """The random word of a token, by the layout that constrained.philox documents."""
    counter = (token_id // 4, position, stream % 2**32, stream // 2**32)
    return philox4x32(counter, (seed % 2**32, seed // 2**32))[token_id % 4]


def gumbel(h: int) -> float:
    return -math.log(-math.log((h + 0.5) / 2**32))


def draw(logits: Sequence[float], ids: Sequence[int], *, seed: int, stream: int, position: int) -> int:
    """The id with the largest logit + noise; ties to the lowest; -1 if every logit is -inf."""
    best, best_score = -1, -math.inf
    for token_id, logit in zip(ids, logits, strict=True):
        score = float(logit) + gumbel(word(seed, stream, position, token_id))
        if score > best_score:
            best, best_score = token_id, score
    return best


def by_rank(logits: Sequence[float]) -> list[int]:
    """Columns from the best to the worst, ties by column, without those of -inf."""
    columns = [column for column, logit in enumerate(logits) if logit > -math.inf]
    return sorted(columns, key=lambda column: (-float(logits[column]), column))


def top_k(logits: Sequence[float], k: int) -> set[int]:
    return set(by_rank(logits)[:k])


def top_p(logits: Sequence[float], p: float, *, epsilon: float) -> set[int]:
    order = by_rank(logits)
    if not order:
        return set()
    weights = [math.exp(float(logits[column]) - float(logits[order[0]])) for column in order]
    target = (p - epsilon) * math.fsum(weights)
    for count in range(1, len(order) + 1):
        if math.fsum(weights[:count]) >= target:
            return set(order[:count])
    return set(order)


def context(
    *configs: SamplingConfig,
    vocab_size: int,
    allowed: NDArray[np.bool_] | None = None,
    positions: Sequence[int] | None = None,
    streams: Sequence[int] | None = None,
    token_ids: torch.Tensor | None = None,
) -> StepContext:
    """A step of as many rows as there are configs; ``allowed`` (B, V) is everything by default."""
    rows = len(configs)
    if allowed is None:
        token_bitmask = np.tile(bitmask_of(np.ones(vocab_size, np.bool_)), (rows, 1))
    else:
        token_bitmask = np.stack([bitmask_of(row) for row in allowed])
    return StepContext(
        vocab_size=vocab_size,
        positions=tuple(positions or [0] * rows),
        sampling=tuple(configs),
        streams=tuple(streams or [0] * rows),
        token_bitmask=token_bitmask,
        token_ids=token_ids,
    )


def kept(logits: torch.Tensor) -> set[int]:
    """Columns of one row that are not -inf."""
    return set(torch.nonzero(logits > -torch.inf).flatten().tolist())
