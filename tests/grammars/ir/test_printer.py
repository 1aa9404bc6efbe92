"""What is printed is the grammar: read back as GBNF, it has the same language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrained.testing.strategies import grammars as any_grammars
from constrained.testing.strategies import sentences
from grammars.frontends.json_schema import lower_json_schema
from grammars.ir import IR, Builder
from grammars.ir.printer import to_ebnf
from tests.grammars.cfg.matching import gbnf_ir
from tests.reference.recogniser import Recogniser


@given(st.data(), any_grammars())
def test_reads_back_as_the_same_language(data: st.DataObject, ir: IR) -> None:
    printed = to_ebnf(ir)
    if "<" in printed:
        return
    again = gbnf_ir(printed)
    there, back = Recogniser(ir), Recogniser(again)
    for members in (sentences(ir, soft_length=8), sentences(again, soft_length=8)):
        text = data.draw(members)
        place = data.draw(st.integers(0, len(text)))
        for written in (text, text[:place] + text[place + 1 :], text[:place] + b"a" + text[place:]):
            accepted = there.chart().read_all(written).is_accepting
            assert accepted == back.chart().read_all(written).is_accepting, (printed, written)


PRINTED = [
    ('root ::= "a"{2,3} ("b" | "c")*', 'root ::= "a"{2,3} ("b" | "c")*'),
    ("root ::= [a\\\\-]", "root ::= [\\-\\\\a]"),
    ("root ::= [^a-z\\n]", "root ::= [^\\na-z]"),
    ("root ::= . [α-ω]", "root ::= . [α-ω]"),
    ('root ::= "\\x00\\u200b"', 'root ::= "\\x00\\U0000200B"'),
    ('root ::= ("a" b)?\nb ::= "b" | ""', 'root ::= ("a" b)?\nb ::= "b"?'),
]


@pytest.mark.parametrize(("grammar", "printed"), PRINTED)
def test_printed(grammar: str, printed: str) -> None:
    assert to_ebnf(gbnf_ir(grammar)) == printed


def test_what_gbnf_cannot_say() -> None:
    builder = Builder()
    strings = builder.json_strings(["a", ""])
    parts = (builder.byte_range(0x80, 0xBF), builder.literal(b"a\xff"), builder.never, strings)
    automaton = builder.fragment((3, ((0, 97, 97, 2), (2, 98, 98, 2), (2, 97, 97, 1))))
    node = builder.alternation(*parts[:2], builder.sequence(automaton, strings))
    assert to_ebnf(builder.finish(node)) == (
        'root ::= <80-BF> | "a" <FF> | <automaton >1 [a]2; 2 [a]3 [b]2; 3!> <json string "a" | "">'
    )
    assert to_ebnf(Builder().finish(builder.never)) == "root ::= <nothing>"


def test_long_parts_that_are_used_again_are_named() -> None:
    long = '("' + "a" * 50 + '" | [b-d])'
    assert to_ebnf(gbnf_ir(f'root ::= {long} "x" {long}')) == (
        f'root ::= part-5 "x" part-5\npart-5 ::= "{"a" * 50}" | [b-d]'
    )


def test_a_schema_can_be_shown() -> None:
    printed = to_ebnf(lower_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}}))
    assert printed.startswith("root ::=")
