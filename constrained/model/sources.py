"""From what a user names (nothing, a folder, a file, a hub id) to a model that is ready to run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeGuard

from constrained.errors import ModelUnavailable, UnsupportedModel
from constrained.model.config import LlamaConfig, end_token_ids
from constrained.model.cpu import CpuLlama
from constrained.model.embedded import DEFAULT_MODEL_NAME, default_model_folder
from constrained.model.gguf_file import GGUFFile
from constrained.model.gguf_tokenizer import special_token_names, tokenizer_from_gguf
from constrained.model.llama import Llama
from constrained.model.runtime import Runtime
from constrained.model.tokenizer import Tokenizer
from constrained.model.weights import SafetensorsFolder

__all__ = ["LoadedModel", "Origin", "load_model"]

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+(@[\w./-]+)?")
_HUB_FILES = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"]
_HUB_FILES += ["chat_template.jinja", "model*.safetensors", "model.safetensors.index.json"]


OriginKind = Literal["default", "folder", "gguf", "hub"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a model's files came from."""

    kind: OriginKind
    path: Path
    """The folder or file that was read."""
    revision: str | None = None
    """Of a hub id: the commit."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model, its tokenizer, and the name by which it was asked for."""

    model: Llama | CpuLlama
    tokenizer: Tokenizer
    name: str
    origin: Origin | None = None
    """``None`` for one that was made in memory."""


def load_model(
    source: str | Path | None = None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    weights: str = "auto",
    numerics: str = "native",
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> LoadedModel:
    """Load a model of the Llama family.

    ``source`` is None (the default model, fetched once), a folder in Hugging Face form (``config.json``, safetensors,
    ``tokenizer.json``), a ``.gguf`` file, or a hub id ``owner/name`` (``owner/name@revision`` for one of its commits).
    ``device`` is ``auto`` (CUDA if there is one), ``cpu``, ``cuda`` or ``cuda:N``. ``weights`` is how they are held:
    ``fp32`` (exactly; what ``auto`` means on a CPU), ``bf16`` (what ``auto`` means on CUDA) or ``int8`` (on a CPU);
    ``dtype``, ``float32`` or ``bfloat16``, says the same in other words. ``numerics`` is ``native`` or ``invariant``,
    see :data:`constrained.model.NUMERICS`. ``threads`` is for the CPU; by default OMP_NUM_THREADS, else 1. ``progress``
    gets a line for each long step.

    Raises :class:`ModelUnavailable` if the files cannot be had, :class:`UnsupportedModel` for another architecture,
    :class:`ModelFilesError` if they contradict each other, ValueError for a name that is none.
    """
    runtime = Runtime.from_names(device=device, dtype=dtype, weights=weights, numerics=numerics, threads=threads)
    report = progress if progress is not None else _say_nothing
    if source is None:
        folder = default_model_folder(progress=report)
        return _load_folder(folder, DEFAULT_MODEL_NAME, runtime, report, Origin("default", folder))
    path = Path(source).expanduser()
    if path.is_dir():
        return _load_folder(path, str(source), runtime, report, Origin("folder", path.resolve()))
    if path.is_file():
        return _load_gguf(path, str(source), runtime, report)
    if is_hub_id(source):
        folder = fetch_from_hub(source, report)
        return _load_folder(folder, source, runtime, report, Origin("hub", folder, revision=folder.name))
    raise no_such_model(source)


def is_hub_id(source: str | Path) -> TypeGuard[str]:
    """Whether a model's name has the form of a hub id: owner/name, perhaps @ and a revision."""
    return isinstance(source, str) and _HUB_ID.fullmatch(source) is not None


def no_such_model(source: str | Path) -> ModelUnavailable:
    """The error for a name that is no model's."""
    return ModelUnavailable(
        f"model {str(source)!r}: no such folder or file, and not a hub id of the form owner/name; expected a folder "
        "with safetensors, a .gguf file, a hub id, or nothing for the default model"
    )


def _say_nothing(_line: str) -> None:
    pass


def _load_folder(
    folder: Path, name: str, runtime: Runtime, progress: Callable[[str], None], origin: Origin
) -> LoadedModel:
    config_path = folder / "config.json"
    if not config_path.is_file():
        raise ModelUnavailable(f"{folder}: config.json is missing; expected a model folder in Hugging Face form")
    config = LlamaConfig.from_file(config_path)
    ends = config.eos_token_ids
    generation_path = folder / "generation_config.json"
    if generation_path.is_file():
        ends = (*end_token_ids(json.loads(generation_path.read_text(encoding="utf-8"))), *ends)
    tokenizer = Tokenizer.from_folder(folder, eos_token_ids=ends)
    model = runtime.build(config, SafetensorsFolder(folder), progress=progress)
    return LoadedModel(model, tokenizer, name, origin)


def _load_gguf(path: Path, name: str, runtime: Runtime, progress: Callable[[str], None]) -> LoadedModel:
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
    model = runtime.build(file.config, file, progress=progress)
    return LoadedModel(model, tokenizer, name, Origin("gguf", path.resolve()))


def fetch_from_hub(hub_id: str, progress: Callable[[str], None]) -> Path:
    """Folder of a hub model, from the local hub cache or the network."""
    import huggingface_hub  # only this path needs it, and it is slow to import

    progress(f"fetching {hub_id} from the hub")
    name, _, revision = hub_id.partition("@")
    try:
        return Path(huggingface_hub.snapshot_download(name, revision=revision or None, allow_patterns=_HUB_FILES))
    except (OSError, ValueError, huggingface_hub.errors.HfHubHTTPError) as error:
        first_line = str(error).strip().partition("\n")[0]
        raise ModelUnavailable(
            f"model {hub_id!r}: not a local folder, and the hub did not give it: {type(error).__name__}: {first_line}\n"
            "  what to do: check the id and the network (a gated model needs a login); or download the model elsewhere "
            "and pass its folder; or pass no model for the built-in default"
        ) from error
