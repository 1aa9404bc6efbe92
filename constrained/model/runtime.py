"""On what a model runs, and how its weights are held: from the names that users write to a model that is built."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast, get_args

import torch

from constrained.model.config import LlamaConfig
from constrained.model.cpu import WEIGHT_KINDS, CpuLlama, WeightKind, is_warm, warm_up
from constrained.model.cuda import CudaLlama
from constrained.model.llama import Llama
from constrained.model.weights import Checkpoint, build_model, fused_tensors

__all__ = ["NUMERICS", "Numerics", "Runtime"]

Numerics = Literal["native", "invariant"]
"""``native``: the fastest way. ``invariant``: a row's logits depend on its own tokens only, to the last bit."""
NUMERICS: tuple[Numerics, ...] = get_args(Numerics)

_KIND_OF_DTYPE: dict[str, WeightKind] = {"float32": "fp32", "bfloat16": "bf16", "fp32": "fp32", "bf16": "bf16"}
_DTYPE_OF_KIND = {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where and how. On a CPU our own kernels run, whose numerics are invariant as they are; on CUDA, torch."""

    device: torch.device
    weights: WeightKind
    numerics: Numerics
    num_threads: int

    @classmethod
    def from_names(
        cls, *, device: str, dtype: str, weights: str = "auto", numerics: str = "native", threads: int | None = None
    ) -> Runtime:
        """Raises ValueError, naming the argument, for a name that is none, or two that contradict each other."""
        chosen = _device(device)
        kind = _kind(dtype, weights, chosen)
        if numerics not in NUMERICS:
            raise ValueError(f"numerics: expected {' or '.join(NUMERICS)}, got {numerics!r}")
        if chosen.type != "cpu" and kind == "int8":
            raise ValueError(f"weights: 'int8' is for the CPU; expected fp32 or bf16 on {chosen}")
        if chosen.type != "cpu" and numerics == "invariant":
            raise ValueError(f"numerics: 'invariant' is for the CPU; on {chosen}, use native, or device='cpu'")
        return cls(chosen, kind, numerics, _threads(threads))

    def build(
        self, config: LlamaConfig, checkpoint: Checkpoint, *, progress: Callable[[str], None]
    ) -> Llama | CpuLlama:
        """The model of these weights. Raises :class:`~constrained.errors.ModelFilesError` if they do not fit."""
        if self.device.type != "cpu":
            dtype = _DTYPE_OF_KIND[self.weights]
            return CudaLlama.from_llama(build_model(config, checkpoint, device=self.device, dtype=dtype))
        tensors = fused_tensors(config, checkpoint)
        if not is_warm([self.weights]):
            progress("compiling the kernels of the forward pass (once)")
        warm_up([self.weights])
        return CpuLlama.from_tensors(config, tensors, weights=self.weights, num_threads=self.num_threads)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:[0-9]+)?", name):
        raise ValueError(f"device: expected auto, cpu, cuda or cuda:N, got {name!r}")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device {name!r}: torch finds no CUDA here; use device='cpu' or 'auto'")
    return torch.device(name)


def _kind(dtype: str, weights: str, device: torch.device) -> WeightKind:
    """How weights are held: ``weights`` says it, or else ``dtype``, or else what is exact on this device."""
    if dtype != "auto" and dtype not in _KIND_OF_DTYPE:
        raise ValueError(f"dtype: expected auto, float32 or bfloat16, got {dtype!r}")
    if weights != "auto" and weights not in WEIGHT_KINDS:
        raise ValueError(f"weights: expected auto, {', '.join(WEIGHT_KINDS)}, got {weights!r}")
    of_dtype = _KIND_OF_DTYPE.get(dtype)
    if weights == "auto":
        return of_dtype or ("bf16" if device.type == "cuda" else "fp32")
    if of_dtype not in (None, weights):
        raise ValueError(f"dtype {dtype!r} and weights {weights!r} say different things; leave one of them out")
    return cast(WeightKind, weights)


def _threads(threads: int | None) -> int:
    """As asked for; else as the environment says; else one, for more are slow on cores that others use."""
    if threads is None:
        named = os.environ.get("OMP_NUM_THREADS", "")
        return int(named) if named.isdecimal() and int(named) > 0 else 1
    if threads < 1:
        raise ValueError(f"threads: expected at least 1, got {threads}")
    return threads
