"""Strings by what they mean, against `json.loads`."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from constrained.testing.strategies.spellings import json_spellings
from grammars import CompiledGrammar, compile_ir
from grammars.ir import Builder

from .grammars_by_hand import byte_vocabulary

VOCABULARY = byte_vocabulary()
CHARACTERS = st.sampled_from('ab0du/"\\\b\f\n\r\t\x01\x1f\x7fé€\uffff😀😁')
TEXTS = st.text(CHARACTERS, max_size=4)
NAMES = st.lists(TEXTS, min_size=1, max_size=5)


def compiled(names: list[str], every: bool, others: bool) -> CompiledGrammar:
    builder = Builder()
    make = builder.other_json_strings if others else builder.json_strings
    return compile_ir(builder.finish(make(names, every_spelling=every)), VOCABULARY)


def accepts(grammar: CompiledGrammar, data: bytes) -> bool:
    matcher = grammar.matcher()
    return matcher.consume_bytes(data) and matcher.is_accepting


@given(st.data(), NAMES, st.booleans())
def test_meaning_decides_not_spelling(data: st.DataObject, names: list[str], every: bool) -> None:
    these, others = compiled(names, every, False), compiled(names, every, True)
    text = data.draw(st.one_of(st.sampled_from(names), TEXTS))
    spelled = data.draw(json_spellings(text, every=every))
    assert json.loads(spelled) == text
    assert accepts(these, spelled) == (text in names)
    assert accepts(others, spelled) == (text not in names)


@given(st.data(), NAMES, st.booleans())
def test_text_never_closes_the_other_strings(data: st.DataObject, names: list[str], every: bool) -> None:
    """Every beginning of a string can still become another string than the given ones."""
    text = data.draw(st.one_of(st.sampled_from(names), TEXTS))
    spelled = data.draw(json_spellings(text, every=every))
    matcher = compiled(names, every, True).matcher()
    assert matcher.consume_bytes(spelled[: data.draw(st.integers(0, len(spelled) - 1))])


@given(NAMES, st.booleans(), st.sampled_from([rb'"\ud800"', rb'"\udc00\ud800"', b'"\x01"', rb'"\x"', b'"\xff"', b'"']))
def test_what_is_no_json_is_refused(names: list[str], every: bool, data: bytes) -> None:
    assert not accepts(compiled(names, every, True), data)
    assert not accepts(compiled(names, every, False), data)


def test_canonical_means_one_spelling() -> None:
    assert not accepts(compiled(["a"], False, False), rb'"\u0061"')
    assert not accepts(compiled(["b"], False, True), rb'"\u0061"')
    assert accepts(compiled(["/"], False, False), b'"/"')
    assert not accepts(compiled(["/"], False, False), rb'"\/"')
