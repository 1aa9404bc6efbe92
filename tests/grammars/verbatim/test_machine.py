"""Verbatim text and the rest of the machine: vocabularies that lack bytes, batches, sentences, limits, completions."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grammars import (
    BatchFiller,
    LimitExceeded,
    Limits,
    SourceError,
    UnsatisfiableGrammar,
    Vocabulary,
    allocate_token_bitmask,
    compile_ir,
    sample,
    to_ebnf,
)
from grammars.ir import Builder
from grammars.ir.splice import splice
from grammars.ir.verbatim import Verbatim, bind_source

from .twin import SHAPES, documents, pieces, spelled, verbatim_ir, written_out_ir

BYTES = Vocabulary.from_bytes([*(bytes((byte,)) for byte in range(256)), None], eos_token_ids=[256])


@pytest.mark.parametrize("name", ["alone", "array of strings", "nested"])
@given(data=st.data(), document=documents(max_size=8), by=st.sampled_from(["words", "characters"]))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_what_a_vocabulary_cannot_write_is_not_begun(name: str, data: st.DataObject, document: str, by: str) -> None:
    cuts = st.tuples(st.integers(0, len(document)), st.integers(0, len(document))).map(sorted)
    texts = data.draw(st.lists(cuts.map(lambda cut: document[cut[0] : cut[1]]), max_size=8))
    tokens = [*dict.fromkeys(text.encode() for text in texts if text), b'["', b'"', b'"]', b'", "', b"(", b")", None]
    vocabulary = Vocabulary.from_bytes(tokens, eos_token_ids=[len(tokens) - 1])
    irs = [make(SHAPES[name], document, by, "plain") for make in (verbatim_ir, written_out_ir)]  # type: ignore[arg-type]
    try:
        slow = compile_ir(irs[1], vocabulary).matcher()
    except UnsatisfiableGrammar:
        with pytest.raises(UnsatisfiableGrammar):
            compile_ir(irs[0], vocabulary)
        return
    fast = compile_ir(irs[0], vocabulary).matcher()
    for _ in range(5):
        allowed = slow.allowed_token_ids()
        assert fast.allowed_token_ids() == allowed
        ways = [token for token in allowed if token != len(tokens) - 1]
        if not ways:
            break
        token = data.draw(st.sampled_from(ways))
        fast.consume(token)
        slow.consume(token)


def test_a_batch_fills_the_same_masks() -> None:
    document = "the cat sat on the mat, the dog sat on the cat"
    tokens = [*(bytes((byte,)) for byte in range(256)), b"the", b" cat", b" sat on", b' the", "', b'", "the', b'"]']
    vocabulary = Vocabulary.from_bytes(tokens, eos_token_ids=[])
    grammar = compile_ir(verbatim_ir(SHAPES["array of strings"], document, "words", "json"), vocabulary)
    matchers = [grammar.matcher() for _ in range(8)]
    for matcher, text in zip(
        matchers, ('["', '["the', '["sat on', '["cat", "', '["the ca', '["mat', "", '["on the'), strict=True
    ):
        assert matcher.consume_bytes(text.encode())
    alone, together = allocate_token_bitmask(8, vocabulary.size), allocate_token_bitmask(8, vocabulary.size)
    with BatchFiller(threads=2) as filler:
        filler.fill(matchers, together)
    for row, matcher in enumerate(matchers):
        matcher.fill_next_token_bitmask(alone, row)
    np.testing.assert_array_equal(alone, together)


def test_several_documents_in_one_grammar() -> None:
    builder = Builder()
    one, other = (builder.verbatim(Verbatim(text, "words", "plain")) for text in ("red green", "blue green"))
    start = builder.sequence(builder.alternation(one, other), builder.literal("/"), other)
    matcher = compile_ir(builder.finish(start), BYTES).matcher()
    assert matcher.fork().consume_bytes(b"red green/blue")
    assert matcher.fork().consume_bytes(b"blue green/green")
    assert not matcher.consume_bytes(b"red/red")


def test_sentences_are_members_and_grammars_are_shown() -> None:
    ir = verbatim_ir(SHAPES["array of strings"], 'so it "goes"\n', "words", "json")
    texts = {b'"' + spelled(piece, "json") + b'"' for piece in pieces('so it "goes"\n', "words")}
    grammar = compile_ir(ir, BYTES)
    for sentence in islice(sample(ir), 30):
        matcher = grammar.matcher()
        assert matcher.consume_bytes(sentence)
        assert matcher.is_accepting
        assert sentence[1:-1].split(b", ")[0] in texts
    assert "<verbatim words of the document>" in to_ebnf(ir)


def test_the_source_is_bound_late_and_survives_splicing() -> None:
    builder = Builder()
    ir = builder.finish(builder.verbatim(Verbatim(None, "words", "plain")))
    outer = Builder()
    whole = outer.finish(outer.sequence(outer.literal("<"), splice(ir, outer), outer.literal(">")))
    assert "<verbatim words of the source>" in to_ebnf(whole)
    for unbound in (lambda: compile_ir(whole, BYTES), lambda: next(sample(whole))):
        with pytest.raises(SourceError, match="verbatim text needs a source"):
            unbound()
    assert compile_ir(whole, BYTES, source="a b").matcher().consume_bytes(b"<b>")
    assert bind_source(whole, "a b").nodes is whole.nodes


def test_long_documents_are_limited_by_states() -> None:
    limits = Limits(max_states=1_000)
    ir = verbatim_ir(SHAPES["alone"], "word " * 400, "words", "plain")
    with pytest.raises(LimitExceeded, match=r"the source of verbatim text, 2,000 characters, is too long: more"):
        compile_ir(ir, BYTES, limits=limits)
    assert compile_ir(verbatim_ir(SHAPES["alone"], "word " * 100, "words", "plain"), BYTES, limits=limits)


def test_one_character_repeated_stays_linear() -> None:
    grammar = compile_ir(verbatim_ir(SHAPES["alone"], "a" * 100_000, "characters", "plain"), BYTES)
    assert grammar.machine.network.num_verbatim_states == 100_001
    matcher = grammar.matcher()
    assert matcher.consume_bytes(b"a" * 1_000)
    assert matcher.is_accepting
    assert matcher.allowed_token_ids() == [ord("a"), 256]


def test_how_few_tokens_complete_it_is_known() -> None:
    matcher = compile_ir(verbatim_ir(SHAPES["array of strings"], "one two", "words", "json"), BYTES).matcher()
    for text, needed in (("", 7), ('["', 5), ("o", 4), ("ne", 2), (" ", 5), ('two"', 1)):
        assert matcher.consume_bytes(text.encode())
        assert matcher.grammar.completions.tokens_to_end(matcher) == needed
