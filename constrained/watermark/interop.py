"""transformers' own watermarks, found without torch: ``WatermarkingConfig`` (lefthash) and SynthID texts.

Lists and g-values are made bit for bit as transformers makes them on a CPU.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import WatermarkError
from .lefthash import left_green_ids, torch_words
from .statistics import poisson_binomial_tail, weighted_bits_tail
from .tournament import layer_weights

__all__ = ["InteropScore", "detect_lefthash", "detect_synthid", "synthid_g_values"]

_MULTIPLIER = 6364136223846793005
_MASK = 2**64 - 1


@dataclass(frozen=True, slots=True)
class InteropScore:
    """``statistic`` of ``num_scored`` tokens, and the exact probability of one at least as high by chance."""

    num_scored: int
    statistic: float
    z_score: float
    p_value: float


def detect_lefthash(
    token_ids: Sequence[int],
    *,
    vocab_size: int,
    greenlist_ratio: float = 0.25,
    hashing_key: int = 15485863,
    ignore_repeated_ngrams: bool = True,
) -> InteropScore:
    """Score text of transformers' ``WatermarkingConfig(seeding_scheme="lefthash")``, made on a CPU.

    ``token_ids`` begin with the token before the first one that is scored; ``vocab_size`` is the model's, not the
    tokenizer's. Without ``ignore_repeated_ngrams`` (transformers' default) pairs of tokens that come again count again,
    and the p-value is only right for text in which none does.

    >>> detect_lefthash([1, 5, 9, 5, 9], vocab_size=50).num_scored
    3
    """
    pairs = list(itertools.pairwise(token_ids))
    if ignore_repeated_ngrams:
        pairs = list(dict.fromkeys(pairs))
    if not pairs:
        raise WatermarkError("detect_lefthash: expected two tokens at least, got fewer")
    settings: Any = {"vocab_size": vocab_size, "gamma": greenlist_ratio, "hashing_key": hashing_key}
    hits = sum(bool(np.isin(token_id, left_green_ids(before, **settings))) for before, token_id in pairs)
    chance = int(vocab_size * greenlist_ratio) / vocab_size
    count = len(pairs)
    z_score = (hits - greenlist_ratio * count) / math.sqrt(count * greenlist_ratio * (1 - greenlist_ratio))
    return InteropScore(count, float(hits), z_score, poisson_binomial_tail([chance] * count, hits))


def synthid_g_values(token_ids: Sequence[int], config: Any) -> NDArray[np.uint8]:
    """(T - ngram_len + 1, layers) The bits that transformers' SynthID processor gives to the n-grams of a text.

    ``config`` is a ``SynthIDTextWatermarkingConfig``, or a mapping with its fields ``ngram_len``, ``keys``,
    ``sampling_table_seed`` and ``sampling_table_size`` (as in a generation_config.json).
    """
    config = _fields(config)
    length, keys = int(config["ngram_len"]), [int(key) for key in config["keys"]]
    table = _table(int(config.get("sampling_table_seed", 0)), int(config.get("sampling_table_size", 2**16)))
    ngrams = [token_ids[start : start + length] for start in range(len(token_ids) - length + 1)]
    bits = np.zeros((len(ngrams), len(keys)), np.uint8)
    for place, ngram in enumerate(ngrams):
        state = 1
        for token_id in ngram:
            state = _accumulate(state, int(token_id))
        for layer, key in enumerate(keys):
            hashed = _accumulate(state, key)
            bits[place, layer] = table[(hashed - 2**64 if hashed >= 2**63 else hashed) % len(table)]  # as int64
    return bits


def detect_synthid(token_ids: Sequence[int], config: Any) -> InteropScore:
    """Score text of transformers' SynthID processor by the weighted mean of its bits; no trained detector is needed.

    Each context counts once, as at generation. The first ``ngram_len - 1`` tokens of an output carry no mark that can
    be found.
    """
    length = int(_fields(config)["ngram_len"])
    bits = synthid_g_values(token_ids, config)
    contexts = [tuple(token_ids[start : start + length - 1]) for start in range(len(bits))]
    first = [context not in contexts[:start] for start, context in enumerate(contexts)]
    kept = bits[np.array(first, np.bool_)] if len(bits) else bits
    if not len(kept):
        raise WatermarkError(f"detect_synthid: expected at least ngram_len={length} tokens, got {len(token_ids)}")
    weights = layer_weights(bits.shape[1])
    total = int((kept.astype(np.int64) @ weights).sum())
    mean = float(weights.sum()) / 2 * len(kept)
    spread = math.sqrt(float((weights**2).sum()) / 4 * len(kept))
    return InteropScore(len(kept), float(total), (total - mean) / spread, weighted_bits_tail(weights, len(kept), total))


def _fields(config: Any) -> Mapping[str, Any]:
    """What a config says. Raises WatermarkError for what is none."""
    fields = config if isinstance(config, Mapping) else config.to_dict() if hasattr(config, "to_dict") else {}
    for name in ("ngram_len", "keys"):
        if name not in fields:
            raise WatermarkError(
                f"config: expected a SynthIDTextWatermarkingConfig or a mapping with its fields, got {config!r}, which "
                f"has no {name!r}"
            )
    return fields


def _accumulate(state: int, data: int) -> int:
    """One step of the linear congruential hash, in 64 bits."""
    return ((state + data) * _MULTIPLIER + 1) & _MASK


@lru_cache(maxsize=4)
def _table(seed: int, size: int) -> NDArray[np.uint8]:
    """The table of fair bits: ``torch.randint(0, 2, (size,))`` of a seeded generator on a CPU."""
    return (torch_words(seed, size) & 1).astype(np.uint8)
