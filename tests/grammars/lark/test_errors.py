"""Every error of Lark grammars: message, place, caret and remedy, word for word; hostile texts meet a limit, soon."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from grammars.errors import CfgError, LimitExceeded
from grammars.frontends.cfg import lower_lark, parse_lark
from grammars.ir import Builder

ERRORS = json.loads(Path(__file__).with_name("errors.json").read_text())


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: ascii(case["grammar"])[:40])
def test_error(case: dict[str, str]) -> None:
    with pytest.raises(CfgError) as caught:
        lower_lark(case["grammar"], Builder())
    assert str(caught.value) == case["message"]


def many_terminals(count: int) -> str:
    rules = (f"r{n}: T{n} | T{n} r{n + 1}\nT{n}: /[a-z]+{n}/" for n in range(count))
    return "start: r0+\n" + "\n".join(rules) + f"\nr{count}: /[a-z]+/"


HOSTILE = [
    ("start: " + "(" * 60_000, "max_nesting"),
    ("start: " + "(" * 60_000 + '"a"' + ")" * 60_000, "max_nesting"),
    ("start: A\nA: " + "[" * 60_000, "max_nesting"),
    ("start: " + "a{" * 600, "max_nesting"),
    ('start: "a" ~ 1..999999', "max_repeat"),
    ('start: (("a" | "b") ~ 40) ~ 40', "max_states"),
    ("start: " + '["a"] ' * 40, "max_states"),
    ("start: x{A}\nA: /a/\nx{y}: x{z{y}} | y\nz{y}: y y", "max_states"),
    ("start: T0\n" + "\n".join(f"T{n}: T{n + 1} T{n + 1}" for n in range(40)) + '\nT40: "a"', "max_source_length"),
    ("start: A\nA: /(?:a{1,1000}){1,1000}/", "max_states"),
    ("start: A\nA: /" + "(" * 600 + "a" + ")" * 600 + "/", "max_nesting"),
    (many_terminals(400), "max_states"),
    ('start: "' + "a" * 5_000_000 + '"', "max_source_length"),
]


@pytest.mark.parametrize(("grammar", "limit"), HOSTILE, ids=lambda value: value[:30])
def test_hostile_texts_meet_a_limit(grammar: str, limit: str) -> None:
    began = time.process_time()
    with pytest.raises(LimitExceeded) as caught:
        lower_lark(grammar, Builder())
    assert caught.value.limit == limit
    assert time.process_time() - began < 2


def test_a_chain_of_thousands_of_rules() -> None:
    began = time.process_time()
    grammar = "start: r0\n" + "".join(f"r{n}: r{n + 1}\n" for n in range(5000)) + 'r5000: "a"'
    lower_lark(grammar, Builder())
    assert time.process_time() - began < 3


def test_an_error_tells_its_place_in_numbers() -> None:
    with pytest.raises(CfgError) as caught:
        parse_lark('start: "a"\n  | )')
    assert (caught.value.line, caught.value.column, caught.value.position) == (2, 5, 15)
