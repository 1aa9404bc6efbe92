"""Grammar texts that would cost the world: an error from Limits, or the grammar, in little time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from constrained_cli.main import cli

from grammars.errors import CfgError, GrammarError, LimitExceeded, RegexError, UnsatisfiableGrammar
from grammars.frontends.cfg import lower_gbnf, lower_lark
from grammars.frontends.regex import lower_regex
from grammars.ir import Builder

CHAIN = 5_000
DEEP = 60_000
LOWER = {"regex": lower_regex, "gbnf": lower_gbnf, "lark": lower_lark}
MOST_SECONDS = 20.0  # of the processor: one second where nothing else runs, many where memory is short
MOST_BYTES = 500 * 2**20

CASES: dict[str, tuple[str, str, type[GrammarError] | None]] = {
    "deep groups, regex": ("regex", "(" * DEEP + "a" + ")" * DEEP, LimitExceeded),
    "deep groups, gbnf": ("gbnf", "root ::= " + "(" * DEEP + '"a"' + ")" * DEEP, LimitExceeded),
    "deep groups, lark": ("lark", "start: " + "(" * DEEP + '"a"' + ")" * DEEP, LimitExceeded),
    "open groups, regex": ("regex", "(" * DEEP, LimitExceeded),
    "open look-ahead, regex": ("regex", "(?=" * DEEP, LimitExceeded),
    "open classes, regex": ("regex", "[" * DEEP, RegexError),
    "open groups, gbnf": ("gbnf", "root ::= " + "(" * DEEP, LimitExceeded),
    "open options, lark": ("lark", "start: " + "[" * DEEP, LimitExceeded),
    "repeats of repeats, regex": ("regex", "a{1,1000}{1,1000}", RegexError),  # as re has it: multiple repeat
    "grouped repeats, regex": ("regex", "(?:(?:a{1,1000}){1,1000}){1,1000}", LimitExceeded),
    "repeats of repeats, gbnf": ("gbnf", 'root ::= "a"{1,1000}{1,1000}', LimitExceeded),
    "repeats of repeats, lark": ("lark", "start: A\nA: /(?:a{1,1000}){1,1000}/", LimitExceeded),
    "repeats of rules, lark": ("lark", 'start: (("a"~1..1000)~1..1000)~1..1000', None),
    "counts in look-ahead, regex": ("regex", "(?!(a{1,100}){1,100}b)[ab]*", LimitExceeded),
    "ambiguous loop, regex": ("regex", "(a|a)*b", None),
    "ambiguous loop, gbnf": ("gbnf", 'root ::= ("a" | "a")* "b"', None),
    "ambiguous loop, lark": ("lark", "start: A\nA: /(a|a)*b/", None),
    "chained rules, gbnf": (
        "gbnf", "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(CHAIN)) + f'r{CHAIN} ::= "a"', None,
    ),
    "doubling rules, gbnf": (
        "gbnf",
        "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1} r{i + 1}\n" for i in range(CHAIN)) + f'r{CHAIN} ::= "a"',
        None,
    ),
    "chained rules, lark": (
        "lark", "start: r0\n" + "".join(f"r{i}: r{i + 1}\n" for i in range(1_500)) + 'r1500: "a"', None,
    ),
    "chained terminals, lark": (
        "lark", "start: T0\n" + "".join(f"T{i}: T{i + 1}\n" for i in range(400)) + 'T400: "a"', None,
    ),
    "unbounded templates, lark": ("lark", 'start: t{"a"}\nt{x}: t{u{x}} | x\nu{x}: x x', LimitExceeded),
    "templates of themselves, lark": ("lark", 'start: t{A}\nA: "a"\nt{x}: x | t{t{x}}', LimitExceeded),
    "options in a row, lark": ("lark", "start: " + " ".join(f'["a{i}"]' for i in range(40)), LimitExceeded),
    "half of a pair, regex": ("regex", "a\ud800", None),  # it matches nothing, for no text holds one
    "half of a pair, gbnf": ("gbnf", 'root ::= "\ud800"', CfgError),
    "half of a pair, lark": ("lark", 'start: "\ud800"', UnsatisfiableGrammar),
    "control characters, gbnf": ("gbnf", "\x00\x01", CfgError),
    "control characters, lark": ("lark", "\x00\x01", CfgError),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_error_or_the_grammar_in_time(name: str) -> None:
    notation, text, error = CASES[name]
    builder = Builder()
    started = time.process_time()
    if error is None:
        builder.finish(LOWER[notation](text, builder))
    else:
        with pytest.raises(error) as caught:
            LOWER[notation](text, builder)
        assert len(str(caught.value)) < 1_000
    assert time.process_time() - started < MOST_SECONDS


def test_rules_that_begin_with_each_other_in_time() -> None:
    from grammars.automaton.network import build_network

    rules = "".join(f'r{i} ::= r{i + 1} "x" | "a"\n' for i in range(CHAIN))
    builder = Builder()
    ir = builder.finish(lower_gbnf(f'root ::= r0\n{rules}r{CHAIN} ::= r0 "a"', builder))
    small = Builder()
    build_network(small.finish(lower_gbnf('root ::= root "x" | "a"', small)))  # the machine code is there then
    started = time.process_time()
    with pytest.raises(LimitExceeded, match="rules that begin with each other"):
        build_network(ir)
    assert time.process_time() - started < MOST_SECONDS


def test_memory() -> None:
    code = (
        "import json\n"
        "from tests.grammars.test_hostile_texts import CASES, LOWER\n"
        "from grammars.errors import GrammarError\n"
        "from grammars.ir import Builder\n"
        "for notation, text, _ in CASES.values():\n"
        "    builder = Builder()\n"
        "    try: builder.finish(LOWER[notation](text, builder))\n"
        "    except GrammarError: pass\n"
        "lines = open('/proc/self/status').read().splitlines()\n"  # getrusage would tell of the parent as well
        "print(json.dumps(next(1024 * int(line.split()[1]) for line in lines if line.startswith('VmHWM'))))\n"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert json.loads(run.stdout.splitlines()[-1]) < MOST_BYTES


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2] is not None])
def test_on_the_command_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notation, text, _ = CASES[name]
    if notation == "regex" and len(text) > DEEP:
        text = text[:DEEP]
    monkeypatch.chdir(tmp_path)
    Path("g").write_bytes(text.encode("utf-8", "surrogatepass"))  # half of a pair: a file that is no UTF-8
    for command in (["grammar", "check", "x"], ["generate", "Hi", "--model", "no/such/model"]):
        given = [f"--{notation}", text if notation == "regex" else "g"]
        result = CliRunner().invoke(cli, [*command, *given])
        assert result.exit_code == 2, result.output
        assert f"'--{notation}'" in result.stderr
        assert "Traceback" not in result.output
        assert "Limits(" not in result.output
        assert "no/such" not in result.output
