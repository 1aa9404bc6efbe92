"""The class itself: width, ends, digest, and what it refuses; and a tokenizer as transformers wraps it."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models

from grammars.errors import VocabularyError
from grammars.vocabulary import Vocabulary

from .small_tokenizers import byte_level, id_of

token_lists = st.lists(st.none() | st.binary(max_size=3), max_size=6)


def test_as_wide_as_the_logits() -> None:
    vocabulary = Vocabulary.from_bytes([b"a"] * 10, eos_token_ids=[9], size=16)
    assert vocabulary.size == len(vocabulary.tokens) == 16
    assert vocabulary.tokens[9:] == (None,) * 7
    tokenizer = byte_level(["ab"])
    wide = Vocabulary.from_tokenizer(tokenizer, size=1000)
    assert wide.size == 1000
    assert wide.tokens[tokenizer.get_vocab_size() :] == (None,) * (1000 - tokenizer.get_vocab_size())
    with pytest.raises(VocabularyError, match="size: expected at least 10"):
        Vocabulary.from_bytes([b"a"] * 10, eos_token_ids=[9], size=9)
    with pytest.raises(VocabularyError, match="size: expected at least"):
        Vocabulary.from_tokenizer(tokenizer, size=7)


def test_empty_tokens_and_duplicates_are_kept() -> None:
    tokens = (b"", b"a", b"a", b" " * 600, b"\xf0\x9f")
    assert Vocabulary.from_bytes(tokens, eos_token_ids=[]).tokens == tokens


def test_end_tokens_never_match_as_text() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"<eos>", b"<turn_end>"], eos_token_ids=[2, 1, 2])
    assert vocabulary.tokens == (b"a", None, None)
    assert vocabulary.eos_token_ids == (2, 1)


@pytest.mark.parametrize("token_id", [-1, 3])
def test_ids_outside(token_id: int) -> None:
    with pytest.raises(VocabularyError, match="eos_token_ids: expected ids from 0 to 2"):
        Vocabulary.from_bytes([b"a", b"b", None], eos_token_ids=[token_id])
    with pytest.raises(VocabularyError, match="token_id: expected ids from 0 to 2"):
        Vocabulary.from_bytes([b"a", b"b", None], eos_token_ids=[]).token_bytes(token_id)


def test_other_types_are_refused() -> None:
    with pytest.raises(VocabularyError, match="token 1: expected bytes or None"):
        Vocabulary.from_bytes([b"a", "b"], eos_token_ids=[])  # type: ignore[list-item]
    with pytest.raises(VocabularyError, match=r"expected a fast tokenizer.*got object"):
        Vocabulary.from_tokenizer(object())


def test_it_is_frozen_and_says_little() -> None:
    vocabulary = Vocabulary.from_bytes([b"a"] * 5000, eos_token_ids=[0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        vocabulary.tokens = ()  # type: ignore[misc]
    assert repr(vocabulary) == "Vocabulary(size=5000, with_text=4999, eos_token_ids=(0,))"


@given(token_lists, token_lists)
def test_digest_names_the_contents(left: list[bytes | None], right: list[bytes | None]) -> None:
    one = Vocabulary.from_bytes(left, eos_token_ids=[])
    other = Vocabulary.from_bytes(right, eos_token_ids=[])
    assert (one.digest == other.digest) == (left == right)


def test_digest_tells_end_tokens_apart_but_not_their_order() -> None:
    def digest(*ends: int) -> str:
        return Vocabulary.from_bytes([b"a", None, None], eos_token_ids=ends).digest

    assert len({digest(), digest(1), digest(2), digest(1, 2)}) == 4
    assert digest(1, 2) == digest(2, 1)


def test_a_wrapped_tokenizer_names_its_end_and_special_tokens() -> None:
    """As transformers' fast tokenizers do: `backend_tokenizer`, `eos_token_id`, `all_special_ids`."""
    backend = byte_level(["ab"], added=["[EOT]", "[PAD]"])
    end, pad = id_of(backend, "[EOT]"), id_of(backend, "[PAD]")
    wrapped = SimpleNamespace(backend_tokenizer=backend, eos_token_id=end, all_special_ids=[end, pad])
    vocabulary = Vocabulary.from_tokenizer(wrapped)
    assert vocabulary.eos_token_ids == (end, id_of(backend, "</s>"))
    assert vocabulary.token_bytes(end) is vocabulary.token_bytes(pad) is None
    assert Vocabulary.from_tokenizer(wrapped, eos_token_ids=[pad]).eos_token_ids == (pad,)


def test_a_real_wrapped_tokenizer() -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = byte_level(["ab"], added=["    "])
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="[END]", pad_token="</s>")
    vocabulary = Vocabulary.from_tokenizer(wrapped, size=400)
    assert vocabulary.eos_token_ids[0] == wrapped.eos_token_id
    assert vocabulary.token_bytes(wrapped.convert_tokens_to_ids("    ")) == b"    "
    assert vocabulary.token_bytes(wrapped.eos_token_id) is None


def test_a_tokenizer_without_bytes_for_a_piece_is_refused() -> None:
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    with pytest.raises(VocabularyError, match="got null"):
        Vocabulary.from_tokenizer(tokenizer)
    tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(VocabularyError, match="WordPiece is not supported"):
        Vocabulary.from_tokenizer(tokenizer)
