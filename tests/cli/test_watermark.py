"""``constrained watermark`` and the options of the draw, from the command line: what is printed, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from constrained_cli.main import cli

from constrained.errors import WatermarkKeyError

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 60}, "on": {"type": "boolean"}},
    "required": ["name", "on"],
    "additionalProperties": False,
}


def call(*arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=input)


@pytest.fixture
def folder(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a schema, a key, and two marked outputs, each a line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    assert call("watermark", "keygen", "key.txt").exit_code == 0
    lines = []
    for seed in ("1", "2"):
        done = call(
            *("generate", "hi", "--schema", "schema.json", "--model", str(tiny_model), "--temperature", "1"),
            *("--watermark", "gumbel", "--key-file", "key.txt", "--seed", seed),
        )
        assert done.exit_code == 0, done.output
        lines.append(done.stdout)
    (tmp_path / "out.jsonl").write_text("".join(lines))
    return tmp_path


def test_marks_are_found_by_their_key_only(folder: Path, tiny_model: Path) -> None:
    common = ("watermark", "detect", "out.jsonl", "--schema", "schema.json", "--model", str(tiny_model))
    found = call(*common, "--key-file", "key.txt", "--html", "page.html")
    assert found.exit_code == 0, found.output
    assert found.stdout.count(" marked ") == 3
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    assert call("watermark", "keygen", "other.txt").exit_code == 0
    nothing = call(*common, "--key-file", "other.txt", "--json")
    assert nothing.exit_code == 1
    rows = [json.loads(line) for line in nothing.stdout.splitlines()]
    assert [row["name"] for row in rows] == ["line 1", "line 2", "together"]
    assert rows[2]["is_marked"] is False
    fingerprint = json.loads(call(*common, "--key-file", "key.txt", "--json").stdout.splitlines()[0])["fingerprint"]
    assert call(*common, "--key-file", "key.txt", "--fingerprint", fingerprint).exit_code == 0
    wrong = call(*common, "--key-file", "other.txt", "--fingerprint", fingerprint)
    assert wrong.exit_code == 2
    assert "fingerprint: expected" in wrong.stderr


def test_ids_and_standard_input_are_read(folder: Path, tiny_model: Path) -> None:
    common = ("watermark", "detect", "-", "--model", str(tiny_model), "--key-file", "key.txt")
    first = (folder / "out.jsonl").read_text().splitlines()[0]
    assert call(*common, "--schema", "schema.json", input=first).exit_code == 0
    assert call(*common, "--ids", input="[5, 6, 7, 8, 9]").exit_code == 1
    refused = call(*common, "--ids", input="[5, 6.5]")
    assert (refused.exit_code, "expected a JSON array of token ids" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("watermark", "detect", "out.txt"), "give one of --key-file and --key-env"),
        (("watermark", "detect", "none.txt", "--key-env", "MARK"), "none.txt"),
        (("generate", "hi", "--watermark", "kgw"), "give one of --key-file and --key-env"),
        (("generate", "hi", "--key-env", "MARK"), "give --watermark too"),
        (("generate", "hi", "--watermark", "gumbel", "--key-env", "MARK"), "at temperature 0 nothing is drawn"),
        (("generate", "hi", "--watermark", "kgw", "--key-env", "NONE"), "NONE is not set"),
        (("generate", "hi", "--sampling", "cars"), "pass a temperature above 0"),
        (("generate", "hi", "--repetition-penalty", "0"), "repetition_penalty: expected 0.01 <="),
        (("generate", "hi", "--sampling-config", '{"temprature": 1}'), "temprature: Extra inputs are not permitted"),
        (("generate", "hi", "--sampling-config", "none.json"), "cannot be read"),
        (("generate", "hi", "--sampling-config", "{"), "this is not JSON"),
        (("generate", "hi", "--sampling-config", '{"top_k": 5}', "--temperature", "1", "--sampling", "smc"), "top_k"),
    ],
)
def test_wrong_usage_is_told(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARK", "00" * 16)
    (tmp_path / "out.txt").write_text("{}")
    done = call(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr


def test_a_key_is_not_replaced_and_only_its_owner_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("watermark", "keygen", "key.txt").exit_code == 0
    assert (tmp_path / "key.txt").stat().st_mode & 0o077 == 0
    again = call("watermark", "keygen", "key.txt")
    assert (again.exit_code, "is there already" in again.stderr) == (2, True)
    printed = call("watermark", "keygen").stdout.strip()
    assert len(printed) == 64
    assert printed != (tmp_path / "key.txt").read_text().strip()
    assert issubclass(WatermarkKeyError, ValueError)


def test_one_config_says_all_and_options_replace_its_fields(tmp_path: Path, tiny_model: Path) -> None:
    config = tmp_path / "sampling.json"
    config.write_text(json.dumps({"temperature": 1.0, "seed": 5, "top_k": 3}))
    common = ("generate", "hi", "--model", str(tiny_model), "--max-tokens", "12")
    by_file = call(*common, "--sampling-config", str(config)).stdout
    by_options = call(*common, "--temperature", "1", "--seed", "5", "--top-k", "3").stdout
    other = call(*common, "--sampling-config", str(config), "--seed", "6").stdout
    assert by_file == by_options != other
    assert other == call(*common, "--temperature", "1", "--seed", "6", "--top-k", "3").stdout
