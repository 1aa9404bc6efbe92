"""A tiny model in a folder, so that the command line is tested whole, without network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
import safetensors.torch
import torch

import grammars
from constrained.model.weights import expected_shapes
from constrained.testing.tiny import TINY_CHAT_TEMPLATE, tiny_config, tiny_tokenizer_json

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a seeded model with a context of 2,048 tokens, in Hugging Face form. The kernels are compiled then."""
    grammars.warm_up()
    folder = tmp_path_factory.mktemp("tiny-model")
    config = tiny_config(vocab_size=512, max_position_embeddings=2048)
    generator = torch.Generator().manual_seed(0)
    tensors = {
        name: 1 + 0.1 * torch.randn(shape, generator=generator)
        if name.endswith("norm.weight")
        else torch.randn(shape, generator=generator) / shape[1] ** 0.5
        for name, shape in expected_shapes(config).items()
    }
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    fields = asdict(config)
    del fields["eos_token_ids"], fields["rope_scaling"], fields["sliding_window"]
    fields |= {"architectures": [fields.pop("architecture")], "eos_token_id": 2, "model_type": "llama"}
    (folder / "config.json").write_text(json.dumps(fields), encoding="utf-8")
    (folder / "tokenizer.json").write_text(tiny_tokenizer_json(), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    (folder / "chat_template.jinja").write_text(TINY_CHAT_TEMPLATE, encoding="utf-8")
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the real command in an empty folder; stdin is empty unless ``input`` says otherwise."""

    def run_command(*arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(arguments), input=input, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=240
        )

    return run_command


def command(arguments: Sequence[str]) -> list[str]:
    """The command line that runs ``constrained`` with these arguments, whatever PATH says."""
    return [sys.executable, "-c", "from constrained_cli.main import main; main()", *arguments]
