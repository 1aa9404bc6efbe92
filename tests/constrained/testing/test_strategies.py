"""The strategies draw what they promise."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from constrained.testing.strategies import grammars as any_grammars
from constrained.testing.strategies import sentences, vocabularies
from grammars.ir import IR, Builder, Kind
from grammars.vocabulary import Vocabulary
from tests.reference.recogniser import Recogniser, accepts

relaxed = settings(deadline=None, max_examples=60)
search = settings(database=None, max_examples=2000, deadline=None, phases=[Phase.generate])


def below(recogniser: Recogniser, node: int) -> set[int]:
    """All nodes that the node is made of."""
    pending, seen = [node], set[int]()
    while pending:
        new = set(recogniser.children(pending.pop())) - seen
        pending += new
        seen |= new
    return seen


def recurses(ir: IR) -> bool:
    recogniser = Recogniser(ir)
    return recogniser.productive[ir.start] and any(
        recogniser.kind(node) is Kind.CALL and node in below(recogniser, node) for node in below(recogniser, ir.start)
    )


def is_empty(ir: IR) -> bool:
    return not Recogniser(ir).productive[ir.start]


@pytest.mark.parametrize("shape", [recurses, is_empty])
def test_grammars_of_each_shape(shape: Callable[[IR], bool]) -> None:
    assert shape(find(any_grammars(), shape, settings=search))


@given(any_grammars(max_rules=2))
@relaxed
def test_as_many_rules_as_asked_for(ir: IR) -> None:
    assert len(ir.rules) <= 2


@given(st.data(), any_grammars())
@relaxed
def test_sentences_are_members(data: st.DataObject, ir: IR) -> None:
    members = sentences(ir, soft_length=10)
    assert members.is_empty == is_empty(ir)
    if not members.is_empty:
        assert accepts(ir, data.draw(members))


@pytest.mark.parametrize("wanted", [b"", b"a", b"aab", b"bbb"])
def test_sentences_reach_every_member(wanted: bytes) -> None:
    builder = Builder()
    letter = builder.alternation(builder.literal("a"), builder.literal("b"))
    assert (
        find(sentences(builder.finish(builder.repeat(letter, 0))), lambda text: text == wanted, settings=search)
        == wanted
    )


@given(vocabularies())
@relaxed
def test_complete_vocabularies_hold_every_byte(vocabulary: Vocabulary) -> None:
    assert {bytes((byte,)) for byte in range(256)} <= set(vocabulary.tokens)
    assert 1 <= len(vocabulary.eos_token_ids) <= 3


VOCABULARY_SHAPES: dict[str, Callable[[Vocabulary], bool]] = {
    "empty token": lambda vocabulary: b"" in vocabulary.tokens,
    "doubled token": lambda vocabulary: any(
        token and len(token) > 1 and vocabulary.tokens.count(token) > 1 for token in vocabulary.tokens
    ),
    "half a character": lambda vocabulary: any(
        token and len(token) > 1 and b"\x80" <= token[:1] < b"\xc0" for token in vocabulary.tokens
    ),
    "wider logits": lambda vocabulary: vocabulary.tokens[-40:] == (None,) * 40,
    "end token first": lambda vocabulary: 0 in vocabulary.eos_token_ids,
}


@pytest.mark.parametrize("shape", VOCABULARY_SHAPES)
@pytest.mark.parametrize("complete", [True, False])
def test_vocabularies_of_each_shape(shape: str, complete: bool) -> None:
    condition = VOCABULARY_SHAPES[shape]
    assert condition(find(vocabularies(complete=complete), condition, settings=search))
