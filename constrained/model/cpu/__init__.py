"""The forward pass on a CPU: packed weights, and kernels whose sums have one fixed order."""

from .cache import CpuCache, bytes_per_token
from .kinds import WEIGHT_KINDS, WeightKind
from .llama import CpuLlama
from .pack import packed_bytes
from .warming import is_warm, warm_up

__all__ = [
    "WEIGHT_KINDS",
    "CpuCache",
    "CpuLlama",
    "WeightKind",
    "bytes_per_token",
    "is_warm",
    "packed_bytes",
    "warm_up",
]
