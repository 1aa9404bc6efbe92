"""Members of some lengths, written without the product: the same texts as the product has."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars import Vocabulary, compile_ir
from grammars.errors import LimitExceeded
from grammars.frontends.regex import regex_automaton
from grammars.ir import Builder
from grammars.ir.regular import counted_node, to_node

BYTES = Vocabulary.from_bytes([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])
PATTERNS = [
    "a*",
    "(ab|c)+",
    "a(bb)*c?",
    "[ab]{2,3}(c[abc]*)?",
    "(a|bb|ccc)*",
    "c|ab",
    "(a{1,3}b)*",
    "[^a]*a[^a]*",
    "(aa)*",
]
TEXTS = ["".join(letters) for size in range(6) for letters in itertools.product("abc", repeat=size)]


@settings(max_examples=40, deadline=None)
@given(
    pattern=st.sampled_from(PATTERNS),
    minimum=st.integers(0, 5),
    more=st.integers(0, 4) | st.none(),
    padded=st.booleans(),
    texts=st.lists(st.sampled_from(TEXTS), min_size=8, max_size=8),
)
def test_the_members_of_these_lengths(
    pattern: str, minimum: int, more: int | None, padded: bool, texts: list[str]
) -> None:
    language = regex_automaton(pattern)
    maximum = None if more is None else minimum + more
    builder = Builder()
    node = counted_node(language, minimum, maximum, builder)
    if padded:  # so that there is a text at all, and something follows
        node = builder.alternation(builder.sequence(node, builder.literal("!")), builder.literal("!!"))
    elif node == builder.never:
        assert not any(
            language.accepts(map(ord, text)) and minimum <= len(text) and (maximum is None or len(text) <= maximum)
            for text in TEXTS
        )
        return
    grammar = compile_ir(builder.finish(node), BYTES)
    for text in texts:
        matcher = grammar.matcher()
        taken = matcher.consume_bytes((text + "!" * padded).encode()) and matcher.is_accepting
        inside = minimum <= len(text) and (maximum is None or len(text) <= maximum)
        assert taken == (inside and language.accepts(map(ord, text))), text


def test_bounds_cost_little_and_have_an_end() -> None:
    builder = Builder()
    counted_node(regex_automaton("x[a-z]*|y{0,20}"), 0, 30_000, builder)
    assert len(builder.finish(builder.epsilon).rules) < 31_000
    with pytest.raises(LimitExceeded, match="together with minLength or maxLength"):
        counted_node(regex_automaton("(a{1,99}b)*"), 0, 90_000, builder)


def test_where_every_length_is_right_nothing_is_counted() -> None:
    builder, language = Builder(), regex_automaton("a{3}|b{5}")
    assert counted_node(language, 2, 9, builder) == to_node(language, Builder())
