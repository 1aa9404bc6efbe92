"""Temperature and truncation: which tokens stay in the draw, and how sharply they are told apart.

Each class is one step of the pipeline and treats every row by its own settings; rows that take the best token always
(temperature 0) pass untouched. Order among equal logits is by token id, the lowest first, so top-k and top-p keep an
exact number of tokens. The best token always stays.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.processors import device
from constrained.processors.context import Stage, StepContext
from constrained.sampling_config import SamplingConfig
from grammars.jit import kernel

__all__ = ["TOP_P_EPSILON", "MinP", "Temperature", "TopK", "TopP"]

# Bins of the nucleus: 1/32 nat each, 40 nats deep; what lies deeper weighs nothing beside the best in float64.
_BINS_PER_NAT = 32.0
_BINS = 1280

TOP_P_EPSILON = 1e-6
"""top-p and min-p compare in float64 with this tolerance: float32 logits do not say probabilities more exactly."""


class Temperature:
    """(logits - largest) / temperature, in float32; equal logits stay equal and the best becomes 0.

    Taking the largest off first keeps small temperatures from overflowing, and changes no probability. Rows at
    temperature 0 and 1 keep their bits, whatever their neighbours' settings.
    """

    stage: ClassVar[Stage] = Stage.TEMPERATURE

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits (B, N) in, logits (B, N) out."""
        factors = [_inverse(config) for config in context.sampling]
        if all(factor == 1.0 for factor in factors):
            return logits
        if not device.has_kernels(logits):
            return scale_tensor(logits, factors)
        for row, factor in enumerate(factors):
            if factor != 1.0:
                _scale_row(logits.numpy()[row], np.float32(factor))
        return logits


def _inverse(config: SamplingConfig) -> float:
    """1 / temperature, to multiply by: devices divide by a number in different ways.

    It is a normal float32 that is neither 0 nor inf, so that a -inf times it is a -inf and not a NaN.
    """
    return 1.0 if config.is_greedy else max(min(1.0 / max(config.temperature, 1e-38), 3e38), 2e-38)


def _scale_row(logits: NDArray[np.float32], factor: np.float32) -> None:
    """(N,) in place: the largest taken off, then times ``factor``."""
    best = logits.max()
    if best > -np.inf:
        with np.errstate(over="ignore"):
            np.subtract(logits, best, out=logits)
            np.multiply(logits, factor, out=logits)


def scale_tensor(logits: Tensor, factors: list[float]) -> Tensor:
    """(B, N), each row its largest taken off and times its factor, in tensor operations; but for a factor of 1."""
    scale = torch.tensor(factors, dtype=torch.float32).to(logits.device, non_blocking=True)[:, None]  # (B, 1)
    return logits.sub_(_finite_max(logits).masked_fill_(scale == 1.0, 0.0)).mul_(scale)


def _finite_max(logits: Tensor) -> Tensor:
    """The largest of each row (B, 1); 0 for a row of -inf, which so stays what it is."""
    best = logits.amax(dim=1, keepdim=True)
    return best.masked_fill_(best == -torch.inf, 0.0)


class TopK:
    """Keep the ``top_k`` largest logits of a row; among equal ones at the edge, the lowest ids."""

    stage: ClassVar[Stage] = Stage.TOP_K

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits (B, N) in, logits (B, N) with -inf beyond the best out."""
        for row, config in enumerate(context.sampling):
            if config.top_k is not None and config.top_k < logits.shape[1] and not config.is_greedy:
                if device.has_kernels(logits):
                    _top_k_row(logits.numpy()[row], config.top_k)
                else:
                    logits[row] = top_k_tensor(logits[row], config.top_k)
        return logits


class TopP:
    """Keep the smallest set of largest logits whose probability is at least ``top_p`` (less :data:`TOP_P_EPSILON`)."""

    stage: ClassVar[Stage] = Stage.TOP_P

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits (B, N) in, logits (B, N) with -inf beyond the set out."""
        for row, config in enumerate(context.sampling):
            if config.top_p < 1.0 and not config.is_greedy:
                if device.has_kernels(logits):
                    _top_p_row(logits.numpy()[row], config.top_p)
                else:
                    logits[row] = top_p_tensor(logits[row], config.top_p)
        return logits


class MinP:
    """Keep the tokens that are at least ``min_p`` times as probable as the best (less :data:`TOP_P_EPSILON`)."""

    stage: ClassVar[Stage] = Stage.MIN_P

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits (B, N) in, logits (B, N) with -inf below the bound out."""
        if all(config.min_p == 0.0 or config.is_greedy for config in context.sampling):
            return logits
        bounds = [
            -math.inf if config.is_greedy or config.min_p == 0.0 else math.log(config.min_p) - TOP_P_EPSILON
            for config in context.sampling
        ]
        lowest = torch.tensor(bounds, dtype=torch.float64).to(logits.device, non_blocking=True)[:, None]  # (B, 1)
        below = logits.double() - _finite_max(logits).double() < lowest
        return logits.masked_fill_(below, -torch.inf)


def _top_k_row(logits: NDArray[np.float32], top_k: int) -> None:
    """Set to -inf what is not among the ``top_k`` best of (N,), in place."""
    edge = float(torch.from_numpy(logits).topk(top_k, sorted=False).values.min())
    _keep_best(logits, edge, top_k)


@kernel
def _keep_best(logits: NDArray[np.float32], edge: float, count: int) -> None:
    """Keep what is above ``edge``, and as many at the edge, from the left, as bring the kept to ``count``."""
    room = count
    for column in range(logits.shape[0]):
        if logits[column] > edge:
            room -= 1
    for column in range(logits.shape[0]):
        if logits[column] > edge:
            continue
        if logits[column] == edge and room > 0:
            room -= 1
        else:
            logits[column] = -np.inf


def top_k_tensor(logits: Tensor, top_k: int) -> Tensor:
    """The ``top_k`` best of (N,), the rest -inf, in tensor operations."""
    edge = logits.topk(top_k, sorted=False).values.min()
    above, tied = logits > edge, logits == edge
    kept = above | (tied & (tied.cumsum(0) <= top_k - above.sum()))
    return logits.masked_fill(~kept, -torch.inf)


def _top_p_row(logits: NDArray[np.float32], top_p: float) -> None:
    """Set to -inf what lies beyond the smallest set of probability ``top_p`` of (N,), in place."""
    best = float(logits.max())
    if best == -np.inf:
        return
    edge, count = _nucleus(logits, best, top_p - TOP_P_EPSILON)
    _keep_best(logits, edge, count)


@kernel
def _nucleus(logits: NDArray[np.float32], best: float, share: float) -> tuple[float, int]:
    """The smallest logit of the nucleus and the size of it, without sorting more than one bin of logits."""
    mass = np.zeros(_BINS)
    members = np.zeros(_BINS, np.int64)
    for column in range(logits.shape[0]):
        if logits[column] > -np.inf:
            depth = best - float(logits[column])
            index = int(min(depth * _BINS_PER_NAT, _BINS - 1.0))
            mass[index] += math.exp(-depth)
            members[index] += 1
    target = share * mass.sum()
    reached = 0.0
    count = 0
    edge_bin = 0
    while edge_bin < _BINS - 1 and reached + mass[edge_bin] < target:
        reached += mass[edge_bin]
        count += members[edge_bin]
        edge_bin += 1
    at_edge = np.empty(members[edge_bin], np.float32)
    found = 0
    for column in range(logits.shape[0]):
        depth = best - float(logits[column])
        if logits[column] > -np.inf and int(min(depth * _BINS_PER_NAT, _BINS - 1.0)) == edge_bin:
            at_edge[found] = logits[column]
            found += 1
    at_edge.sort()
    edge = np.float32(best)
    for index in range(found - 1, -1, -1):
        edge = at_edge[index]
        count += 1
        reached += math.exp(float(edge) - best)
        if reached >= target:
            break
    return float(edge), count


def top_p_tensor(logits: Tensor, top_p: float) -> Tensor:
    """The smallest set of probability ``top_p`` of (N,), the rest -inf, in tensor operations."""
    ordered, columns = logits.sort(descending=True, stable=True)
    weights = (ordered.double() - ordered[0].double()).exp()
    before = weights.cumsum(0) - weights
    target = (top_p - TOP_P_EPSILON) * weights.sum()
    kept = (before < target) & (ordered > -torch.inf)
    kept[0] = True
    return logits.masked_fill(~torch.empty_like(kept).scatter_(0, columns, kept), -torch.inf)
