"""``constrained grammar`` and ``constrained mask``, in this process: what is said, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from constrained_cli.main import cli

from grammars.library import grammar as library_grammar

CALC = 'root ::= sum\nsum ::= number ("+" number)*\nnumber ::= [0-9]+'
LARK = 'start: NAME "=" INT\nNAME: /[a-z]+/\n%import common.INT\n%ignore " "'


def call(*arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["grammar", *arguments], input=input)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "calc.gbnf").write_text(CALC)
    (tmp_path / "assign.lark").write_text(LARK)
    (tmp_path / "schema.json").write_text(
        '{"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}'
    )
    (tmp_path / "wrong.gbnf").write_text("root ::= foo")
    (tmp_path / "calc.txt").write_text(CALC)
    return tmp_path


CHECKS = [
    (["--regex", r"[0-9]+(\.[0-9]+)?", "12.5"], 0, "accepted\n"),
    (["--regex", r"[0-9]+(\.[0-9]+)?", "12."], 1, "incomplete: expected one of [0-9]\n12.\n   ^\n"),
    (["--regex", r"[0-9]+(\.[0-9]+)?", "12x"], 1, "dead at 1:3: expected one of [.0-9] or the end\n12x\n  ^\n"),
    (["--library", "sql_select", "SELECT a FRM t"], 1, 'dead at 1:12: expected "OM "\nSELECT a FRM t\n           ^\n'),
    (["--regex", "é{2}x", "éa"], 1, "dead at 1:2: expected a character beyond ASCII\néa\n ^\n"),
    (["--regex", "abc|abd|b", "x"], 1, 'dead at 1:1: expected "ab" or "b"\nx\n^\n'),
    (["--schema", '{"const": {"a": 1}}', "--whitespace", "compact", '{"a":1}'], 0, "accepted\n"),
    (
        ["--schema", '{"const": {"a": 1}}', "--whitespace", "indent=2", "{"],
        1,
        'incomplete: expected "\\n  \\"a\\": 1\\n}"\n{\n ^\n',
    ),
    (["--schema", '{"properties": {"a": {"type": "integer"}}}', ' { "a":\n1}'], 0, "accepted\n"),
    (["--regex", "a", ""], 1, 'incomplete: expected "a"\n\n^\n'),
]


@pytest.mark.parametrize(("arguments", "exit_code", "output"), CHECKS, ids=lambda value: str(value)[:40])
def test_check(arguments: list[str], exit_code: int, output: str) -> None:
    result = call("check", *arguments)
    assert (result.stdout, result.exit_code) == (output, exit_code), result.stderr


def test_check_reads_files_and_standard_input(files: Path) -> None:
    assert call("check", str(files / "calc.gbnf"), "1+22").exit_code == 0
    assert call("check", str(files / "assign.lark"), "a = 1").stdout == "accepted\n"
    assert call("check", str(files / "schema.json"), '{\n  "a": "y"\n}').exit_code == 0
    assert call("check", str(files / "calc.gbnf"), "22", "--start", "number").exit_code == 0
    result = call("check", "--library", "json", "-", input='[{"a":1},\n{"b":2:3}]')
    assert result.stdout == 'dead at 2:7: expected one of [\\t\\n\\r ,.0-9Ee}]\n{"b":2:3}]\n      ^\n'


USAGE = [
    (["check"], "expected a grammar file (or an option for it) and TEXT; got 0 arguments"),
    (["check", "--regex", "a"], "expected TEXT (the grammar is given by an option); got 0 arguments"),
    (
        ["check", "--regex", "a", "--library", "json", "x"],
        "expected exactly one of --regex, --schema, --lark, --gbnf, --grammar; got --regex and --grammar",
    ),
    (["check", "--regex", "(", "x"], "'--regex': unclosed group: expected ')'"),
    (["check", "--library", "yaml", "x"], "no grammar 'yaml' in the library; expected one of arithmetic,"),
    (["check", "calc.txt", "x"], "'calc.txt': expected the name of a grammar file to end with one of .gbnf,"),
    (["check", "none.gbnf", "x"], "there is no file 'none.gbnf'"),
    (["check", "--schema", '{"type": "strnig"}', "x"], "type: expected"),
    (["show", "a.gbnf", "b.gbnf"], "expected a grammar file, or an option for it; got 2 arguments"),
    (["sample", "--regex", "a", "-n", "0"], "Invalid value for '--count' / '-n'"),
    (["sample", "--regex", "a$b"], "no text at all is in the language"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=lambda value: str(value)[:40])
def test_wrong_usage(arguments: list[str], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_fault_in_a_file_is_told_with_its_place(files: Path) -> None:
    result = call("show", str(files / "wrong.gbnf"))
    assert result.exit_code == 2
    assert 'undefined rule "foo"; add foo ::= ..., at 1:10\nroot ::= foo\n         ^' in result.stderr


def test_show(files: Path) -> None:
    assert call("show", str(files / "calc.gbnf")).stdout == CALC + "\n"
    assert call("show", "--regex", "a(b|c)*").stdout == 'root ::= "a" ("b" | "c")*\n'


def test_sample_is_seeded_and_one_a_line() -> None:
    result = call("sample", "--library", "json", "-n", "20", "--seed", "3")
    texts = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(texts) == 20
    assert [json.loads(text) for text in texts]
    assert call("sample", "--library", "json", "-n", "20", "--seed", "3").stdout == result.stdout
    assert call("sample", "--regex", "ab", "-n", "2", "--raw").stdout == "ab\nab\n"


def test_sample_asks_the_guards_of_a_schema() -> None:
    schema = {"type": "array", "items": {"enum": [0, 1, 2]}, "uniqueItems": True, "minItems": 2}
    result = call("sample", "--schema", json.dumps(schema), "-n", "12")
    assert result.exit_code == 0, result.output
    values = [json.loads(json.loads(line)) for line in result.stdout.splitlines()]
    assert len(values) == 12
    assert all(len(value) == len(set(value)) >= 2 for value in values)


@pytest.fixture
def mask(tiny_model: Path) -> Any:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["mask", *arguments, "--model", str(tiny_model)])

    return run


def test_mask(mask: Any) -> None:
    result = mask("--regex", "(yes|no)", "y")
    assert result.exit_code == 0, result.output
    head, forced, *tokens = result.stdout.splitlines()
    assert head.endswith("of 512 tokens may come next")
    assert forced == 'forced: "es"'
    assert {json.loads(token.split(None, 1)[1]) for token in tokens} <= {"e", "es"}
    assert "the end among them" in mask("--regex", "a*", "a", "--most", "0").stdout
    dead = mask("--regex", "(yes|no)", "x")
    assert (dead.exit_code, dead.stdout) == (1, 'dead: expected "no" or "yes"\nx\n^\n')


def test_every_grammar_of_the_library_can_be_shown() -> None:
    result = call("show", "--library", "csv")
    assert result.exit_code == 0
    assert result.stdout.startswith("root ::=")
    assert library_grammar("csv").description.startswith("CSV (RFC 4180)")
