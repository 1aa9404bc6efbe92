"""The model: configuration, forward pass, weights, tokenizer, and where its files come from.

Names are imported when first used: a pass on CUDA needs no kernels of the CPU.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from constrained.model.config import LlamaConfig
    from constrained.model.cpu import CpuCache, CpuLlama
    from constrained.model.kv_cache import KVCache
    from constrained.model.llama import Llama
    from constrained.model.runtime import NUMERICS, Numerics
    from constrained.model.sources import LoadedModel, load_model
    from constrained.model.tokenizer import StreamDetokenizer, Tokenizer

__all__ = [
    "NUMERICS",
    "CpuCache",
    "CpuLlama",
    "KVCache",
    "Llama",
    "LlamaConfig",
    "LoadedModel",
    "Numerics",
    "StreamDetokenizer",
    "Tokenizer",
    "load_model",
]

_HOME_OF = {
    "NUMERICS": "runtime",
    "CpuCache": "cpu",
    "CpuLlama": "cpu",
    "KVCache": "kv_cache",
    "Llama": "llama",
    "LlamaConfig": "config",
    "LoadedModel": "sources",
    "Numerics": "runtime",
    "StreamDetokenizer": "tokenizer",
    "Tokenizer": "tokenizer",
    "load_model": "sources",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
