"""The forward pass on a CPU: packed weights, and kernels whose sums have one fixed order."""

from .cache import CpuCache, bytes_per_token
from .llama import CpuLlama
from .pack import WEIGHT_KINDS, WeightKind
from .warming import is_warm, warm_up

__all__ = ["WEIGHT_KINDS", "CpuCache", "CpuLlama", "WeightKind", "bytes_per_token", "is_warm", "warm_up"]
