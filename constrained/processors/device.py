"""Which of the two forms of each step runs: the kernels of the CPU, or tensor operations."""

from __future__ import annotations

from torch import Tensor

__all__ = ["has_kernels"]


def has_kernels(logits: Tensor) -> bool:
    """Whether the kernels can read these logits: they are in the memory of the CPU."""
    return logits.device.type == "cpu"
