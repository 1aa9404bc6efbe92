"""The model: configuration, forward pass, weights, tokenizer, and where its files come from."""

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
