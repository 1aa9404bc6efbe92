"""Vocabularies that cannot write everything: dead ends are found when compiling, or never entered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars import TokenRefused, UnsatisfiableGrammar, Vocabulary, compile_regex

END = 0


def vocabulary(*tokens: bytes) -> Vocabulary:
    return Vocabulary.from_bytes([None, *tokens], eos_token_ids=[END])


def test_a_token_that_leads_nowhere_is_not_offered() -> None:
    matcher = compile_regex("ab|ac", vocabulary(b"a", b"ac")).matcher()
    assert matcher.allowed_token_ids() == [2]
    with pytest.raises(TokenRefused):
        matcher.consume(1)
    matcher.consume(2)
    assert matcher.allowed_token_ids() == [END]


def test_what_cannot_be_written_at_all_is_an_error() -> None:
    with pytest.raises(UnsatisfiableGrammar, match="cannot write any text"):
        compile_regex("ab", vocabulary(b"a", b"ac"))


def test_a_way_round_is_found() -> None:
    """b and c are not tokens, but bc is."""
    matcher = compile_regex("a*(b|c|bc)", vocabulary(b"a", b"bc", b"cb")).matcher()
    assert matcher.allowed_token_ids() == [1, 2]


def test_characters_without_tokens() -> None:
    """A vocabulary of whole characters, no bytes: only these characters can be written."""
    matcher = compile_regex("[à-ü]{2}", vocabulary("é".encode(), "ü".encode(), b"\xc3")).matcher()
    assert matcher.allowed_token_ids() == [1, 2]


TOKENS = st.lists(st.text("abc", min_size=1, max_size=3).map(str.encode), min_size=1, max_size=5)
PATTERNS = st.sampled_from(["ab|ac", "(ab)*c", "a(bc?)+", "(a|b|c){3}", "(ab|ba)*", "a+b?c", "abc|abcabc"])


@given(TOKENS, PATTERNS)
def test_every_walk_comes_to_an_end(tokens: list[bytes], pattern: str) -> None:
    """From wherever allowed tokens lead, breadth first, some allowed tokens lead to a complete text."""
    try:
        matcher = compile_regex(pattern, vocabulary(*tokens)).matcher()
    except UnsatisfiableGrammar:
        return
    fringe = [matcher]
    for _ in range(4):
        following = []
        for one in fringe:
            allowed = one.allowed_token_ids()
            assert allowed
            for token in allowed:
                if token != END:
                    following.append(one.fork())
                    following[-1].consume(token)
        fringe = following[:20]
    for one in fringe:
        steps = 0
        while not one.is_accepting:
            one.consume(min(token for token in one.allowed_token_ids() if token != END))
            steps += 1
            if steps > 30:  # the lowest id may loop: what was just consumed was allowed, so an end exists
                break
