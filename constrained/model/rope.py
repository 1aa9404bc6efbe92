"""Rotary position embedding: pairs of coordinates turned by an angle that grows with the position.

Source: Su et al., RoFormer (arXiv:2104.09864), eq. 34; halves are paired (i, i + D/2) as Hugging Face checkpoints of
the Llama family expect. Scaling for long contexts: :class:`RopeScaling`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from constrained.errors import ModelFilesError
from constrained.model.config import LlamaConfig, RopeScaling

__all__ = ["RotaryTables", "inverse_frequencies", "rotate"]

_SMALLEST_TABLE = 512


def inverse_frequencies(config: LlamaConfig) -> Tensor:
    """Angle per position of each pair of coordinates: float32, shape (D / 2,)."""
    exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    plain = 1.0 / (config.rope_theta**exponents)
    scaling = config.rope_scaling
    if scaling is None:
        return plain
    if scaling.rope_type == "linear":
        return plain / scaling.factor
    if scaling.rope_type == "llama3":
        return _llama3(plain, scaling)
    if scaling.rope_type == "factors":
        factors = torch.tensor(scaling.factors, dtype=torch.float32)
        if factors.shape != plain.shape:
            raise ModelFilesError(f"rope factors: expected {plain.numel()} of them, got {factors.numel()}")
        return plain / factors
    raise ModelFilesError(f"rope_type {scaling.rope_type!r}: expected 'linear', 'llama3' or 'factors'")


def _llama3(plain: Tensor, scaling: RopeScaling) -> Tensor:
    """Wavelengths over original / low are stretched, under original / high kept, a linear ramp between."""
    turns = scaling.original_max_position_embeddings * plain / (2 * math.pi)  # full turns within the old context
    ramp = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    keep = ramp.clamp(0.0, 1.0)
    return keep * plain + (1 - keep) * plain / scaling.factor


class RotaryTables:
    """Cosines and sines by position, grown on demand by doubling; the sine's first half carries the minus sign.

    A position's entries do not depend on how large the table was when they were made: angles are formed in float32, as
    checkpoints were trained, and their cosine is taken in float64 before rounding.
    """

    def __init__(self, config: LlamaConfig) -> None:
        self._inverse_frequencies = inverse_frequencies(config)
        self._cos = torch.empty(0)
        self._sin = torch.empty(0)

    def slice(self, start: int, stop: int, *, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine of positions ``start`` to ``stop``: each (T, 1, D), to multiply (B, T, H, D)."""
        held = self._cos
        if held.shape[0] < stop or held.device != device or held.dtype != dtype:
            self._grow(max(stop, held.shape[0]), device, dtype)
        return self._cos[start:stop], self._sin[start:stop]

    def _grow(self, length: int, device: torch.device, dtype: torch.dtype) -> None:
        size = max(_SMALLEST_TABLE, 1 << (length - 1).bit_length())
        positions = torch.arange(size, dtype=torch.float32)
        angles = torch.outer(positions, self._inverse_frequencies).double()  # (T, D / 2)
        cos, sin = angles.cos(), angles.sin()
        self._cos = torch.cat((cos, cos), dim=-1).to(device, dtype).unsqueeze(1)  # (T, 1, D)
        self._sin = torch.cat((-sin, sin), dim=-1).to(device, dtype).unsqueeze(1)  # (T, 1, D)


def rotate(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn ``heads`` (B, T, H, D) by the angles of :meth:`RotaryTables.slice`.

    >>> tables = RotaryTables(LlamaConfig(vocab_size=4, hidden_size=4, intermediate_size=4, num_hidden_layers=1,
    ...                                   num_attention_heads=1, num_key_value_heads=1, head_dim=4))
    >>> cos, sin = tables.slice(0, 1, device=torch.device("cpu"), dtype=torch.float32)
    >>> rotate(torch.ones(1, 1, 1, 4), cos, sin).tolist()    # position 0 stays as it is
    [[[[1.0, 1.0, 1.0, 1.0]]]]
    """
    low, high = heads.chunk(2, dim=-1)
    swapped = torch.cat((high, low), dim=-1)
    return torch.addcmul(heads * cos, swapped, sin)
