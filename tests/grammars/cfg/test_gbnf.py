"""GBNF: what a text means, against the slow recogniser and, where the grammar is regular, against `re`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grammars
from grammars.errors import CfgError, LimitExceeded
from grammars.frontends.cfg import lower_gbnf, parse_gbnf, unreachable_rules
from grammars.ir import Builder
from tests.reference.recogniser import Recogniser

from .matching import gbnf_ir, gbnf_match

CASES = json.loads((Path(__file__).parents[2] / "data" / "field_cases.json").read_text())
BYTES = grammars.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=[256])


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "grammar"], ids=lambda case: case["id"])
def test_field_case(case: dict[str, Any]) -> None:
    if case.get("compile_error") or case["grammar"].count("(((") > 100:
        with pytest.raises(CfgError if case.get("compile_error") else LimitExceeded):
            grammars.compile_gbnf(case["grammar"], BYTES)
        return
    compiled = grammars.compile_gbnf(case["grammar"], BYTES)
    for text, wanted in [*((text, True) for text in case["accept"]), *((text, False) for text in case["reject"])]:
        matcher = compiled.matcher()
        assert (matcher.consume_bytes(text.encode()) and matcher.is_accepting) is wanted, text


MEANINGS = [
    ('root ::= "a" # comment "b"\n', ["a"], ["ab", ""]),
    ("# first\nroot ::= item-1 | item_2\nitem-1 ::= [0-9]+\nitem_2 ::= [a-f]", ["0", "12", "c"], ["", "g", "1a"]),
    ('root ::=\n  "a"\n  | "b"\n  | ("c"\n     "d")\n', ["a", "b", "cd"], ["c", "d"]),
    ('root ::= "a"{2}', ["aa"], ["a", "aaa"]),
    ('root ::= "ab"{2,}', ["abab", "ababab"], ["ab", "abb"]),
    ('root ::= "ab"{1,2} "c"{,1}', ["ab", "ababc"], ["", "c", "abababc"]),
    ('root ::= ("a" "b"?)* "c"+', ["c", "aabac", "cc"], ["", "b", "ab"]),
    ('root ::= "\\x41\\u00e9\\U0001F600\\n\\t\\r\\"\\\\\\[\\]"', ['Aé😀\n\t\r"\\[]'], ["A"]),
    (r"root ::= [^\n\]\\-]", ["a", "[", "é"], ["\n", "]", "\\", "-"]),
    ("root ::= [+-] [a-]", ["+a", "--"], ["a+", "+b"]),
    ("root ::= [^] .", ["a\n"], ["a"]),
    ("root ::= [α-ω😀-😎]{2}", ["αω", "😀β"], ["a", "α"]),
    ('root ::= "" | "x" root', ["", "xxx"], ["y"]),
    ("root ::= | [ \\t] root", ["", " \t"], ["a"]),
    ('root ::= root "a" | "b"', ["b", "baa"], ["", "ab"]),
    ('root ::= a b\na ::= b "x" | ""\nb ::= a "y" | ""', ["", "y", "xy"], ["z"]),
    ('\ufeffroot ::= "a"\r\n    | "b"\r\n', ["a", "b"], [""]),
    ('root ::= "a"{0} "b"', ["b"], ["ab"]),
    ('root ::= ("a"{2}){3}', ["aaaaaa"], ["aaaaa"]),
    ('root ::= "a"{2}{3}', ["aaaaaa"], ["aaaaa"]),
]


@pytest.mark.parametrize(("grammar", "accepted", "refused"), MEANINGS, ids=lambda value: str(value)[:40])
def test_meaning(grammar: str, accepted: list[str], refused: list[str]) -> None:
    for text in accepted:
        assert gbnf_match(grammar, text), text
    for text in refused:
        assert not gbnf_match(grammar, text), text


def test_start_may_be_named() -> None:
    assert gbnf_ir('a ::= "x"', start="a").rule_names == ("a",)


def test_unreachable_rules_are_left_out_and_named() -> None:
    grammar = 'root ::= "a"\nspare ::= other\nother ::= spare'
    assert gbnf_ir(grammar).rule_names == ("root",)
    assert unreachable_rules(grammar) == ["spare", "other"]


def test_spans_are_of_the_text() -> None:
    text = 'root ::= ( "a" | [b-c]* )'
    body = parse_gbnf(text).rules["root"].body
    assert [text[branch.span.start : branch.span.end] for branch in body.branches] == ['"a"', "[b-c]*"]  # type: ignore[union-attr]


def _pieces() -> st.SearchStrategy[tuple[str, str]]:
    """The same in GBNF and in `re`."""
    leaves = st.sampled_from(
        [('"a"', "a"), ('"ab"', "(?:ab)"), ("[a-c]", "[a-c]"), ("[^a\\n]", "[^a\\n]"), ('"é"', "é"), ('""', "(?:)")]
    )

    def combined(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
        counts = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])
        joined = st.lists(inner, min_size=1, max_size=3)
        return st.one_of(
            st.tuples(inner, counts).map(lambda one: (f"({one[0][0]}){one[1]}", f"(?:{one[0][1]}){one[1]}")),
            joined.map(lambda some: (" ".join(one for one, _ in some), "".join(other for _, other in some))),
            joined.map(
                lambda some: (f"({' | '.join(one for one, _ in some)})", f"(?:{'|'.join(other for _, other in some)})")
            ),
        )

    return st.recursive(leaves, combined, max_leaves=6)


@given(_pieces(), st.lists(st.text("abcé\n", max_size=6), min_size=4, max_size=4))
def test_agrees_with_re_where_regular(piece: tuple[str, str], texts: list[str]) -> None:
    grammar, pattern = piece
    recogniser = Recogniser(gbnf_ir(f"root ::= {grammar}"))
    for text in texts:
        matched = re.fullmatch(pattern, text) is not None
        assert recogniser.chart().read_all(text.encode()).is_accepting == matched, (grammar, text)


def test_a_chain_of_thousands_of_rules() -> None:
    grammar = "root ::= r0\n" + "".join(f"r{n} ::= r{n + 1}\n" for n in range(5000)) + 'r5000 ::= "a"'
    matcher = grammars.compile_gbnf(grammar, BYTES).matcher()
    assert matcher.consume_bytes(b"a")
    assert matcher.is_accepting


def test_builder_takes_several_grammars() -> None:
    builder = Builder()
    both = builder.alternation(lower_gbnf('root ::= "a"', builder), lower_gbnf('root ::= "b"', builder))
    assert builder.finish(both).rule_names == ("root", "root")
