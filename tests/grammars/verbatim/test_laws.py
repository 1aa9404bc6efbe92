"""Verbatim text against its slow twin: the same grammar with every piece of the document written out."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grammars import Limits, Matcher, Vocabulary, compile_ir
from grammars.ir.verbatim import Spelling, Unit
from tests.reference.recogniser import Recogniser

from .twin import SHAPES, documents, pieces, spelled, verbatim_ir, vocabularies_of, written_out_ir

laws = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
SPELLINGS = st.sampled_from(["plain", "json", "ascii_json"])
UNITS = st.sampled_from(["words", "characters"])
BYTES = Vocabulary.from_bytes([bytes((byte,)) for byte in range(256)], eos_token_ids=[])
TIGHT = Limits(max_configurations=40, max_items=300, max_stack_nodes=100, max_cached_masks=2, max_rollback_kept=3)


@pytest.mark.parametrize("name", list(SHAPES))
@given(data=st.data())
@laws
def test_masks_are_those_of_the_twin(name: str, data: st.DataObject) -> None:
    document, by, spelling = data.draw(documents()), data.draw(UNITS), data.draw(SPELLINGS)
    vocabulary = data.draw(vocabularies_of(document))
    fast, slow = (
        compile_ir(make(SHAPES[name], document, by, spelling), vocabulary).matcher()
        for make in (verbatim_ir, written_out_ir)
    )
    for _ in range(8):
        allowed = fast.allowed_token_ids()
        assert allowed == slow.allowed_token_ids()
        assert fast.forced_bytes() == slow.forced_bytes()
        assert fast.is_accepting == slow.is_accepting
        taken = [token for token in range(vocabulary.size - 1) if fast.try_consume([token]) and not fast.rollback(1)]
        assert taken == [token for token in allowed if token != vocabulary.size - 1]
        if not taken:
            break
        longest = sorted(taken, key=lambda token: -len(vocabulary.tokens[token] or b""))
        token = data.draw(st.sampled_from(longest))
        fast.consume(token)
        slow.consume(token)


@pytest.mark.parametrize("spelling", ["plain", "json", "ascii_json"])
@pytest.mark.parametrize("by", ["words", "characters"])
@pytest.mark.parametrize(
    "document",
    [
        'self\n self" self\\ \\n self\\n self\t self\x01 self\x7f',  # an escape may begin a word or white space
        "a\r\nb a\rb a\nb",
        "é€😀 èe ê😁 é",  # characters that share their first bytes
        "😀\U0001f600\u200d😀 \u0301a a\u0301",
        "\ud7ff\ue000\uffff \U0010ffff",
        "x",
        "aaaaaaaaaaaaaaaaaaaa",
        "abcabcabc abcabc abc",
        "日本語の文章には空白がない。日本語だ。",
        "don't 'tis o'clock' 3.5. 3,000.5, .5 a.b 1.2.3 x_y 7' 'a",
    ],
)
def test_every_piece_and_nothing_else_is_taken(document: str, by: Unit, spelling: Spelling) -> None:
    grammar = compile_ir(verbatim_ir(SHAPES["alone"], document, by, spelling), BYTES)
    expected = pieces(document, by)
    for begin in range(len(document)):
        for end in range(begin + 1, len(document) + 1):
            text = document[begin:end]
            assert taken_whole(grammar.matcher(), spelled(text, spelling)) == (text in expected), text
            other = text[:-1] + ("x" if text[-1] == " " else " ")
            assert taken_whole(grammar.matcher(), spelled(other, spelling)) == (other in expected), other


def taken_whole(matcher: Matcher, text: bytes) -> bool:
    return matcher.consume_bytes(text) and matcher.is_accepting


@given(document=documents(max_size=10), by=UNITS, spelling=SPELLINGS, other=st.text("ab 1.'é", max_size=4))
@laws
def test_exactly_the_pieces_are_taken(document: str, by: Unit, spelling: Spelling, other: str) -> None:
    grammar = compile_ir(verbatim_ir(SHAPES["alone"], document, by, spelling), BYTES)
    expected = pieces(document, by)
    for text in {*expected, other, document[1:] + "a", document * 2}:
        assert taken_whole(grammar.matcher(), spelled(text, spelling)) == (text in expected)


@given(data=st.data(), name=st.sampled_from(list(SHAPES)))
@laws
def test_running_out_of_room_changes_nothing(data: st.DataObject, name: str) -> None:
    document, by = data.draw(documents()), data.draw(UNITS)
    vocabulary = data.draw(vocabularies_of(document))
    ir = verbatim_ir(SHAPES[name], document, by, "plain")
    roomy, tight = compile_ir(ir, vocabulary).matcher(), compile_ir(ir, vocabulary, limits=TIGHT).matcher()
    for _ in range(6):
        allowed = roomy.allowed_token_ids()
        assert tight.allowed_token_ids() == allowed
        ways = [token for token in allowed if token != vocabulary.size - 1]
        if not ways:
            break
        token = data.draw(st.sampled_from(ways))
        roomy.consume(token)
        tight.consume(token)
    back = data.draw(st.integers(0, roomy.num_tokens))
    roomy.rollback(back)
    tight.rollback(back)
    assert tight.fork().allowed_token_ids() == roomy.allowed_token_ids()


def test_the_recogniser_knows_verbatim_text() -> None:
    recogniser = Recogniser(verbatim_ir(SHAPES["array of strings"], 'say "hi" twice', "words", "json"))
    assert recogniser.chart().read_all(rb'["\"hi\"", "say"]').is_accepting
    assert not recogniser.chart().read_all(b'["ay').is_viable
