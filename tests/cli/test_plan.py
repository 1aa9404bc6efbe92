"""``constrained plan``: numbers that fit together, and refusals that say what would fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from constrained_cli.main import cli


def plan(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plan", *arguments])


def test_it_says_what_a_generation_costs(tiny_model: Path) -> None:
    shown = plan("--model", str(tiny_model), "--prompt-tokens", "100", "--max-tokens", "20", "--batch", "4")
    assert shown.exit_code == 0, shown.output
    for name in ("parameters", "keys and values", "memory", "prefill", "decode", "bound by", "price"):
        assert f"\n{name}" in "\n" + shown.stdout
    told = plan("--model", str(tiny_model), "--prompt-tokens", "100", "--max-tokens", "20", "--batch", "4", "--json")
    costs = json.loads(told.stdout)
    assert costs["kv_bytes"] == 4 * 120 * costs["kv_bytes_per_token"]
    assert costs["memory_bytes"] > costs["weight_bytes"] + costs["kv_bytes"]
    assert costs["tokens_per_second"] * costs["seconds_per_step"] == pytest.approx(4)


def test_what_does_not_fit_is_refused_before_it_fails(tiny_model: Path) -> None:
    refused = plan("--model", str(tiny_model), "--batch", "1000000000")
    assert refused.exit_code != 0
    assert "of keys and values need" in refused.stderr
    assert "would fit" in refused.stderr
    long = plan("--model", str(tiny_model), "--prompt-tokens", "1000000")
    assert "prompt and 256 output tokens need a context of" in long.stderr
