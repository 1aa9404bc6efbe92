"""The slow twin against plain enumeration, on tiny grammars of every kind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrained.testing.strategies import grammars as any_grammars
from constrained.testing.strategies import sentences
from grammars.ir import IR, Builder, NodeId

from .completion import completion
from .language import language
from .recogniser import Recogniser, accepts, mask, viable

ALPHABET = b"ab\xc3\xa9"
LENGTH = 5
ALL_TEXTS = [bytes(text) for length in range(LENGTH + 1) for text in product(ALPHABET, repeat=length)]
relaxed = settings(deadline=None, max_examples=100)


def recursive(body: Callable[[Builder, NodeId], NodeId]) -> IR:
    builder = Builder()
    rule = builder.declare_rule("s")
    call = builder.call(rule)
    builder.define_rule(rule, body(builder, call))
    return builder.finish(call)


def ambiguous(builder: Builder, call: NodeId) -> NodeId:
    a = builder.literal("a")
    return builder.alternation(builder.sequence(call, call, call), builder.sequence(call, call), a)


def palindrome(builder: Builder, call: NodeId) -> NodeId:
    a, b = builder.literal("a"), builder.literal("b")
    return builder.alternation(builder.sequence(a, call, a), builder.sequence(b, call, b), builder.epsilon)


def nullable_loop(builder: Builder, call: NodeId) -> NodeId:
    return builder.repeat(builder.alternation(call, builder.epsilon, builder.literal("ab")), 2)


def hidden_left(builder: Builder, call: NodeId) -> NodeId:
    nothing = builder.optional(builder.literal("b"))
    return builder.alternation(builder.sequence(nothing, call, builder.literal("a")), builder.literal("b"))


def only_itself(builder: Builder, call: NodeId) -> NodeId:
    return builder.sequence(builder.literal("a"), call)


@pytest.mark.parametrize("body", [ambiguous, palindrome, nullable_loop, hidden_left, only_itself])
def test_known_shapes(body: Callable[[Builder, NodeId], NodeId]) -> None:
    check_against_enumeration(recursive(body))


def test_only_itself_is_empty() -> None:
    ir = recursive(only_itself)
    assert not viable(ir, b"")
    assert not accepts(ir, b"a")


@given(any_grammars(max_rules=3, max_depth=3))
@relaxed
def test_random_grammars(ir: IR) -> None:
    check_against_enumeration(ir)


def check_against_enumeration(ir: IR) -> None:
    members = language(ir, alphabet=ALPHABET, max_length=LENGTH)
    begun = {member[:length] for member in members for length in range(len(member) + 1)}
    root = Recogniser(ir).chart()
    for text in ALL_TEXTS:
        chart = root.read_all(text)
        assert chart.is_accepting == (text in members), text
        if text in begun:
            assert chart.is_viable, text


@given(st.data(), any_grammars())
@relaxed
def test_sentences_are_members_and_their_prefixes_viable(data: st.DataObject, ir: IR) -> None:
    recogniser = Recogniser(ir)
    if not recogniser.productive[ir.start]:
        assert not viable(ir, b"")
        return
    chart = recogniser.chart()
    for byte in data.draw(sentences(ir, soft_length=10)):
        assert chart.is_viable
        chart = chart.read(byte)
    assert chart.is_accepting


@given(st.data(), any_grammars(max_rules=3, max_depth=3))
@relaxed
def test_viable_is_exact(data: st.DataObject, ir: IR) -> None:
    """From a viable text some way leads to a member, without ever losing viability."""
    chart = Recogniser(ir).chart()
    for _ in range(data.draw(st.integers(0, 4))):
        following = [byte for byte in range(256) if chart.read(byte).is_viable]
        if not following:
            break
        chart = chart.read(data.draw(st.sampled_from(following)))
    if chart.is_viable:
        text = completion(chart)
        assert text is not None
        assert chart.read_all(text).is_accepting


def test_mask_tries_each_token() -> None:
    builder = Builder()
    ir = builder.finish(builder.sequence(builder.literal("a"), builder.repeat(builder.literal("é"), 1, 2)))
    tokens = [b"a", "é".encode(), b"\xc3", b"\xa9", "aé".encode(), b"", None, "éé".encode(), "ééé".encode()]
    assert mask(ir, tokens, b"") == {0, 4}
    assert mask(ir, tokens, b"a") == {1, 2, 7}
    assert mask(ir, tokens, b"a\xc3") == {3}
    assert mask(ir, tokens, "aé".encode()) == {1, 2}
    assert mask(ir, tokens, "aéé".encode()) == set()


def test_byte_by_byte_inside_a_character() -> None:
    builder = Builder()
    ir = builder.finish(builder.charset(((0x1F600, 0x1F60E),)))
    tokens = [bytes((byte,)) for byte in range(256)]
    assert mask(ir, tokens, b"") == {0xF0}
    assert mask(ir, tokens, b"\xf0") == {0x9F}
    assert mask(ir, tokens, b"\xf0\x9f") == {0x98}
    assert mask(ir, tokens, b"\xf0\x9f\x98") == set(range(0x80, 0x8F))
