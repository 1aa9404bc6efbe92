"""``constrained model info`` on a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from constrained_cli.main import cli

from constrained.testing.tiny import tiny_tokenizer, tiny_tokenizer_json
from tests.constrained.model.reference import transformers_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    transformers_model(vocab_size=tiny_tokenizer().size + 3).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(tiny_tokenizer_json(), encoding="utf-8")
    return tmp_path


def test_info(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["model", "info", "--model", str(folder)])
    assert result.exit_code == 0, result.output
    lines = dict(line.split("  ", 1) for line in result.stdout.splitlines() if "  " in line)
    assert lines["layers"].strip() == "2, 32 wide, 48 inside"
    assert "drift, int8" not in lines


def test_info_as_json_with_drift(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["model", "info", "-m", str(folder), "--drift", "--json"])
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["kv_bytes_per_token"] == 2 * 2 * (8 + 32) * 4  # a value of 8 numbers takes the place of 32
    assert facts["weight_bytes"]["int8"] < facts["weight_bytes"]["bf16"] < facts["weight_bytes"]["fp32"]
    assert [drift["weights"] for drift in facts["drift"]] == ["bf16", "int8"]


def test_no_such_model() -> None:
    result = CliRunner().invoke(cli, ["model", "info", "--model", "/no/such/folder"])
    assert result.exit_code == 2
    assert "/no/such/folder" in result.stderr
