"""Exact laws of the detectors' scores under the null: the text knows nothing of the key.

Each function gives the probability of a score at least as high. They are sums of terms that are not negative, or run on
a tilted law whose middle lies at the score, so small probabilities keep their relative precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["any_of", "combined", "gamma_tail", "poisson_binomial_tail", "weighted_bits_tail", "weighted_tail"]


def gamma_tail(shape: int, score: float) -> float:
    """P(X >= score) of a sum of ``shape`` independent exponential variables of mean 1.

    >>> round(gamma_tail(1, 3.0), 6) == round(math.exp(-3.0), 6)
    True
    """
    if score <= 0.0:
        return 1.0
    terms = np.arange(shape)
    logs = terms * math.log(score) - score - np.cumsum([0.0, *np.log(np.arange(1, shape))])
    top = float(logs.max())
    return min(1.0, math.exp(top) * float(np.exp(logs - top).sum()))


def poisson_binomial_tail(chances: Sequence[float], hits: int) -> float:
    """P(S >= hits) of independent events with these chances.

    >>> poisson_binomial_tail([0.5, 0.5], 2), poisson_binomial_tail([0.25] * 3, 0)
    (0.25, 1.0)
    """
    if hits <= 0:
        return 1.0
    law = np.zeros(len(chances) + 1)
    law[0] = 1.0
    for count, chance in enumerate(chances, 1):
        law[1 : count + 1] = law[1 : count + 1] * (1.0 - chance) + law[:count] * chance
        law[0] *= 1.0 - chance
    return min(1.0, float(law[hits:][::-1].sum()))


def weighted_tail(weights: Sequence[int], chances: Sequence[float], score: int) -> float:
    """P(S >= score) where event i adds the whole number ``weights[i]`` with its chance.

    >>> weighted_tail([2, 1], [0.5, 0.5], 2)
    0.5
    """
    if score <= 0:
        return 1.0
    total = int(sum(weights))
    if score > total:
        return 0.0
    law = np.zeros(total + 1)
    law[0] = 1.0
    reached = 0
    for weight, chance in zip(weights, chances, strict=True):
        shifted = law[: reached + 1] * chance
        law[: reached + 1] *= 1.0 - chance
        law[weight : weight + reached + 1] += shifted
        reached += weight
    return min(1.0, float(law[score:][::-1].sum()))


def weighted_bits_tail(weights: NDArray[np.int64], repeats: int, score: int) -> float:
    """P(S >= score) where each of ``repeats`` times every weight is added by the toss of a fair coin.

    The law is computed as a power, by the discrete Fourier transform, after tilting it to have its mean at the score.

    >>> round(weighted_bits_tail(np.array([2, 1]), 1, 3), 12)
    0.25
    """
    total = int(weights.sum()) * repeats
    if score <= 0:
        return 1.0
    if score > total:
        return 0.0
    tilt = _tilt_for(weights, score / repeats)
    one = np.array([1.0])
    for weight in weights.tolist():
        chance = 1.0 / (1.0 + math.exp(-tilt * weight))
        grown = np.zeros(len(one) + weight)
        grown[: len(one)] += one * (1.0 - chance)
        grown[weight:] += one * chance
        one = grown
    size = 1 << total.bit_length()
    law = np.fft.irfft(np.fft.rfft(one, size) ** repeats, size)[: total + 1]
    # Untilt: P(s) = law(s) exp(log_scale - tilt (s - score)).
    log_scale = repeats * sum(_log_mean_exp(tilt * weight) for weight in weights.tolist()) - tilt * score
    places = np.arange(score, total + 1)
    kept = np.maximum(law[score:], 0.0) * np.exp(-tilt * (places - score))
    return float(min(1.0, math.exp(log_scale) * kept.sum()))


def _tilt_for(weights: NDArray[np.int64], mean: float) -> float:
    """The tilt, at least 0, under which one round's mean is ``mean``, as far as there is one below 8 a unit."""
    low, high = 0.0, 8.0
    if float(weights.sum()) / 2 >= mean:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        reached = float((weights / (1.0 + np.exp(-middle * weights))).sum())
        low, high = (middle, high) if reached < mean else (low, middle)
    return low


def _log_mean_exp(exponent: float) -> float:
    """ln((1 + e^x) / 2)."""
    return max(exponent, 0.0) + math.log1p(math.exp(-abs(exponent))) - math.log(2.0)


def any_of(p_value: float, tries: int) -> float:
    """The p-value of the smallest of ``tries`` independent ones.

    >>> any_of(0.5, 2), any_of(0.01, 1)
    (0.75, 0.01)
    """
    return -math.expm1(tries * math.log1p(-p_value)) if p_value < 1.0 else 1.0


def combined(p_values: Sequence[float]) -> float:
    """One p-value for several independent ones, by Fisher's method.

    >>> round(combined([0.03]), 6)
    0.03
    """
    smallest = 1e-300
    return gamma_tail(len(p_values), -sum(math.log(max(p_value, smallest)) for p_value in p_values))
