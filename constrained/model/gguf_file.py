"""GGUF files: their configuration, tensors and tokenizer, in the terms of Hugging Face.

The `gguf` library reads the file and undoes the quantisation. What is left to us: names, the order of rows (the query
and key projections are stored with rotary pairs side by side, checkpoints keep halves apart), and metadata.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from torch import Tensor

from constrained.errors import ModelFilesError, UnsupportedModel
from constrained.model.config import LlamaConfig, RopeScaling

__all__ = ["GGUFFile"]

_TOP_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_ROPE_FACTORS = "rope_freqs.weight"


class GGUFFile:
    """One GGUF file of architecture ``llama`` (Llama, Mistral, SmolLM2); a :class:`~.weights.Checkpoint`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._reader = gguf.GGUFReader(str(path))
        except (ValueError, OSError, IndexError) as error:
            raise ModelFilesError(f"{path}: not a readable GGUF file: {error}") from error
        architecture = self.metadata("general.architecture")
        if architecture != "llama":
            raise UnsupportedModel(f"{path}: GGUF architecture {architecture!r} is not supported; expected 'llama'")
        if self.metadata("llama.expert_count", 0):
            raise UnsupportedModel(f"{path}: mixtures of experts are not supported")
        parts = self.metadata("split.count", 1)
        if parts > 1:
            raise UnsupportedModel(f"{path}: split into {parts} GGUF files; join them first (gguf-split --merge)")
        self._tensors = {self._name(tensor.name): tensor for tensor in self._reader.tensors}
        self._rope_factors = self._tensors.pop(_ROPE_FACTORS, None)

    def metadata(self, key: str, default: Any = None) -> Any:
        """Value of a metadata key; ``default`` if the file does not have it."""
        field = self._reader.fields.get(key)
        return default if field is None else field.contents()

    @cached_property
    def config(self) -> LlamaConfig:
        """The model's configuration."""
        heads, hidden = self._required("attention.head_count"), self._required("embedding_length")
        if not isinstance(heads, int):
            raise UnsupportedModel(f"{self.path}: another number of heads in each layer is not supported")
        head_dim = self.metadata("llama.attention.key_length") or hidden // heads
        rotary = self.metadata("llama.rope.dimension_count", head_dim)
        if rotary != head_dim:
            raise UnsupportedModel(f"{self.path}: rotary embedding of {rotary} out of {head_dim} is not supported")
        shapes = self.shapes()
        embedding = shapes.get("model.embed_tokens.weight")
        if embedding is None:
            raise ModelFilesError(f"{self.path}: tensor token_embd.weight is missing")
        ends = (self.metadata(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot", "eom"))
        return LlamaConfig(
            vocab_size=embedding[0],
            hidden_size=hidden,
            intermediate_size=self._required("feed_forward_length"),
            num_hidden_layers=self._required("block_count"),
            num_attention_heads=heads,
            num_key_value_heads=self.metadata("llama.attention.head_count_kv", heads),
            head_dim=head_dim,
            max_position_embeddings=self._required("context_length"),
            rms_norm_eps=self._required("attention.layer_norm_rms_epsilon"),
            rope_theta=self.metadata("llama.rope.freq_base", 10000.0),
            rope_scaling=self._rope_scaling(),
            tie_word_embeddings="lm_head.weight" not in shapes,
            attention_bias="model.layers.0.self_attn.q_proj.bias" in shapes,
            mlp_bias="model.layers.0.mlp.gate_proj.bias" in shapes,
            sliding_window=self.metadata("llama.attention.sliding_window"),
            bos_token_id=self.metadata("tokenizer.ggml.bos_token_id"),
            eos_token_ids=tuple(dict.fromkeys(token_id for token_id in ends if token_id is not None)),
        )

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every tensor, by Hugging Face name."""
        return {name: tuple(int(size) for size in reversed(tensor.shape)) for name, tensor in self._tensors.items()}

    def tensor(self, name: str) -> Tensor:
        """One tensor in float32, its quantisation undone."""
        stored = self._tensors[name]
        try:
            values = gguf.dequantize(stored.data, stored.tensor_type).astype(np.float32, copy=False)
        except NotImplementedError as error:
            raise UnsupportedModel(f"{self.path}: {name}: type {stored.tensor_type.name} is not supported") from error
        if ".q_proj." in name:
            values = _halves_apart(values, self.config.num_attention_heads)
        elif ".k_proj." in name:
            values = _halves_apart(values, self.config.num_key_value_heads)
        return torch.from_numpy(np.array(values, copy=not values.flags.writeable))

    def _required(self, key: str) -> Any:
        value = self.metadata(f"llama.{key}")
        if value is None:
            raise ModelFilesError(f"{self.path}: metadata llama.{key} is missing")
        return value

    def _rope_scaling(self) -> RopeScaling | None:
        if self._rope_factors is not None:
            factors = gguf.dequantize(self._rope_factors.data, self._rope_factors.tensor_type)
            return RopeScaling(rope_type="factors", factors=tuple(float(factor) for factor in factors))
        kind = self.metadata("llama.rope.scaling.type", "none")
        if kind == "none":
            return None
        if kind == "linear":
            return RopeScaling(rope_type="linear", factor=self._required("rope.scaling.factor"))
        raise UnsupportedModel(f"{self.path}: rope scaling {kind!r} is not supported; expected 'linear' or none")

    def _name(self, name: str) -> str:
        """Hugging Face name of a tensor; a name that we do not know stays, and is reported as not expected."""
        if name in _TOP_NAMES:
            return _TOP_NAMES[name]
        parts = name.split(".")
        if len(parts) == 4 and parts[0] == "blk" and parts[2] in _BLOCK_NAMES:
            return f"model.layers.{parts[1]}.{_BLOCK_NAMES[parts[2]]}.{parts[3]}"
        return name


def _halves_apart(rows: np.ndarray[Any, Any], num_heads: int) -> np.ndarray[Any, Any]:
    """Reorder the rows of each head from (x0, y0, x1, y1, ...) to (x0, x1, ..., y0, y1, ...).

    >>> _halves_apart(np.arange(8), 2).tolist()
    [0, 2, 1, 3, 4, 6, 5, 7]
    """
    paired = rows.reshape(num_heads, rows.shape[0] // num_heads // 2, 2, *rows.shape[1:])
    return paired.swapaxes(1, 2).reshape(rows.shape)
