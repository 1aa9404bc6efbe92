"""Combined grammars have the language that their parts say, and one digest a language."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import constrained
from constrained import alt, choice, gbnf, many, optional, regex, seq, text_without, until
from constrained.combinators import Piece
from constrained.errors import UnsupportedOutputType
from constrained.output_types import OutputType, RegularType
from constrained.testing.strategies.regexes import RegexCase, regex_cases
from constrained.testing.tiny import tiny_model
from grammars.errors import CfgError, NoShortestCompletion
from tests.reference.recogniser import Recogniser


class Point(BaseModel):
    x: int
    y: bool = False


def members(output: OutputType[Any], texts: list[str]) -> list[str]:
    recogniser = Recogniser(output.lower(whitespace="compact"))
    return [text for text in texts if recogniser.chart().read_all(text.encode()).is_accepting]


MEANINGS: list[tuple[OutputType[Any], list[str], list[str]]] = [
    (seq("a", "b"), ["ab"], ["a", "b", ""]),
    (seq(), [""], ["a"]),
    (alt("a", seq("b", "c")), ["a", "bc"], ["b", ""]),
    (optional("a"), ["", "a"], ["aa"]),
    (many("a"), ["", "aaa"], ["b"]),
    (many("a", sep=", ", minimum=2), ["a, a", "a, a, a"], ["a", "a, ", "a, a, "]),
    (many("a", sep=regex("[,;]"), maximum=2), ["", "a", "a;a"], ["a;a,a", ";"]),
    (many("a", maximum=0), [""], ["a"]),
    (many(alt("", "a"), sep="-"), ["", "-", "a--a"], ["aa"]),
    (seq(choice(["a", "ab"]), "b"), ["ab", "abb"], ["a"]),
    (choice(["a", "ab", 'a"\n|(', "é"]), ["a", "ab", 'a"\n|(', "é"], ["", 'a"', "e"]),
    (seq("<", Point, ">"), ['<{"x":1,"y":true}>'], ["<{}>", '{"x":1,"y":true}']),
    (seq({"type": "integer"}, "%"), ["12%", "-3%"], ["%", "1.5%"]),
    (seq(gbnf('root ::= "a" root | "b"'), regex("c+")), ["aabcc", "bc"], ["ac", "b"]),
    (seq(until("</t>"), "x"), ["</t>x", "<</t>x", "</t</t>x"], ["x", "</t></t>x", "</t>"]),
    (seq(until("aab"), "!"), ["aab!", "aaab!", "aacaab!"], ["aab", "aabaab!"]),
    (until("a", "bc"), ["a", "bbc", "b\nca"[:3] + "c" + "a"], ["aa", "bca", ""]),
    (text_without("ab", "c"), ["", "a", "ba\nb", "aa"], ["ab", "c", "xaby"]),
]


@pytest.mark.parametrize(("output", "accepted", "refused"), MEANINGS, ids=lambda value: repr(value)[:40])
def test_meaning(output: OutputType[Any], accepted: list[str], refused: list[str]) -> None:
    assert members(output, accepted) == accepted
    assert members(output, refused) == []


@given(st.lists(st.text("ab<", min_size=1, max_size=4), min_size=1, max_size=3), st.text("ab<", max_size=9))
def test_until_ends_where_a_marker_first_ends(markers: list[str], text: str) -> None:
    ends = [place for place in range(len(text) + 1) if any(text[:place].endswith(marker) for marker in markers)]
    assert (members(until(*markers), [text]) == [text]) == (ends[:1] == [len(text)])
    assert (members(text_without(*markers), [text]) == [text]) == (not ends)


@given(regex_cases(), regex_cases())
def test_operators_of_regexes(one: RegexCase, other: RegexCase) -> None:
    left, right = regex(one.pattern), regex(other.pattern)
    combined: list[tuple[RegularType, Any]] = [
        (left & right, lambda a, b: a and b),
        (left | right, lambda a, b: a or b),
        (left - right, lambda a, b: a and not b),
        (~left, lambda a, b: not a),
    ]
    texts = [text for text in one.texts + other.texts if text.isprintable() or "\n" in text]
    for regular, holds in combined:
        automaton = regular.automaton()
        for text in texts:
            wanted = holds(bool(re.fullmatch(one.pattern, text)), bool(re.fullmatch(other.pattern, text)))
            assert automaton.accepts(map(ord, text)) == wanted, (regular, text)


def test_operators_can_be_parts() -> None:
    word = regex("[a-z]+")
    output = seq(word - regex("if|else"), "(", word & ~regex(".*x.*"), ")")
    assert members(output, ["iff(a)", "if(a)", "a(ax)", "a(b)"]) == ["iff(a)", "a(b)"]


def test_a_part_in_several_places_is_written_once() -> None:
    piece: Piece = seq(Point, "a" * 50)
    for _ in range(20):
        piece = seq(piece, piece)
    assert len(piece.lower(whitespace="compact").nodes) < 400


def test_deep_combinations() -> None:
    piece: Piece = seq("a")
    for _ in range(5000):
        piece = optional(seq("(", piece))
    assert members(piece, ["", "(", "(((", ")"]) == ["", "(", "((("]


def test_digests_differ_where_languages_do() -> None:
    outputs = [seq("a", "b"), seq("ab"), alt("a", "b"), many("a"), many("a", minimum=1), many("a", sep="b"), until("a")]
    outputs += [text_without("a"), gbnf('root ::= "a"'), regex("a") & regex("b"), regex("a") - regex("b")]  # type: ignore[list-item]
    assert len({output.digest for output in outputs}) == len(outputs)
    assert seq("a", Point).digest == seq("a", Point).digest


ERRORS = [
    (lambda: seq("a", 3), "seq: part 2: "),
    (alt, "alt: expected at least one part, got none"),
    (lambda: until(""), "until: expected markers that are texts and not empty, got ''"),
    (until, "until: expected at least one marker, got none"),
    (lambda: seq("\ud800"), "seq: part 1: the text '\\ud800' holds half of a surrogate pair"),
    (lambda: gbnf(3), "gbnf: expected the grammar as a str, got int"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "message"), ERRORS, ids=lambda value: str(value)[:30])
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(UnsupportedOutputType, match=re.escape(message)):
        make()


def test_bounds_and_depth_are_checked() -> None:
    with pytest.raises(ValueError, match="many: expected 0 <= minimum <= maximum, got 3 and 2"):
        many("a", minimum=3, maximum=2)
    regular: RegularType = regex("a")
    for _ in range(200):
        regular = ~regular
    assert regular.automaton().accepts(map(ord, "a"))
    with pytest.raises(UnsupportedOutputType, match="more than 200 deep"):
        regular = ~regular


def test_faults_of_a_part_are_told_when_lowered() -> None:
    with pytest.raises(CfgError, match='undefined rule "b"'):
        seq(gbnf("root ::= b")).lower(whitespace="compact")


def test_names_of_the_package() -> None:
    assert constrained.seq is seq
    assert seq("a", 'b"').parse("x") == "x"


def test_json_among_other_text_can_be_closed_within_a_budget() -> None:
    closed = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    for json_type in (bool, closed | {"additionalProperties": False}):
        think = seq("<think>", until("</think>"), json_type)
        assert tiny_model().generate("Tea?", think, max_tokens=40, on_budget="close").complete
    with pytest.raises(NoShortestCompletion) as caught:
        tiny_model().generate("Tea?", seq("-", {"type": "object"}), on_budget="close")
    assert [question.partition(" (")[0] for question in caught.value.questions] == [
        "no two names of the object may be equal",
    ]
