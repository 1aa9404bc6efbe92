"""From what a user names (nothing, a folder, a file, a hub id) to a model that is ready to run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from constrained.errors import ModelUnavailable, UnsupportedModel
from constrained.model.config import LlamaConfig, end_token_ids
from constrained.model.embedded import DEFAULT_MODEL_NAME, default_model_folder
from constrained.model.gguf_file import GGUFFile
from constrained.model.gguf_tokenizer import special_token_names, tokenizer_from_gguf
from constrained.model.llama import Llama
from constrained.model.tokenizer import Tokenizer
from constrained.model.weights import SafetensorsFolder, build_model

__all__ = ["LoadedModel", "load_model"]

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_HUB_FILES = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"]
_HUB_FILES += ["chat_template.jinja", "model*.safetensors", "model.safetensors.index.json"]
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_DTYPES |= {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model, its tokenizer, and the name by which it was asked for."""

    model: Llama
    tokenizer: Tokenizer
    name: str


def load_model(
    source: str | Path | None = None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> LoadedModel:
    """Load a model of the Llama family.

    ``source`` is None (the default model, fetched once), a folder in Hugging Face form (``config.json``, safetensors,
    ``tokenizer.json``), a ``.gguf`` file, or a hub id ``owner/name``. ``device`` is ``auto`` (CUDA if there is one),
    ``cpu``, ``cuda`` or ``cuda:N``; ``dtype`` is ``auto`` (float32 on a CPU, bfloat16 on CUDA), ``float32`` or
    ``bfloat16``. ``progress`` gets a line for each long step.

    Raises :class:`ModelUnavailable` if the files cannot be had, :class:`UnsupportedModel` for another architecture,
    :class:`ModelFilesError` if they contradict each other, ValueError for a device or dtype that is none.
    """
    chosen_device = _device(device)
    chosen_dtype = _dtype(dtype, chosen_device)
    report = progress if progress is not None else _say_nothing
    if source is None:
        folder = default_model_folder(progress=report)
        return _load_folder(folder, DEFAULT_MODEL_NAME, chosen_device, chosen_dtype)
    path = Path(source).expanduser()
    if path.is_dir():
        return _load_folder(path, str(source), chosen_device, chosen_dtype)
    if path.is_file():
        return _load_gguf(path, str(source), chosen_device, chosen_dtype, report)
    if isinstance(source, str) and _HUB_ID.fullmatch(source):
        return _load_folder(_fetch_from_hub(source, report), source, chosen_device, chosen_dtype)
    raise ModelUnavailable(
        f"model {str(source)!r}: no such folder or file, and not a hub id of the form owner/name; expected a folder "
        "with safetensors, a .gguf file, a hub id, or nothing for the default model"
    )


def _say_nothing(_line: str) -> None:
    pass


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:[0-9]+)?", name):
        raise ValueError(f"device: expected auto, cpu, cuda or cuda:N, got {name!r}")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device {name!r}: torch finds no CUDA here; use device='cpu' or 'auto'")
    return torch.device(name)


def _dtype(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    if name not in _DTYPES:
        raise ValueError(f"dtype: expected auto, float32 or bfloat16, got {name!r}")
    return _DTYPES[name]


def _load_folder(folder: Path, name: str, device: torch.device, dtype: torch.dtype) -> LoadedModel:
    config_path = folder / "config.json"
    if not config_path.is_file():
        raise ModelUnavailable(f"{folder}: config.json is missing; expected a model folder in Hugging Face form")
    config = LlamaConfig.from_file(config_path)
    ends = config.eos_token_ids
    generation_path = folder / "generation_config.json"
    if generation_path.is_file():
        ends = (*end_token_ids(json.loads(generation_path.read_text(encoding="utf-8"))), *ends)
    tokenizer = Tokenizer.from_folder(folder, eos_token_ids=ends)
    model = build_model(config, SafetensorsFolder(folder), device=device, dtype=dtype)
    return LoadedModel(model, tokenizer, name)


def _load_gguf(
    path: Path, name: str, device: torch.device, dtype: torch.dtype, progress: Callable[[str], None]
) -> LoadedModel:
    if path.suffix != ".gguf":
        raise UnsupportedModel(f"{path}: expected a folder with safetensors or a .gguf file, got a {path.suffix} file")
    progress(f"reading {path.name}")
    file = GGUFFile(path)
    tokenizer = Tokenizer.from_json(
        tokenizer_from_gguf(file),
        chat_template=file.metadata("tokenizer.chat_template"),
        special_tokens=special_token_names(file),
        eos_token_ids=file.config.eos_token_ids,
    )
    return LoadedModel(build_model(file.config, file, device=device, dtype=dtype), tokenizer, name)


def _fetch_from_hub(hub_id: str, progress: Callable[[str], None]) -> Path:
    """Folder of a hub model, from the local hub cache or the network."""
    import huggingface_hub  # only this path needs it, and it is slow to import

    progress(f"fetching {hub_id} from the hub")
    try:
        return Path(huggingface_hub.snapshot_download(hub_id, allow_patterns=_HUB_FILES))
    except (OSError, ValueError, huggingface_hub.errors.HfHubHTTPError) as error:
        first_line = str(error).strip().partition("\n")[0]
        raise ModelUnavailable(
            f"model {hub_id!r}: not a local folder, and the hub did not give it: {type(error).__name__}: {first_line}\n"
            "  what to do: check the id and the network (a gated model needs a login); or download the model elsewhere "
            "and pass its folder; or pass no model for the built-in default"
        ) from error
