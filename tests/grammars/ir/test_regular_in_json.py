"""Patterns and lengths of JSON strings: automata over text, written as JSON spells it."""

from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from constrained.testing.strategies.regexes import RegexCase, regex_cases
from grammars.frontends.regex import lower_search, regex_automaton
from grammars.ir import Builder
from grammars.ir.charset import JSON_TEXT, Charset, difference, intersection
from grammars.ir.nodes import NodeId
from grammars.ir.regular import TEXT, complement, lengths, to_node
from grammars.ir.regular import intersection as both
from tests.reference.recogniser import accepts


class Strings:
    """Writes characters as ``json.dumps`` would."""

    def __init__(self) -> None:
        self.builder = Builder()

    def character(self, members: Charset) -> NodeId:
        raw = intersection(members, JSON_TEXT)
        escaped = [
            json.dumps(chr(code))[1:-1] for low, high in difference(members, raw) for code in range(low, high + 1)
        ]
        return self.builder.alternation(self.builder.charset(raw), *map(self.builder.literal, escaped))


def compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


@given(regex_cases(assertions=True, flags=False), st.integers(0, 3), st.integers(0, 4))
@settings(max_examples=60)
def test_pattern_length_and_exception_at_once(case: RegexCase, minimum: int, more: int) -> None:
    judge = compiled(case.pattern)
    if judge is None:
        return
    strings = Strings()
    wanted = both(regex_automaton(case.pattern, search=True), lengths(TEXT, minimum, minimum + more))
    wanted = both(wanted, complement(regex_automaton("[a1].*")))
    ir = strings.builder.finish(to_node(wanted, strings.builder, characters=strings.character))
    for text in case.texts:
        member = judge.search(text) and minimum <= len(text) <= minimum + more and not re.fullmatch("[a1].*", text)
        assert accepts(ir, json.dumps(text, ensure_ascii=False)[1:-1].encode()) == bool(member), text


@given(regex_cases(flags=False))
@settings(max_examples=40)
def test_a_pattern_alone_needs_no_automaton(case: RegexCase) -> None:
    judge = re.compile(case.pattern)
    strings = Strings()
    node = lower_search(case.pattern, strings.builder, dialect="python", characters=strings.character)
    ir = strings.builder.finish(node)
    for text in case.texts:
        assert accepts(ir, json.dumps(text, ensure_ascii=False)[1:-1].encode()) == bool(judge.search(text)), text
