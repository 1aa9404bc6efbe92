"""A model of `transformers` behind our API: for architectures that our own forward pass does not know."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor

from constrained.errors import ModelUnavailable, UnsupportedModel
from constrained.model import LoadedModel
from constrained.model.config import end_token_ids
from constrained.model.embedded import DEFAULT_MODEL_NAME, default_model_folder
from constrained.model.sources import fetch_from_hub
from constrained.model.tokenizer import Tokenizer

__all__ = ["TransformersCache", "TransformersModel", "load_transformers_model"]

_DTYPES = {"auto": None, "float32": torch.float32, "bfloat16": torch.bfloat16}


class TransformersCache:
    """Keys and values of one row, in a cache of the library that holds every position."""

    def __init__(self, capacity: int) -> None:
        from transformers import DynamicCache

        self.inner: Any = DynamicCache()
        self.capacity = capacity
        self.batch_size = 1

    @property
    def length(self) -> int:
        """Tokens held."""
        return int(self.inner.get_seq_length())

    @property
    def num_bytes(self) -> int:
        """Memory that keys and values take."""
        layers = getattr(self.inner, "layers", ())  # of releases that have them
        held = [getattr(layer, name, None) for layer in layers for name in ("keys", "values")]
        return sum(tensor.numel() * tensor.element_size() for tensor in held if tensor is not None)

    def truncate(self, length: int) -> None:
        """Forget what lies beyond ``length`` tokens."""
        if not 0 <= length <= self.length:
            raise ValueError(f"length: expected 0 to {self.length}, got {length}")
        if length == 0:
            self.inner = type(self.inner)()
        elif length < self.length:
            self.inner.crop(length)


class TransformersModel:
    """The forward pass of a causal language model of `transformers`, as our loop calls it: row by row, no gradients.

    Raises :class:`~constrained.errors.UnsupportedModel` for one whose state is no cache of keys and values: it could
    not go back.
    """

    shares_prefixes = False
    """Whether blocks of its caches can be given to prompts that begin alike."""

    def __init__(self, model: Any) -> None:
        if getattr(model, "_is_stateful", False):
            raise UnsupportedModel(
                f"{type(model).__name__} keeps a state that cannot be taken back; expected a decoder with a cache of "
                "keys and values, or use constrained.integrations.transformers.GrammarProcessor in its own generate"
            )
        self.model = model.eval()
        text_config = model.config.get_text_config(decoder=True)
        self.vocab_size = int(model.get_output_embeddings().weight.shape[0])
        # Newer releases call it by another name, and warn of the old one.
        self._cache_name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
        self.config = SimpleNamespace(max_position_embeddings=int(text_config.max_position_embeddings))

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return torch.device(self.model.device)

    @property
    def dtype(self) -> torch.dtype:
        """What it computes in."""
        return torch.get_default_dtype() if self.model.dtype is None else self.model.dtype

    def new_cache(self, batch_size: int, capacity: int) -> TransformersCache:
        """An empty cache of one row."""
        if batch_size != 1:
            raise ValueError(f"batch_size: expected 1, a cache for each row, got {batch_size}")
        return TransformersCache(capacity)

    @torch.no_grad()
    def forward_rows(
        self, rows: Sequence[Sequence[int]], caches: Sequence[TransformersCache], *, all_positions: bool = False
    ) -> Tensor:
        """Append the ids of each row to its cache; logits (B, V) float32 of the last positions, or, with
        ``all_positions``, (T1 + T2 + ..., V) of all of them."""
        logits = []
        for ids, cache in zip(rows, caches, strict=True):
            inputs = torch.tensor([list(ids)], dtype=torch.int64, device=self.device)  # (1, T)
            keep = 0 if all_positions else 1
            output = self.model(
                input_ids=inputs, use_cache=True, logits_to_keep=keep, **{self._cache_name: cache.inner}
            )
            logits.append(output.logits[0].float())  # (T, V) or (1, V)
        return torch.cat(logits)


def load_transformers_model(
    source: str | Path | None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> LoadedModel:
    """Any causal language model that `transformers` knows: a folder, a hub id, or the embedded default.

    Raises :class:`~constrained.errors.ModelUnavailable` if the files cannot be had,
    :class:`~constrained.errors.UnsupportedModel` for a model that is no such decoder.
    """
    from transformers import AutoModelForCausalLM

    if dtype not in _DTYPES:
        raise ValueError(f"dtype: expected one of {', '.join(_DTYPES)}, got {dtype!r}")
    folder = _folder_of(source, progress or (lambda _line: None))
    place = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    chosen = _DTYPES[dtype] or (torch.float32 if place == "cpu" else torch.bfloat16)
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=chosen)
        model.to(place)
    except (OSError, ValueError, KeyError) as error:
        raise UnsupportedModel(f"{source}: transformers cannot load it: {error}") from error
    tokenizer = Tokenizer.from_folder(folder, eos_token_ids=_ends_of(folder))
    return LoadedModel(cast(Any, TransformersModel(model)), tokenizer, str(source or DEFAULT_MODEL_NAME))


def _folder_of(source: str | Path | None, progress: Callable[[str], None]) -> Path:
    if source is None:
        return default_model_folder(progress=progress)
    path = Path(source).expanduser()
    if path.is_dir():
        return path
    if path.exists() or not isinstance(source, str):
        raise ModelUnavailable(f"model {str(source)!r}: expected a folder in Hugging Face form or a hub id")
    return fetch_from_hub(source, progress)


def _ends_of(folder: Path) -> tuple[int, ...]:
    """The end tokens that the configurations of a folder name."""
    ends: tuple[int, ...] = ()
    for name in ("generation_config.json", "config.json"):
        path = folder / name
        if path.is_file():
            ends = (*ends, *end_token_ids(json.loads(path.read_text(encoding="utf-8"))))
    return tuple(dict.fromkeys(ends))
