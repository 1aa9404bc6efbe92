"""``--record`` and ``constrained replay``, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run

_SCHEMA = '{"type": "object", "properties": {"a": {"enum": ["red", "green", "blue"]}}, "required": ["a"]}'
_DRAWN = ("--temperature", "2", "--seed", "4", "--deterministic")


def test_a_folder_of_records_is_replayed(run: Run, tmp_path: Path, tiny_model: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"Document {name}")
    made = run(*("extract", "a.txt", "b.txt", "-s", _SCHEMA, "-m", str(tiny_model), "--record", "runs", *_DRAWN))
    assert made.returncode == 0, made.stderr
    assert [path.name for path in sorted((tmp_path / "runs").iterdir())] == ["00001.json", "00002.json"]
    again = run("replay", "runs")
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.splitlines() == [
        "00001.json  identical",
        "00002.json  identical",
        "2 records: 2 identical",
    ]
    run("generate", "Tea?", "-m", str(tiny_model), "--max-tokens", "5", "--record", "runs", *_DRAWN)
    assert (tmp_path / "runs" / "00003.json").is_file()
    other = run("replay", "runs/00003.json", "--seed", "5")
    assert other.returncode == 3
    assert "a token differs: " in other.stdout
    assert "cause: input (request.sampling.seed), seen in the sampler" in other.stdout
    (tmp_path / "runs" / "00002.json").write_text('{"format": "constrained run')
    refused = run("replay", "runs", "--json")
    assert refused.returncode == 4
    told = [json.loads(line) for line in refused.stdout.splitlines()]
    assert [line["exit_code"] for line in told] == [0, 4, 0]
    assert "truncated" in told[1]["reason"]


def test_wrong_usage_is_no_verdict(run: Run, tmp_path: Path) -> None:
    assert run("replay", "--seed", "x", "run.json").returncode == 4
    assert run("replay", "missing.json").returncode == 4
    assert run("replay", str(tmp_path)).returncode == 4
