"""A tiny model in a folder, and one run of it with its record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch

import grammars
from constrained.api import Model, load
from constrained.determinism import RunRecord
from constrained.model.weights import expected_shapes
from constrained.testing.tiny import TINY_CHAT_TEMPLATE, tiny_config, tiny_tokenizer_json

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "color": {"enum": ["red", "green", "blue"]},
        "count": {"type": "integer", "minimum": 0, "maximum": 999},
    },
    "required": ["name", "color", "count"],
    "additionalProperties": False,
}

Record = Callable[..., RunRecord]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a seeded model in Hugging Face form."""
    grammars.warm_up()
    path = tmp_path_factory.mktemp("model")
    config = tiny_config(vocab_size=512, max_position_embeddings=1024)
    generator = torch.Generator().manual_seed(0)
    tensors = {
        name: torch.randn(shape, generator=generator) / shape[-1] ** 0.5 if len(shape) == 2 else torch.ones(shape)
        for name, shape in expected_shapes(config).items()
    }
    safetensors.torch.save_file(tensors, path / "model.safetensors")
    (path / "config.json").write_text(json.dumps(config.to_mapping()), encoding="utf-8")
    (path / "tokenizer.json").write_text(tiny_tokenizer_json(), encoding="utf-8")
    (path / "chat_template.jinja").write_text(TINY_CHAT_TEMPLATE, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def model(folder: Path) -> Model:
    """The model of the folder."""
    return load(folder, device="cpu", numerics="invariant", threads=1)


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """The folder again, to be changed."""
    return Path(shutil.copytree(folder, tmp_path / "copied"))


@pytest.fixture
def record(model: Model, tmp_path: Path) -> Record:
    """Makes records: of the schema at temperature 1, unless told otherwise."""

    def make(
        *, model: Model = model, prompt: str = "Tea?", output_type: object = SCHEMA, **options: object
    ) -> RunRecord:
        path = tmp_path / "run.json"
        settings = {"temperature": 1.0, "seed": 5, "max_tokens": 60, **options}
        model.generate(prompt, output_type, record=path, **settings)  # type: ignore[arg-type]
        return RunRecord.from_file(path)

    return make
