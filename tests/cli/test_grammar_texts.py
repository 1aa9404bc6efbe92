"""Grammars as texts on the command line: ``--lark``, ``--gbnf``, ``--grammar``, ``--start``; how schemas are read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from constrained_cli.main import cli

GBNF = 'root ::= word "." # a sentence\nword ::= "yes" | "no"\n'
LARK = 'start: ANSWER "!"\nANSWER: "yes" | "no"\nother: "other"\n'
PIECE = "from constrained import *\nPIECE = seq('a', until(special('<|im_start|>'), max_tokens=2), special(7))\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "words.gbnf": GBNF,
        "answer.lark": LARK,
        "wrong.gbnf": 'root ::= "a"\n  (b | "c"',
        "wrong.lark": 'start: "a"\n  | missing',
        "piece_module.py": PIECE,
        "document.txt": "The meeting is in May.",
    }.items():
        Path(name).write_text(text)
    Path("binary.gbnf").write_bytes(b"root ::= \x80\xff")
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        (["--gbnf", "words.gbnf"], r"(yes|no)\."),
        (["--gbnf", "words.gbnf", "--start", "word"], "yes|no"),
        (["--lark", "answer.lark"], "(yes|no)!"),
        (["--lark", "answer.lark", "--start", "other"], "other"),
        (["--grammar", "iso_date"], r"\d{4}-\d{2}-\d{2}"),
    ],
)
def test_generate_and_extract(folder: Path, tiny_model: Path, options: list[str], pattern: str) -> None:
    result = call("generate", "Well?", *options, "--model", str(tiny_model), "--max-tokens", "30")
    assert result.exit_code == 0, result.output
    assert re.fullmatch(pattern, result.stdout.removesuffix("\n"))
    result = call("extract", "document.txt", *options, "--model", str(tiny_model), "--max-tokens", "30")
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    assert re.fullmatch(pattern, json.loads(line))


FAULTS = [
    (["--gbnf", "wrong.gbnf"], "'--gbnf': wrong.gbnf: unclosed group: expected ')'", '  (b | "c"\n  ^'),
    (["--lark", "wrong.lark"], "'--lark': wrong.lark: undefined rule", "  | missing\n    ^"),
    (["--gbnf", "words.gbnf", "--start", "wrd"], "'--gbnf': words.gbnf: ", "wrd"),
    (["--gbnf", "none.gbnf"], "'--gbnf': there is no file 'none.gbnf'", ""),
    (["--gbnf", "binary.gbnf"], "'--gbnf': 'binary.gbnf' is not a text file with a grammar: ", ""),
    (["--gbnf", "."], "'--gbnf': '.' cannot be read: Is a directory", ""),
    (["--grammar", "yaml"], "no grammar 'yaml' in the library; expected one of arithmetic,", ""),
    (["--grammar", "json", "--lark", "answer.lark"], "got --lark and --grammar", ""),
    (["--grammar", "uuid", "--start", "a"], "--start names a rule of a Lark or GBNF grammar, and none is given", ""),
    (["--gbnf", "words.gbnf", "--whitespace", "compact"], "--whitespace says how JSON is written, and --gbnf", ""),
    (["--lark", "answer.lark", "--formats", "annotate"], "--formats says how JSON is written, and --lark", ""),
]


@pytest.mark.parametrize("command", ["generate", "extract", "check"])
@pytest.mark.parametrize(("options", "message", "excerpt"), FAULTS, ids=lambda value: str(value)[:40])
def test_faults_are_told_before_a_model_is_loaded(
    folder: Path, command: str, options: list[str], message: str, excerpt: str
) -> None:
    start = {"generate": ["generate", "Hi"], "extract": ["extract", "document.txt"], "check": ["grammar", "check", "x"]}
    model = [] if command == "check" else ["--model", "no/such/model"]
    result = call(*start[command], *options, *model)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert excerpt in result.stderr
    assert result.stdout == ""
    assert "no/such" not in result.stderr


def test_how_a_schema_is_read(folder: Path) -> None:
    schema = '{"type": "object", "properties": {"a": {"format": "date", "type": "string"}, "b": {}}, "required": ["b"]}'
    text = '{"b":1,"a":"x"}'
    base = ["grammar", "check", "--schema", schema, "--whitespace", "compact"]
    assert call(*base, text).stdout.startswith("dead at 1:10: expected one of ")
    assert call(*base, "--property-order", "any", text).stdout.startswith("dead at 1:13: expected one of [0-9]")
    assert call(*base, "--property-order", "any", "--formats", "annotate", text).stdout == "accepted\n"
    pattern = '{"type": "string", "pattern": "(a)\\\\1"}'
    assert call("grammar", "show", "--schema", pattern).exit_code == 2
    result = call("grammar", "check", "--schema", pattern, "--on-unsupported", "relax", '"b"')
    assert result.stdout == "accepted\n"
    assert "Warning: not all of the schema is enforced" in result.stderr
    assert "--formats says how JSON is written" in call("grammar", "show", "--regex", "a", "--formats", "assert").stderr


def test_special_tokens_of_a_piece(folder: Path) -> None:
    piece = ["--schema", "piece_module:PIECE"]
    assert '<special token "<|im_start|>"> <special token 7>' in call("grammar", "show", *piece).stdout
    result = call("grammar", "check", *piece, "abc")
    assert result.stdout.endswith("or the special token '<|im_start|>'\nabc\n   ^\n")
    assert json.loads(call("grammar", "sample", *piece, "-n", "1").stdout).endswith("<|im_start|>7")


def test_masks_name_special_tokens(folder: Path, tiny_model: Path) -> None:
    piece = ["--schema", "piece_module:PIECE", "--model", str(tiny_model), "--most", "400"]
    result = call("mask", *piece, "a")
    assert result.exit_code == 0, result.output
    assert "\n       1 <|im_start|>\n" in result.stdout
