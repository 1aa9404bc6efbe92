"""``constrained extract`` on the tiny model, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from constrained_cli.main import cli
from hypothesis import given
from hypothesis import strategies as st

import constrained

FIELDS = "paid: bool, size: 'small' | 'large'"
SCHEMA = {
    "type": "object",
    "properties": {"z": {"type": "boolean"}, "a": {"enum": ["x", "y"]}},
    "required": ["z", "a"],
    "additionalProperties": False,
}
MODULE = """
from typing import Literal
from pydantic import BaseModel, field_validator

class Answer(BaseModel):
    paid: bool

class Never(BaseModel):
    paid: bool

    @field_validator("paid")
    @classmethod
    def _never(cls, value):
        raise ValueError("expected something else")

class Inside:
    Kind = Literal["a", "b"]

code = __import__("constrained").regex("[0-9]")

number = 5
"""
LOUD = """
import os
import constrained
from pydantic import BaseModel, field_validator

print("hello from the module")
os.system("echo hello from a child")

class Loud(BaseModel):
    paid: bool

    @field_validator("paid")
    @classmethod
    def _say(cls, value):
        print("hello from the validator")
        return value

code = constrained.regex("[0-9]{3}")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two documents, a schema and a module of the user's, in the current folder."""
    (tmp_path / "one.txt").write_text("The first order is paid.", encoding="utf-8")
    (tmp_path / "two.txt").write_text("The second order is not.", encoding="utf-8")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA, indent=2), encoding="utf-8")
    (tmp_path / "wide.json").write_text(json.dumps(SCHEMA), encoding="utf-16")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def extract(tiny_model: Path, folder: Path) -> Any:
    def call(*arguments: str, input: str | bytes = "", model: str | None = None) -> Result:
        return CliRunner().invoke(cli, ["extract", *arguments, "--model", model or str(tiny_model)], input=input)

    return call


def values(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_one_compact_line_a_document_in_order_and_nothing_else_on_stdout(extract: Any) -> None:
    result = extract("two.txt", "one.txt", "--schema", "schema.json")
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    for line in (first, second):
        value = json.loads(line)
        assert list(value) == ["z", "a"]
        assert line == json.dumps(value, separators=(",", ":"))
    alone = extract("one.txt", "--schema", "schema.json")
    assert alone.stdout == second + "\n"
    assert result.stderr == ""


@pytest.mark.parametrize(
    "schema",
    [
        "schema.json",
        "./schema.json",
        "@schema.json",
        "wide.json",
        json.dumps(SCHEMA),
        "\n  " + json.dumps(SCHEMA, indent=1),
    ],
)
def test_a_schema_is_taken_as_file_or_json(extract: Any, schema: str) -> None:
    result = extract("one.txt", "--schema", schema)
    assert result.exit_code == 0, result.output
    assert list(values(result)[0]) == ["z", "a"]


def test_a_schema_is_taken_from_a_module_of_the_current_folder(extract: Any, folder: Path) -> None:
    (folder / "own_types.py").write_text(MODULE, encoding="utf-8")
    assert list(values(extract("one.txt", "--schema", "own_types:Answer"))[0]) == ["paid"]
    assert values(extract("one.txt", "--schema", "own_types:Inside.Kind"))[0] in ("a", "b")


def test_fields_are_a_schema_in_one_line(extract: Any) -> None:
    (value,) = values(extract("one.txt", "--fields", FIELDS))
    assert list(value) == ["paid", "size"]
    assert value["size"] in ("small", "large")


@pytest.mark.parametrize("whitespace", ["indent=2", "indent=4", "spaced", "compact", "flexible"])
def test_lines_are_compact_whatever_the_model_wrote(extract: Any, whitespace: str) -> None:
    result = extract("one.txt", "--fields", FIELDS, "--whitespace", whitespace)
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    assert " " not in line


def test_standard_input_is_read_when_named_or_when_nothing_is(extract: Any) -> None:
    named = extract("-", "--fields", FIELDS, input="An order.")
    default = extract("--fields", FIELDS, input="An order.")
    assert named.exit_code == default.exit_code == 0
    assert named.stdout == default.stdout != ""


def test_json_lines_by_suffix_and_by_field(extract: Any, folder: Path) -> None:
    (folder / "mail.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n', encoding="utf-8")
    assert len(values(extract("mail.jsonl", "--fields", FIELDS))) == 2
    result = extract(
        "--text-field", "body", "--fields", FIELDS, input='{"body": "a"}\n\n{"body": "b"}\n{"body": "c"}\n'
    )
    assert result.exit_code == 0, result.output
    assert len(values(result)) == 3


def test_what_fails_is_named_and_the_others_are_still_written(extract: Any, folder: Path) -> None:
    (folder / "empty.txt").write_bytes(b"")
    (folder / "image.png").write_bytes(b"\x89PNG\0\0")
    (folder / "long.txt").write_text("word " * 5000, encoding="utf-8")
    (folder / "lines.jsonl").write_text('{"text": "good"}\n{oops\n{"no": 1}\n', encoding="utf-8")
    result = extract(
        "gone.txt", "one.txt", "empty.txt", "image.png", "long.txt", "lines.jsonl", ".", "--fields", FIELDS
    )
    assert result.exit_code == 1
    assert len(values(result)) == 2
    *reasons, summary = result.stderr.splitlines()
    starts = [line.split(": ", 1)[0] for line in reasons]
    assert starts == ["gone.txt", "empty.txt", "image.png", "long.txt", "lines.jsonl:2", "lines.jsonl:3", "."]
    assert "No such file" in reasons[0]
    assert "the model's context holds 2,048" in reasons[3]
    assert summary == "Error: 7 of 9 documents failed"


def test_without_a_readable_document_no_model_is_loaded(extract: Any) -> None:
    result = extract("gone.txt", "--fields", FIELDS, model="no/such/model/at/all")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == ["gone.txt: No such file or directory", "Error: 1 of 1 documents failed"]


def test_an_output_that_is_cut_off_is_a_failure_and_not_a_line(extract: Any) -> None:
    result = extract("one.txt", "two.txt", "--fields", "text: str", "--max-tokens", "6")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "one.txt: cut off after 6 tokens" in result.stderr
    assert "raise --max-tokens, close it in time (--on-budget close), or bound what may be long" in result.stderr


def test_an_output_that_the_context_cuts_off_is_told_so(extract: Any, folder: Path) -> None:
    (folder / "long.txt").write_text("a" * 1500, encoding="utf-8")
    result = extract("long.txt", "--schema", '{"type": "string", "minLength": 900, "pattern": "^x*$"}')
    assert result.exit_code == 1
    assert "they fill the model's context of 2,048; shorten the text" in result.stderr
    assert "raise --max-tokens" not in result.stderr


def test_a_value_that_its_type_refuses_is_a_failure(extract: Any, folder: Path) -> None:
    (folder / "strict_types.py").write_text(MODULE, encoding="utf-8")
    result = extract("one.txt", "--schema", "strict_types:Never", "--temperature", "1")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "one.txt: the output was drawn 4 times and its validation failed:" in result.stderr
    assert "paid: Value error, expected something else" in result.stderr


def test_out_is_written_instead_of_stdout(extract: Any, folder: Path) -> None:
    (folder / "out.jsonl").write_text("old", encoding="utf-8")
    failed = extract("gone.txt", "--fields", FIELDS, "--out", "out.jsonl")
    assert failed.exit_code == 1
    assert (folder / "out.jsonl").read_text(encoding="utf-8") == "old"
    result = extract("one.txt", "two.txt", "--fields", FIELDS, "--out", "out.jsonl")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert len((folder / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_the_same_seed_gives_the_same_value_here_and_in_python(extract: Any, tiny_model: Path) -> None:
    arguments = (
        "one.txt",
        "--fields",
        "code: int, size: 'small' | 'large', n: 0".replace(", n: 0", ""),
        "--temperature",
        "1",
    )
    first = extract(*arguments, "--seed", "7", "--max-tokens", "200")
    again = extract(*arguments, "--seed", "7", "--max-tokens", "200")
    assert first.exit_code == 0, first.output
    assert first.stdout == again.stdout
    model = constrained.load(tiny_model, device="cpu")
    text = Path("one.txt").read_text(encoding="utf-8")
    schema = constrained.fields_schema("code: int, size: 'small' | 'large'")
    assert [model.extract(text, schema, temperature=1.0, seed=7, max_tokens=200).value] == values(first)


def test_a_file_that_cannot_be_written_is_told_before_the_model_is_loaded(folder: Path) -> None:
    (folder / "out.jsonl").mkdir()
    for out in ("out.jsonl", "one.txt/out"):
        arguments = ["extract", "one.txt", "--fields", FIELDS, "--out", out, "--model", "no/such/model"]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 2
        assert "'--out'" in result.stderr


def test_a_new_file_without_a_result_is_not_left_behind(extract: Any, folder: Path) -> None:
    assert extract("gone.txt", "--fields", FIELDS, "--out", "new.jsonl").exit_code == 1
    assert not (folder / "new.jsonl").exists()
    (folder / "long.jsonl").write_text("x" * 10_000, encoding="utf-8")
    assert extract("one.txt", "--fields", FIELDS, "--out", "long.jsonl").exit_code == 0
    assert json.loads((folder / "long.jsonl").read_text(encoding="utf-8"))


def test_names_of_files_need_not_be_unicode(extract: Any, folder: Path) -> None:
    name = b"r\xe9sultat.jsonl".decode("utf-8", "surrogateescape")
    result = extract("one.txt", name + ".gone", "--fields", FIELDS, "--out", name)
    assert result.exit_code == 1
    assert len((folder / name).read_text(encoding="utf-8").splitlines()) == 1


def test_a_device_is_written_as_it_is(extract: Any) -> None:
    result = extract("one.txt", "--fields", FIELDS, "--out", "/dev/null")
    assert result.exit_code == 0, result.output


def test_what_code_of_the_type_prints_is_no_result(extract: Any, folder: Path) -> None:
    (folder / "loud_types.py").write_text(LOUD, encoding="utf-8")
    result = extract("one.txt", "--schema", "loud_types:Loud")
    assert [list(value) for value in values(result)] == [["paid"]]
    assert "hello from the module" in result.stderr
    assert "hello from the validator" in result.stderr


@given(st.floats() | st.sampled_from([0.0, 1.0, 5e-324]), st.floats(0, 1), st.integers(-1, 2**65), st.integers(0, 9))
def test_settings_that_the_options_take_are_settings(temperature: float, top_p: float, seed: int, top_k: int) -> None:
    options = {"temperature": temperature, "top_p": top_p, "seed": seed, "top_k": top_k}
    command = cli.commands["extract"]
    kinds = {option.name: option.type for option in command.params}
    try:
        taken = {name: kinds[name].convert(str(value), None, None) for name, value in options.items()}
    except click.BadParameter:
        with pytest.raises(ValueError, match="validation error"):
            constrained.SamplingConfig(**options)
        return
    assert constrained.SamplingConfig(**taken).seed == seed


USAGE: list[tuple[list[str], list[str]]] = [
    ([], ["expected exactly one of --schema, --fields, --lark, --gbnf, --grammar; got none"]),
    (["--schema", "schema.json", "--fields", "a"], ["got --schema and --fields"]),
    (["--schema", "gone.json"], ["'--schema'", "there is no file 'gone.json'", "module:Model"]),
    (["--schema", "@gone.json"], ["there is no file 'gone.json'"]),
    (["--schema", '{"type": }'], ["'--schema'", "the JSON given is not valid JSON", "line 1, column 10", "^"]),
    (["--schema", "one.txt"], ["'--schema'", "the file 'one.txt' is not valid JSON", "^"]),
    (["--schema", '{"title": "\udcff"}'], ["'--schema'", "this is not UTF-8 text"]),
    (["--schema", '{"items":' * 5000], ["'--schema'", "the JSON given is nested too deeply to be read"]),
    (["--schema", "."], ["'.' cannot be read: Is a directory"]),
    (["--schema", "binary.json"], ["'binary.json' is not a text file with a JSON Schema"]),
    (["--schema", "https://no.example/a.json"], ["there is no file 'https://no.example/a.json'", "nothing is fetched"]),
    (["--schema", "list.json"], ["expected an object, got list"]),
    (["--schema", "no_such_module:Model"], ["importing 'no_such_module' failed", "ModuleNotFoundError"]),
    (["--schema", "broken_module:Model"], ["ZeroDivisionError", "broken_module.py:1"]),
    (["--schema", "leaving_module:Model"], ["importing 'leaving_module' failed", "sys.exit(3)", "leaving_module.py:2"]),
    (["--schema", ""], ["'--schema'", "this is empty"]),
    (["--schema", "@"], ["'--schema'", "this is empty"]),
    (["--fields", ""], ["'--fields'", "expected the name of a field"]),
    (["--fields", "a", "--model", ""], ["'--model'", "this is empty"]),
    (["--fields", "a", "--model", " "], ["'--model'", "this is empty"]),
    (["--fields", "a", "--out", ""], ["'--out'", "this is empty"]),
    (["--fields", "a", "--text-field", ""], ["'--text-field'", "this is empty"]),
    (["--fields", "a", "--prompt", ""], ["'--prompt'", "this is empty"]),
    (["--fields", "a", ""], ["a document's name is empty"]),
    (["--schema", "user_module:Gone"], ["'user_module' has no 'Gone'"]),
    (["--schema", "user_module:number"], ["'--schema'", "not an output type"]),
    (["--schema", '{"type": "strin"}'], ["'--schema'", "type", "strin"]),
    (
        [
            "--schema",
            '{"properties": {"a": {"$ref": "https://no.example/a"}, "b": {"items": {"$ref": "file:///etc/b"}}}}',
        ],
        ["'--schema'", "/properties/a: $ref", "/properties/b/items: $ref"],
    ),
    (["--fields", "a: foo"], ["'--fields'", "expected a type", "position 3", "^"]),
    (["--fields", "a", "--model", "no-such-model"], ["no-such-model", "no such folder or file"]),
    (["--fields", "a", "--device", "tpu"], ["'--device'", "tpu"]),
    (["--fields", "a", "--temperature", "-1"], ["'--temperature'"]),
    (["--fields", "a", "--top-p", "0"], ["'--top-p'"]),
    (["--fields", "a", "--temperature", "nan"], ["'--temperature'", "expected a finite number, got nan"]),
    (["--fields", "a", "--temperature", "inf"], ["'--temperature'", "expected a finite number, got inf"]),
    (["--fields", "a", "--top-p", "nan"], ["'--top-p'", "expected a finite number, got nan"]),
    (["--fields", "a", "--top-p", "-inf"], ["'--top-p'"]),
    (["--fields", "a", "--top-k", "0"], ["'--top-k'"]),
    (["--fields", "a", "--seed", "-1"], ["'--seed'"]),
    (["--fields", "a", "--seed", str(2**64)], ["'--seed'"]),
    (["--fields", "a", "--threads", str(2**40)], ["'--threads'"]),
    (["--fields", "a", "--retries", "-1"], ["'--retries'"]),
    (["--fields", "a", "--max-tokens", "0"], ["'--max-tokens'"]),
    (["--fields", "a", "--whitespace", "tabs"], ["'--whitespace'", "'tabs' is none of indent=2"]),
    (["--fields", "a", "--whitespace", "indent=99"], ["'--whitespace'", "'indent=99' is none of", "indent=8"]),
    (["--fields", "a", "--whitespace", "indent=9"], ["'--whitespace'"]),
    (["--schema", "user_module:code", "--whitespace", "compact"], ["--whitespace says how JSON is written"]),
    (["--fields", "a", "--out", "."], ["'--out'", "'.' cannot be written: Is a directory"]),
    (["--fields", "a", "--out", "/dev/full/out"], ["'--out'", "there is no folder '/dev/full'"]),
    (["--fields", "a", "--out", "a" * 300], ["'--out'", "cannot be written: File name too long"]),
    (["--fields", "a", "--out", "no/folder/out"], ["'--out'", "there is no folder 'no/folder'"]),
    (["--fields", "a", "--out", "one.txt"], ["'--out'", "'one.txt' is one of the documents"]),
    (["--fields", "a", "-", "-"], ["can be read only once"]),
    (["--fields", "a", "--colour"], ["No such option"]),
]


@pytest.mark.parametrize(("arguments", "messages"), USAGE, ids=[" ".join(case[0])[:40] for case in USAGE])
def test_usage_errors_exit_2_and_name_the_argument(folder: Path, arguments: list[str], messages: list[str]) -> None:
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00\x01\x80")
    (folder / "list.json").write_text("[1]", encoding="utf-8")
    (folder / "broken_module.py").write_text("x = 1 / 0\n", encoding="utf-8")
    (folder / "leaving_module.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    (folder / "user_module.py").write_text(MODULE, encoding="utf-8")
    result = CliRunner().invoke(cli, ["extract", "one.txt", *arguments])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for message in messages:
        assert message in result.stderr


def test_documents_side_by_side_give_the_same_lines(extract: Any, folder: Path) -> None:
    documents = folder / "many.jsonl"
    documents.write_text("".join(f'{{"text": "order {number} of the user"}}\n' for number in range(7)) + "{]\n")
    arguments = [str(documents), "--fields", FIELDS, "--temperature", "1"]
    alone, together = extract(*arguments), extract(*arguments, "--batch", "3")
    assert alone.exit_code == together.exit_code == 1
    assert together.stdout == alone.stdout
    assert alone.stdout.count("\n") == 7


def test_a_budget_closes_the_output(extract: Any, folder: Path) -> None:
    (folder / "a.txt").write_text("the name of the user")
    arguments = [str(folder / "a.txt"), "--fields", "name: str, user: str", "--max-tokens", "24"]
    closed = extract(*arguments, "--on-budget", "close")
    assert closed.exit_code == 0
    assert list(json.loads(closed.stdout)) == ["name", "user"]
    refused = extract(*arguments[:-1], "3", "--on-budget", "close")
    assert refused.exit_code == 1
    assert "the shortest complete output that is known needs" in refused.stderr
