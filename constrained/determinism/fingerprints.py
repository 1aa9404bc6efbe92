"""Digests of what a generation is made from: configuration, weights, tokenizer, chat template; and on what it runs."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import platform
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from constrained.model.embedded import cache_folder
from constrained.model.weights import SafetensorsFolder

from .canonical import digest_of_bytes, digest_of_value, write_atomically

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.model import Tokenizer
    from constrained.model.sources import Origin

__all__ = ["describe_model", "describe_numerics", "describe_software", "describe_tokenizer"]

_PACKAGES = ("constrained", "torch", "numba", "numpy", "tokenizers")
_DIGEST_LENGTH = 64
_tokenizer_digests: WeakKeyDictionary[Tokenizer, str] = WeakKeyDictionary()
_described: WeakKeyDictionary[Model, dict[str, Any]] = WeakKeyDictionary()


def describe_model(model: Model, *, trust_cache: bool = True) -> dict[str, Any]:
    """Name, origin, and digests of configuration, weights and vocabulary.

    The digest of files is kept from run to run, by their names, sizes and times; without ``trust_cache`` they are read.
    """
    if trust_cache and model in _described:
        return _described[model]
    origin = model.origin
    described = {
        "name": model.name,
        "origin": None if origin is None else _describe_origin(origin, model.name),
        "config": digest_of_value(_plain_config(model.engine.model.config)),
        "weights": _describe_weights(model, trust_cache=trust_cache),
        "vocabulary": model.engine.vocabulary.digest,
    }
    _described[model] = described
    return described


def _plain_config(config: Any) -> dict[str, Any]:
    return asdict(config) if is_dataclass(config) and not isinstance(config, type) else dict(vars(config))


def _describe_origin(origin: Origin, name: str) -> dict[str, Any]:
    """What is needed to load it again; the path of a default or a hub model is that of a cache, and says nothing."""
    path = str(origin.path) if origin.kind in ("folder", "gguf") else None
    return {"kind": origin.kind, "path": path, "hub_id": name if origin.kind == "hub" else None} | {
        "revision": origin.revision
    }


def _describe_weights(model: Model, *, trust_cache: bool) -> dict[str, str]:
    if model.origin is None:
        return {"of": "memory", "digest": digest_of_bytes(_parts_in_memory(model.engine.model))}
    files = _weight_files(model.origin.path)
    known = _known_digest(files) if trust_cache else None
    if known is None:
        known = digest_of_bytes(_parts_of_files(model.origin))
        with contextlib.suppress(OSError):  # a cache that cannot be written costs time, no more
            _place_of_digest(files).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(_place_of_digest(files), known)
    return {"of": "files", "digest": known}


def _weight_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.glob("*.safetensors"))


def _parts_of_files(origin: Origin) -> Iterator[bytes | memoryview]:
    """A GGUF file as it is; of a folder each tensor by name, type, shape and bytes, however files are cut."""
    if origin.kind == "gguf":
        with origin.path.open("rb") as file:
            while part := file.read(2**24):
                yield part
        return
    folder = SafetensorsFolder(origin.path)
    for name in sorted(folder.shapes()):
        yield from _parts_of_tensor(name, folder.tensor(name))


def _parts_in_memory(model: Any) -> Iterator[bytes | memoryview]:
    inner = getattr(model, "model", None)  # of a wrapper around a module
    model = inner if isinstance(inner, torch.nn.Module) else model
    if isinstance(model, torch.nn.Module):
        for name, tensor in sorted(model.state_dict().items()):
            yield from _parts_of_tensor(name, tensor)
        return
    for name, array in model.held_arrays():
        yield from _parts_of_tensor(name, torch.from_numpy(array))


def _parts_of_tensor(name: str, tensor: Tensor) -> Iterator[bytes | memoryview]:
    yield f"{name}\0{tensor.dtype}\0{list(tensor.shape)}\0".encode()
    yield tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data


def _place_of_digest(files: list[Path]) -> Path:
    stats = [(str(path.resolve()), path.stat()) for path in files]
    key = repr([(name, stat.st_size, stat.st_mtime_ns, stat.st_ino) for name, stat in stats])
    return cache_folder() / "digests" / hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


def _known_digest(files: list[Path]) -> str | None:
    try:
        digest = _place_of_digest(files).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return digest if len(digest) == _DIGEST_LENGTH else None


def describe_tokenizer(model: Model) -> dict[str, Any]:
    """Digests of ``tokenizer.json`` and of the chat template with the tokens that it may name."""
    tokenizer, template = model.tokenizer, model.tokenizer.chat_template
    return {
        "digest": _digest_of_tokenizer(tokenizer),
        "eos_token_ids": list(tokenizer.eos_token_ids),
        "chat_template": None if template is None else digest_of_value([template.source, template.special_tokens]),
    }


def _digest_of_tokenizer(tokenizer: Tokenizer) -> str:
    digest = _tokenizer_digests.get(tokenizer)
    if digest is None:
        digest = _tokenizer_digests[tokenizer] = digest_of_bytes([tokenizer.description.encode()])
    return digest


def describe_numerics(model: Model) -> dict[str, Any]:
    """How logits are computed: mode, device, how weights are held, threads."""
    held = model.engine.model
    weights = getattr(held, "weights", None)
    threads = getattr(held, "num_threads", None)
    return {
        "mode": getattr(held, "numerics", "native"),
        "device": str(held.device.type),
        "weights": weights if isinstance(weights, str) else str(getattr(held, "dtype", torch.float32)).split(".")[-1],
        "threads": torch.get_num_threads() if threads is None else int(threads),
    }


def describe_software() -> dict[str, str]:
    """Versions of what takes part."""
    return dict(_software())


@cache
def _software() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:  # run from its sources
            versions[package] = "unknown"
    return {**versions, "python": platform.python_version(), "machine": platform.machine()}
