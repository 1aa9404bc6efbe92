"""Forced text: written as the tokenizer writes it, and never so that it rules out what may follow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrained.loop import Engine, Request, generate
from constrained.loop.forced import consume_forced, left_text, tokens_after
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from grammars.vocabulary import Vocabulary

from .fakes import FiniteMatcher, engine_of, languages, vocabulary_of

TOKENIZER = tiny_tokenizer()
ENGINE = Engine.from_model(tiny_llama(), TOKENIZER)
START = TOKENIZER.token_id("<|im_start|>")


def words(ids: list[int]) -> list[bytes]:
    return [ENGINE.token_bytes(token_id) for token_id in ids]


@given(left=st.text('ab e{\n":é日', max_size=12), data=st.text('name the\n{":,é日', min_size=1, max_size=12))
def test_ids_are_those_of_the_tokenizer_after_the_left_context(left: str, data: str) -> None:
    left_ids = TOKENIZER.tokenize(left)
    whole = TOKENIZER.tokenize(left + data)
    ids = tokens_after(ENGINE, left_ids, data.encode())
    if ids:
        assert b"".join(words(ids)) == data.encode()
        assert whole[-len(ids) :] == ids
    else:  # the tokenizer would write a token across the boundary
        ends = {len(b"".join(words(whole[:count]))) for count in range(len(whole) + 1)}
        assert len(left.encode()) not in ends


def test_left_context_ends_where_an_id_has_no_text() -> None:
    assert START is not None
    ids = [*TOKENIZER.tokenize("before"), START, *TOKENIZER.tokenize("after ")]
    assert left_text(ENGINE, ids) == b"after "
    assert left_text(ENGINE, [START]) == b""
    assert left_text(ENGINE, []) == b""


def test_left_context_begins_with_a_whole_character() -> None:
    half = [token_id for token_id in range(ENGINE.vocabulary.size) if ENGINE.vocabulary.tokens[token_id] == b"\xa9"]
    assert left_text(ENGINE, [half[0], *TOKENIZER.tokenize("a")]) == b"a"


def test_an_incomplete_character_at_the_end_is_left_out() -> None:
    assert words(tokens_after(ENGINE, [], "name日".encode()[:-1])) == [b"name"]
    assert tokens_after(ENGINE, [], "日".encode()[:-1]) == []
    assert tokens_after(ENGINE, [], b"\xff") == []


def test_the_left_context_decides_how_text_is_cut() -> None:
    vocabulary = vocabulary_of("a", "b", "c", "ab", "bc", "abc")
    engine = engine_of(vocabulary)
    assert tokens_after(engine, [], b"bc") == [4]
    assert tokens_after(engine, [0], b"bc") == []  # the tokenizer would write abc
    assert tokens_after(engine, [3], b"bc") == [4]


def test_a_blank_that_the_tokenizer_puts_before_all_text_is_not_ours() -> None:
    vocabulary = vocabulary_of(" a", "a", "b", " ")
    engine = engine_of(vocabulary)
    plain = engine.tokenizer.tokenize
    engine.tokenizer.tokenize = lambda text: plain(" " + text)  # type: ignore[method-assign]
    assert tokens_after(engine, [1], b"b") == [2]
    assert tokens_after(engine, [2], b"ab") == [1, 2]


def test_a_longer_token_that_is_allowed_is_left_to_the_model() -> None:
    vocabulary = vocabulary_of("order", "orderId", *'orderId":')
    engine = engine_of(vocabulary)
    open_ended = FiniteMatcher([b"order:", b'orderId":'], vocabulary)
    assert open_ended.forced_bytes() == b"order"
    assert consume_forced(engine, open_ended, [], mode="canonical", limit=99) == []
    assert open_ended.written == b""
    settled = FiniteMatcher([b"order:", b'order"'], vocabulary)
    assert consume_forced(engine, settled, [], mode="canonical", limit=99) == [0]
    assert settled.written == b"order"


@given(language=languages(), limit=st.integers(1, 9))
def test_a_canonical_run_is_forced_and_could_not_have_grown(
    language: tuple[Vocabulary, list[bytes]], limit: int
) -> None:
    vocabulary, texts = language
    engine = engine_of(vocabulary)
    start, matcher = FiniteMatcher(texts, vocabulary), FiniteMatcher(texts, vocabulary)
    run = consume_forced(engine, matcher, [], mode="canonical", limit=limit)
    assert len(run) <= limit
    written = b"".join(engine.token_bytes(token_id) for token_id in run)
    assert matcher.written == written
    # Nothing else could have been written: every text of the language begins with it.
    assert start.forced_bytes().startswith(written) or all(text.startswith(written) for text in texts)


def test_exact_takes_only_what_is_alone() -> None:
    vocabulary = vocabulary_of("a", "b", "ab", "c")
    engine = engine_of(vocabulary)
    matcher = FiniteMatcher([b"cab", b"cabb"], vocabulary)
    assert consume_forced(engine, matcher, [], mode="exact", limit=99) == [3]
    assert consume_forced(engine, matcher, [], mode="off", limit=99) == []


@pytest.mark.parametrize("seed", range(5))
def test_the_output_of_canonical_mode_is_what_the_tokenizer_writes(seed: int) -> None:
    texts = [
        f'{{\n  "name": "{name}",\n  "value": {value}\n}}' for name in ("date", "age") for value in ("true", "null")
    ]
    engine = Engine.from_model(tiny_llama(seed), TOKENIZER)
    assert START is not None
    request = Request(
        prompt_ids=[START, *TOKENIZER.tokenize("assistant\n")],
        matcher=FiniteMatcher([text.encode() for text in texts], engine.vocabulary),
    )
    canonical, off = (generate(engine, request), generate(engine, Request(
        prompt_ids=request.prompt_ids, matcher=request.matcher, forced="off"
    )))  # fmt: skip
    assert canonical.text in texts
    assert canonical.usage.forward_passes <= 6 < off.usage.forward_passes
    assert list(canonical.token_ids[:4]) == TOKENIZER.tokenize(texts[0])[:4]
