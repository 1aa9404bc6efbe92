"""What the free tokens of a text score under a key: one number of marks, and how probable so many are by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from constrained.philox import philox_word

from .contexts import Marker
from .green import green_of_few, threshold_of
from .replay import FreePosition
from .statistics import gamma_tail, poisson_binomial_tail, weighted_bits_tail, weighted_tail
from .tournament import layer_weights

__all__ = ["Score", "TokenScore", "score"]

#: Weights are rounded to so many steps, so that the law of a weighted sum is exact.
_STEPS = 64


@dataclass(frozen=True, slots=True)
class TokenScore:
    """One scored token."""

    index: int
    """Which of the text's tokens."""
    value: float
    """``gumbel``: -ln(1 - u), 1 on average under the null; ``kgw``: 1 if green, else 0; ``synthid``: the weighted share
    of 1 bits, one half on average under the null."""
    expected: float
    """Its mean under the null."""
    variance: float


@dataclass(frozen=True, slots=True)
class Score:
    """A text's score. ``p_value`` is exact: the probability of a score at least as high by chance."""

    statistic: float
    p_value: float
    z_score: float
    tokens: tuple[TokenScore, ...]


def score(free: Sequence[FreePosition], marker: Marker, *, weights: Sequence[float] | None = None) -> Score:
    """Score the free tokens of a text. ``weights``, one for each, make some count more (0: not at all).

    Under ``gumbel`` and ``synthid`` a token counts the first time that its context comes, under ``kgw`` the first time
    that it comes after its context; under the first two weights can only be 0 or not.
    """
    scheme = marker.config.scheme
    seen: set[tuple[int, int]] = set()
    scored: list[TokenScore] = []
    chances: list[float] = []
    kept: list[float] = []
    layers = layer_weights(marker.config.layers)
    for place, position in enumerate(free):
        context = marker.context_of(position.context)
        occurrence = (context, position.token_id if scheme == "kgw" else -1)
        if occurrence in seen:
            continue
        seen.add(occurrence)
        weight = 1.0 if weights is None else weights[place]
        if weight <= 0.0:
            continue
        if scheme == "kgw" and position.few is not None and len(position.few) < 2:
            continue  # this token or the end of the text: neither was favoured
        kept.append(weight)
        key = marker.words_key(context)
        if scheme == "kgw":
            green, chance = _green(position, key, marker.config.gamma)
            chances.append(chance)
            scored.append(TokenScore(position.index, float(green), chance, chance * (1.0 - chance)))
            continue
        word = int(philox_word(position.token_id, key))
        if scheme == "gumbel":
            scored.append(TokenScore(position.index, -math.log1p(-(word + 0.5) * 2.0**-32), 1.0, 1.0))
        else:
            bits = (word >> np.arange(marker.config.layers)) & 1
            variance = float((layers**2).sum()) / (4.0 * float(layers.sum()) ** 2)
            scored.append(TokenScore(position.index, float(bits @ layers) / float(layers.sum()), 0.5, variance))
    return _total(scored, chances, kept if scheme == "kgw" and weights is not None else None, marker)


def _green(
    position: FreePosition, key: np.ndarray[tuple[int], np.dtype[np.uint64]], gamma: float
) -> tuple[bool, float]:
    """Whether a token is green, and the chance of that under the null."""
    if position.few is not None:
        green = green_of_few(position.few, key, gamma)
        at = int(np.searchsorted(position.few, position.token_id))
        return bool(green[at]), float(green.sum()) / len(green)
    threshold = threshold_of(gamma)
    return int(philox_word(position.token_id, key)) < threshold, threshold * 2.0**-32


def _total(scored: list[TokenScore], chances: list[float], weights: list[float] | None, marker: Marker) -> Score:
    if not scored:
        return Score(0.0, 1.0, 0.0, ())
    factors = np.ones(len(scored)) if weights is None else np.array(weights) / max(weights)
    steps = np.ones(len(scored), np.int64) if weights is None else np.maximum(np.rint(factors * _STEPS), 1).astype(int)
    values = np.array([token.value for token in scored])
    excess = float(steps @ (values - np.array([token.expected for token in scored])))
    spread = math.sqrt(float((steps**2) @ np.array([token.variance for token in scored])))
    statistic = float(values.sum())
    if marker.config.scheme == "gumbel":
        p_value = gamma_tail(len(scored), statistic)
    elif marker.config.scheme == "synthid":
        layers = layer_weights(marker.config.layers)
        p_value = weighted_bits_tail(layers, len(scored), round(statistic * float(layers.sum())))
    elif weights is None:
        p_value = poisson_binomial_tail(chances, round(statistic))
    else:
        statistic = float(steps @ values)
        p_value = weighted_tail(steps.tolist(), chances, round(statistic))
    return Score(statistic, p_value, excess / spread if spread > 0.0 else 0.0, tuple(scored))
