"""The law: the bytes of a text's tokens, joined, are what the `tokenizers` library makes of these tokens."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from grammars.vocabulary import Vocabulary

from .small_tokenizers import SPECIAL, byte_level, gemma, id_of, llama2, unigram

ALPHABET = "aбé ▁Ġĉ\n\t0<x>{日😀"
texts = st.text(alphabet=st.one_of(st.sampled_from(ALPHABET), st.characters(codec="utf-8")), max_size=30)
corpora = st.lists(st.text(alphabet=ALPHABET, max_size=20), min_size=1, max_size=5)
added = st.lists(st.text(alphabet="a日 \t", min_size=1, max_size=5), max_size=3, unique=True)
relaxed = settings(deadline=None, max_examples=80)


def tokens_of(tokenizer: Tokenizer, text: str) -> tuple[Vocabulary, list[int], bytes]:
    assume(not any(name in text for name in SPECIAL))
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    pieces = [vocabulary.token_bytes(token_id) for token_id in ids]
    assert None not in pieces, [tokenizer.id_to_token(token_id) for token_id in ids]
    return vocabulary, ids, b"".join(piece for piece in pieces if piece is not None)


@given(corpora, texts, added, st.booleans())
@relaxed
def test_byte_level(corpus: list[str], text: str, plain: list[str], normalizes: bool) -> None:
    tokenizer = byte_level(corpus, added=plain, normalizes=normalizes)
    _, ids, joined = tokens_of(tokenizer, text)
    assert joined == text.encode()
    assert joined.decode() == tokenizer.decode(ids)


@given(corpora, texts, st.lists(st.text(alphabet="aéñ日", min_size=2, max_size=3), max_size=3, unique=True))
@relaxed
def test_byte_level_added_tokens_mean_their_text_or_nothing(corpus: list[str], text: str, plain: list[str]) -> None:
    tokenizer = byte_level(corpus, added=plain)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    for content in plain:
        token_id = id_of(tokenizer, content)
        if tokenizer.decode([token_id]) == content:
            assert vocabulary.token_bytes(token_id) == content.encode()
        elif token_id >= tokenizer.get_vocab_size(with_added_tokens=False):
            assert vocabulary.token_bytes(token_id) is None
    assert None not in [vocabulary.token_bytes(token_id) for token_id in byte_level(corpus).encode(text).ids]


@given(corpora, texts, added)
@relaxed
def test_llama2_but_for_the_first_blank(corpus: list[str], text: str, plain: list[str]) -> None:
    tokenizer = llama2(corpus, added=plain)
    _, ids, joined = tokens_of(tokenizer, text)
    # the decoder takes off the first blank, but leaves that of an added token alone
    assert tokenizer.decode(ids) in (joined.decode().removeprefix(" "), joined.decode())


@given(corpora, texts, added)
@relaxed
def test_gemma(corpus: list[str], text: str, plain: list[str]) -> None:
    tokenizer = gemma(corpus, added=plain)
    _, ids, joined = tokens_of(tokenizer, text)
    assert joined.decode() == tokenizer.decode(ids)
    # where the corpus has no blank, ▁ itself is spelled by bytes
    assert joined.decode().replace("▁", " ") == text.replace("▁", " ")


@given(
    st.lists(st.text(alphabet="aé Ġ日", min_size=1, max_size=4), max_size=5), st.text(alphabet="aé Ġ日", max_size=20)
)
@relaxed
def test_unigram_but_for_first_blanks(words: list[str], text: str) -> None:
    tokenizer = unigram("aéĠ日", words)
    _, ids, joined = tokens_of(tokenizer, text)
    assert joined.decode().lstrip(" ") == tokenizer.decode(ids).lstrip(" ")
    without_prefix = unigram("aéĠ日", words, prepend_scheme="never")
    _, ids, joined = tokens_of(without_prefix, text)
    assert joined.decode() == without_prefix.decode(ids) == text
