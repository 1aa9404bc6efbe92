"""From tensors under Hugging Face names to a :class:`Llama`: checked, fused, put on the device.

Every name and shape is compared with what the configuration asks for before anything is loaded; a difference is an
error that lists them all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import safetensors
import torch
from torch import Tensor

from constrained.errors import ModelFilesError, ModelUnavailable
from constrained.model.config import LlamaConfig
from constrained.model.llama import Llama

__all__ = ["Checkpoint", "SafetensorsFolder", "build_model", "expected_shapes", "fused_tensors"]

_NAMED_AT_MOST = 12


class Checkpoint(Protocol):
    """Tensors by Hugging Face name, read when asked for."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every tensor."""

    def tensor(self, name: str) -> Tensor:
        """One tensor, on the CPU, in the type in which it is stored."""


class SafetensorsFolder:
    """``model.safetensors``, or the files that ``model.safetensors.index.json`` lists, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        self._file_of: dict[str, Any] = {}
        for path in _safetensors_files(folder):
            try:
                opened = safetensors.safe_open(str(path), framework="pt")
            except (safetensors.SafetensorError, OSError) as error:
                raise ModelFilesError(f"{path}: not a readable safetensors file: {error}; fetch it again") from error
            names: list[str] = opened.keys()  # type: ignore[no-untyped-call]
            self._file_of.update(dict.fromkeys(names, opened))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(opened.get_slice(name).get_shape()) for name, opened in self._file_of.items()}

    def tensor(self, name: str) -> Tensor:
        return self._file_of[name].get_tensor(name)  # type: ignore[no-any-return]


def _safetensors_files(folder: Path) -> list[Path]:
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return [single]
    if index.is_file():
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        paths = [folder / name for name in names]
        missing = [path.name for path in paths if not path.is_file()]
        if missing:
            raise ModelUnavailable(f"{folder}: the index lists files that are missing: {', '.join(missing)}")
        return paths
    found = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
    raise ModelUnavailable(
        f"{folder}: expected model.safetensors or model.safetensors.index.json, found {found}; pickled weights (.bin, "
        ".pth) are not read: load them with transformers and save_pretrained(folder) to convert them"
    )


def build_model(config: LlamaConfig, checkpoint: Checkpoint, *, device: torch.device, dtype: torch.dtype) -> Llama:
    """A :class:`Llama` with the checkpoint's weights.

    Raises :class:`ModelFilesError` that lists missing, surplus and misshaped tensors.
    """
    model = Llama(config, device="meta", dtype=dtype)
    tensors = fused_tensors(config, checkpoint)
    state = {name: tensor.to(device=device, dtype=dtype) for name, tensor in tensors}
    model.load_state_dict(state, assign=True)
    return model.requires_grad_(False).eval()


def fused_tensors(config: LlamaConfig, checkpoint: Checkpoint) -> Iterator[tuple[str, Tensor]]:
    """Names of :class:`Llama`'s parameters and their values, one after the other, as the checkpoint stores them.

    Raises :class:`ModelFilesError` as :func:`build_model` does, before the first.
    """
    _compare(config, checkpoint.shapes())
    return _fused(config, checkpoint)


def _fused(config: LlamaConfig, checkpoint: Checkpoint) -> Iterator[tuple[str, Tensor]]:
    for name, parts in _plan(config):
        tensors = [checkpoint.tensor(part) for part, _ in parts]
        yield name, tensors[0] if len(tensors) == 1 else torch.cat(tensors)


def expected_shapes(config: LlamaConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor that a checkpoint of this configuration has: Hugging Face name -> shape."""
    return {part: shape for _, parts in _plan(config) for part, shape in parts}


_Part = tuple[str, tuple[int, ...]]


def _plan(config: LlamaConfig) -> Iterator[tuple[str, list[_Part]]]:
    """Our parameter -> the checkpoint's tensors, with their shapes, that are stacked to make it."""
    hidden, inner, vocab = config.hidden_size, config.intermediate_size, config.vocab_size
    query, key = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    yield "embedding.weight", [("model.embed_tokens.weight", (vocab, hidden))]
    for layer in range(config.num_hidden_layers):
        ours, theirs = f"blocks.{layer}.", f"model.layers.{layer}."
        yield ours + "attention_norm.weight", [(theirs + "input_layernorm.weight", (hidden,))]
        yield ours + "mlp_norm.weight", [(theirs + "post_attention_layernorm.weight", (hidden,))]
        attention, mlp = theirs + "self_attn.", theirs + "mlp."
        qkv = [(attention + "q_proj", query), (attention + "k_proj", key), (attention + "v_proj", key)]
        yield from _linear(ours + "attention.qkv", qkv, hidden, config.attention_bias)
        yield from _linear(ours + "attention.output", [(attention + "o_proj", hidden)], query, config.attention_bias)
        yield from _linear(
            ours + "mlp.gate_up", [(mlp + "gate_proj", inner), (mlp + "up_proj", inner)], hidden, config.mlp_bias
        )
        yield from _linear(ours + "mlp.down", [(mlp + "down_proj", hidden)], inner, config.mlp_bias)
    yield "norm.weight", [("model.norm.weight", (hidden,))]
    if not config.tie_word_embeddings:
        yield "unembedding.weight", [("lm_head.weight", (vocab, hidden))]


def _linear(ours: str, parts: list[tuple[str, int]], size_in: int, bias: bool) -> Iterator[tuple[str, list[_Part]]]:
    yield ours + ".weight", [(name + ".weight", (size_out, size_in)) for name, size_out in parts]
    if bias:
        yield ours + ".bias", [(name + ".bias", (size_out,)) for name, size_out in parts]


def _compare(config: LlamaConfig, found: dict[str, tuple[int, ...]]) -> None:
    """Raise unless the checkpoint holds exactly the tensors that the configuration asks for."""
    expected = expected_shapes(config)
    missing = [name for name in expected if name not in found]
    surplus = [name for name in found if name not in expected and not _is_redundant(name, config)]
    misshaped = [
        f"{name} (expected {expected[name]}, got {shape})"
        for name, shape in found.items()
        if name in expected and shape != expected[name]
    ]
    problems = [("missing", missing), ("not expected", surplus), ("of another shape", misshaped)]
    lines = [f"\n  {kind}: {_some(names)}" for kind, names in problems if names]
    if lines:
        raise ModelFilesError("the weights do not fit the model's configuration" + "".join(lines))


def _is_redundant(name: str, config: LlamaConfig) -> bool:
    """Tensors that old or tied checkpoints carry and that say nothing new."""
    return name.endswith("rotary_emb.inv_freq") or (name == "lm_head.weight" and config.tie_word_embeddings)


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
