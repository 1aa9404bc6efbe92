"""Verbatim text on the command line, on the tiny model, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from constrained_cli.main import cli

SCHEMA = '{"type": "string", "x-verbatim": "characters"}'


@pytest.fixture
def run(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("aaaa aaaa", encoding="utf-8")
    Path("blank.txt").write_text(" \n", encoding="utf-8")

    def call(*arguments: str) -> Result:
        model = ["--model", str(tiny_model)] if arguments[0] in ("extract", "generate") else []
        return CliRunner().invoke(cli, [*arguments, *model])

    return call


def test_extract_takes_strings_from_each_document(run: Any) -> None:
    for option in ("--verbatim", "--verbatim-characters"):
        result = run("extract", "a.txt", "--fields", "x: str", option, "--max-tokens", "60", "--seed", "3")
        value = json.loads(result.stdout)["x"] if result.exit_code == 0 else "aaaa"
        assert value in "aaaa aaaa"
        assert result.exit_code == 0 or "cut off" in result.stderr


def test_extract_tells_spans(run: Any) -> None:
    fields = "kind: 'aaaa' | 'b', other: bool"
    result = run("extract", "a.txt", "--fields", fields, "--spans")
    line = json.loads(result.stdout)
    assert list(line) == ["value", "spans"]
    assert line["spans"] == ({"/kind": [0, 4]} if line["value"]["kind"] == "aaaa" else {})


def test_what_cannot_be_enforced_is_told_before_the_model_is_loaded(run: Any) -> None:
    result = run("extract", "a.txt", "--schema", '{"type": "string", "maxLength": 3}', "--verbatim")
    assert result.exit_code == 2
    assert "maxLength: cannot be enforced together with x-verbatim" in result.stderr


def test_generate_needs_a_source_where_the_schema_asks_for_one(run: Any) -> None:
    result = run("generate", "?", "--schema", SCHEMA, "--source", "a.txt", "--max-tokens", "400")
    assert result.exit_code == 0 or "cut off" in result.stderr
    assert run("generate", "?", "--schema", SCHEMA).exit_code == 2
    assert "name the text that they are taken from by --source" in run("generate", "?", "--schema", SCHEMA).stderr
    for arguments in (["--choice", "a"], []):
        result = run("generate", "?", "--source", "a.txt", *arguments)
        assert result.exit_code == 2
        assert "--source is for schemas with verbatim strings" in result.stderr
    result = run("generate", "?", "--schema", SCHEMA, "--source", "blank.txt")
    assert result.exit_code == 2
    assert "blank.txt: the document is empty" in result.stderr


def test_grammars_are_looked_at_with_a_source(run: Any) -> None:
    assert run("grammar", "check", "--schema", SCHEMA, "--source", "a.txt", '"a a"').stdout == "accepted\n"
    assert "dead at 1:3" in run("grammar", "check", "--schema", SCHEMA, "--source", "a.txt", '"ab"').stdout
    assert "verbatim characters of the source" in run("grammar", "show", "--schema", SCHEMA).stdout
    samples = run("grammar", "sample", "--schema", SCHEMA, "--source", "a.txt", "-n", "5").stdout.splitlines()
    assert all(json.loads(json.loads(sample)) in "aaaa aaaa" for sample in samples)
    missing = run("grammar", "check", "--schema", SCHEMA, '"a"')
    assert missing.exit_code != 0
    assert "needs a source" in missing.stderr
    gone = run("grammar", "show", "--schema", SCHEMA, "--source", "none.txt")
    assert gone.exit_code == 2
    assert "none.txt" in gone.stderr
