"""``constrained generate`` on the tiny model, in this process."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from constrained_cli.main import cli

import constrained


@pytest.fixture
def generate(tiny_model: Path) -> Any:
    def call(*arguments: str, input: str = "") -> Result:
        return CliRunner().invoke(cli, ["generate", *arguments, "--model", str(tiny_model)], input=input)

    return call


def test_a_choice_and_a_pattern_are_written_as_plain_text(generate: Any) -> None:
    assert generate("Which?", "--choice", "yes", "--choice", "no").stdout in ("yes\n", "no\n")
    result = generate("Code?", "--regex", "[A-Z]{3}-[0-9]{2}", "--temperature", "1", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r"[A-Z]{3}-[0-9]{2}\n", result.stdout)


def test_json_comes_on_one_line(generate: Any) -> None:
    result = generate("Paid?", "--fields", "paid: bool, n: bool?")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    assert list(json.loads(result.stdout)) == ["paid", "n"]


def test_free_text_is_that_of_python_and_a_cut_is_told_on_stderr(generate: Any, tiny_model: Path) -> None:
    result = generate("Tea?", "--max-tokens", "12", "--temperature", "1", "--seed", "5")
    assert result.exit_code == 0, result.output
    whole = constrained.load(tiny_model, device="cpu").generate("Tea?", max_tokens=12, temperature=1.0, seed=5)
    assert result.stdout == whole.text + "\n"
    assert whole.stop_reason == "length"
    assert "cut off" in result.stderr


def test_the_prompt_may_come_from_standard_input_and_be_raw(generate: Any) -> None:
    arguments = ("--max-tokens", "8", "--temperature", "1")
    piped = generate("-", *arguments, input="Tea?")
    given = generate("Tea?", *arguments)
    raw = generate("Tea?", "--raw", *arguments)
    assert piped.stdout == given.stdout != raw.stdout


def test_a_constrained_output_that_is_cut_off_fails_with_what_there_is(generate: Any) -> None:
    result = generate("Say", "--regex", "[a-z]{50}", "--max-tokens", "5")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "cut off after 5 tokens" in result.stderr
    assert "So far: " in result.stderr


LARGE = {f"p{number}": {"type": "string", "pattern": f"^[a-z]{{{99_000 + number}}}$"} for number in range(50)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Hi", "--schema", json.dumps({"properties": LARGE})], "'--schema': the grammar needs"),
        (["Hi", "--regex", "a", "--choice", "b"], "got --regex and --choice"),
        (["Hi", "--regex", "("], "'--regex'"),
        (["Hi", "--choice", "a", "--choice", "a"], "'--choice': expected different texts"),
        (["Hi", "--schema", '{"$ref": "https://no.example/a"}'], "'--schema'"),
        (["Hi", "--regex", r"[^\s\S]"], "'--regex': no text matches this grammar"),
        (["Hi", "--regex", "a(?!a)(?=a)"], "'--regex'"),
        (["Hi", "--regex", "[a-z]{100000}" * 50], "'--regex': the grammar needs 5,000,199 states: more than"),
        (["Hi", "--regex", "a", "--whitespace", "compact"], "--regex writes none"),
        (["Hi", "--choice", "a", "--whitespace", "compact"], "--choice writes none"),
        (["Hi", "--whitespace", "compact"], "free text writes none"),
        (
            ["Hi", "--formats", "annotate"],
            "--formats says how JSON is written, and free text writes none; leave it out",
        ),
        (["Hi", "--regex", "a", "--property-order", "any", "--whitespace", "any"], "--whitespace and --property-order"),
        (["Hi", "--regex", "a", "--ensure-ascii"], "--ensure-ascii says how JSON is written, and --regex writes none"),
        (["Hi", "--fields", "a: int", "--on-unsupported", "ignore"], "'--on-unsupported'"),
        (["Hi", "--schema", '{"pattern": "(a)\\\\1"}'], "'--schema': the schema uses what is not supported"),
        (["Hi", "--on-unsupported", "relax", "--schema", '{"pattern": "x("}'], "nothing here can read the pattern"),
        (["Hi", "--temperature", "nan"], "'--temperature': expected a finite number, got nan"),
        (["Hi", "--model", ""], "'--model' / '-m': this is empty"),
        (["Hi", "--schema", '{"type": "string", "enum": [5]}'], "'--schema': the schema allows no value"),
        ([" "], "the prompt is empty"),
        ([], "Missing argument 'PROMPT'"),
    ],
)
def test_usage_errors_exit_2(arguments: list[str], message: str) -> None:
    model = () if "--model" in arguments else ("--model", "no/such/model")  # none is asked for
    result = CliRunner().invoke(cli, ["generate", *arguments, *model])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert message in result.stderr
    assert "no/such/model" not in result.stderr
    assert "Limits(" not in result.stderr


def test_an_output_that_its_type_refuses_is_a_failure(generate: Any, tmp_path: Path, monkeypatch: Any) -> None:
    source = """
import sys
from pydantic import AfterValidator
from typing import Annotated

def refuse(value):
    raise ValueError("not this one")

def leave(value):
    sys.exit("bye")

Refusing, Leaving = Annotated[bool, AfterValidator(refuse)], Annotated[bool, AfterValidator(leave)]
"""
    (tmp_path / "refusing_types.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    refused = generate("Hi", "--schema", "refusing_types:Refusing", "--temperature", "1", "--retries", "1")
    assert refused.exit_code == 1
    assert "drawn 2 times" in refused.stderr
    assert "not this one" in refused.stderr
    left = generate("Hi", "--schema", "refusing_types:Leaving")
    assert left.exit_code == 1
    assert "code of the output type ended the program (sys.exit('bye'))" in left.stderr


def test_what_is_no_text_is_refused_as_a_prompt() -> None:
    for data, reason in ((b"\x89PNG\0", "binary file"), (b"", "is empty")):
        result = CliRunner().invoke(cli, ["generate", "-"], input=data)
        assert result.exit_code == 2
        assert "the prompt from standard input cannot be used" in result.stderr
        assert reason in result.stderr
    bytes_as_argument = CliRunner().invoke(cli, ["generate", b"\xff".decode("utf-8", "surrogateescape")])
    assert bytes_as_argument.exit_code == 2
    assert "'PROMPT': this is not UTF-8 text" in bytes_as_argument.stderr


def test_a_prompt_that_does_not_fit_is_told_without_a_traceback(generate: Any) -> None:
    result = generate("word " * 5000)
    assert result.exit_code == 2
    assert "the model's context holds 2,048" in result.stderr


def test_what_of_a_schema_is_not_enforced_is_told_once(generate: Any) -> None:
    schema = {"type": "string", "enum": ["aa", "ab"], "pattern": r"^(.)\1$", "format": "colour"}
    options = ("--on-unsupported", "relax", "--temperature", "1", "--retries", "20")
    result = generate("Which?", "--schema", json.dumps(schema), *options)
    assert result.exit_code == 0, result.output
    assert result.stdout == '"aa"\n'
    assert result.stderr.count("Warning: not all of the schema is enforced") == 1
    assert "#: pattern: left out" in result.stderr
    assert "#: format: the format 'colour' is not known" in result.stderr


def test_the_order_of_properties_may_be_the_model_s(generate: Any) -> None:
    names = ["a", "b", "c", "d"]
    properties = {name: {"type": "boolean"} for name in names}
    schema = {"properties": properties, "required": names, "additionalProperties": False}
    found = set()
    for seed in range(4):
        options = ("--property-order", "any", "--temperature", "2", "--seed", str(seed))
        result = generate("Say", "--schema", json.dumps({**schema, "type": "object"}), *options)
        assert result.exit_code == 0, result.output
        found.add(tuple(json.loads(result.stdout)))
    assert {frozenset(order) for order in found} == {frozenset(names)}
    assert len(found) > 1


def test_characters_beyond_ascii_may_be_written_by_number(generate: Any) -> None:
    schema = json.dumps({"type": "object", "properties": {"größe": {"const": "süß 😀"}}, "required": ["größe"]})
    result = generate("Which?", "--schema", schema.replace('"properties"', '"maxProperties": 1, "properties"'))
    assert result.stdout == '{"größe":"süß 😀"}\n'
    result = generate("Which?", "--schema", json.dumps({"const": "süß 😀"}), "--ensure-ascii")
    assert result.exit_code == 0, result.output
    assert result.stdout == '"s\\u00fc\\u00df \\ud83d\\ude00"\n'
