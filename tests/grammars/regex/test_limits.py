"""Hostile patterns end in an error or a small result, soon."""

from __future__ import annotations

import time

import pytest

from grammars.errors import GrammarError, LimitExceeded
from grammars.frontends.regex import lower_regex, regex_automaton
from grammars.ir import Builder
from grammars.limits import Limits

from .matching import full_match

HOSTILE = [
    ("(" * 60_000, "max_nesting"),
    ("(?=" * 60_000, "max_nesting"),
    ("(?:a{1,1000}){1,1000}", "max_repeat"),
    ("a{999999999999999999999999}", "max_repeat"),
    ("(?:" * 300 + "a{1,99999}" + "){1,99999}" * 300, "max_repeat"),
    (r"(?:\b(?:a{1,100000}b){1,1000}){1,50}", "max_states"),
    ("(?:(?!" + "a|b{2,90}" * 9 + ").{1,999}){1,999}", "max_states"),
]


@pytest.mark.parametrize(("pattern", "limit"), HOSTILE, ids=lambda value: value[:24])
def test_hostile_patterns_meet_a_limit(pattern: str, limit: str) -> None:
    began = time.process_time()
    with pytest.raises(LimitExceeded) as caught:
        lower_regex(pattern, Builder())
    assert caught.value.limit == limit
    assert time.process_time() - began < 2


FINE = [
    "(a|a)*b",
    "(?:a+)+b",
    "(?:(?:a{1,300}b){1,300}c){1,5000}",
    "a?" * 2000 + "a" * 2000,
    "(" * 500 + "a" + ")" * 500,
    "{" * 10_000,
]


@pytest.mark.parametrize("pattern", FINE, ids=lambda value: value[:24])
def test_patterns_that_only_look_hostile(pattern: str) -> None:
    began = time.process_time()
    builder = Builder()
    ir = builder.finish(lower_regex(pattern, builder))
    assert len(ir.nodes) < 20
    assert time.process_time() - began < 2


def test_what_is_too_large_when_deterministic_stays_nondeterministic() -> None:
    pattern = r".*a.{40}\b.*"
    with pytest.raises(LimitExceeded, match="making a finite automaton deterministic"):
        regex_automaton(pattern)
    assert full_match(pattern, "xa" + "." * 39 + " b")
    assert not full_match(pattern, "xa" + "." * 39 + "  b")


def test_widths_beyond_floats() -> None:
    pattern = "(?:" * 100 + r"a{50000}b" + "){50000}" * 100 + "*$b"
    with pytest.raises(GrammarError):
        lower_regex(pattern, Builder())


def test_limits_of_the_builder_apply() -> None:
    with pytest.raises(LimitExceeded, match="max_source_length=3"):
        lower_regex("abcd", Builder(limits=Limits(max_source_length=3)))
    with pytest.raises(LimitExceeded, match="max_nesting=1"):
        lower_regex("((a))", Builder(limits=Limits(max_nesting=1)))
    assert lower_regex("(" * 5000 + "a" + ")" * 5000, Builder(limits=Limits(max_nesting=5000))) == 2
