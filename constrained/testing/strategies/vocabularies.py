"""Hypothesis strategy: small vocabularies with everything that real ones have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hypothesis import strategies as st

from grammars.vocabulary import Vocabulary

__all__ = ["vocabularies"]

_TEXTS = ("a", "b", "ab", "ba", "aa", "aab", '"', 'a"', '":', "é", "日", "😀", " ", "\n", "{", "}", "0", "1")


def vocabularies(
    *, texts: Sequence[str] = _TEXTS, complete: bool = True, kind: Literal["byte-level", "sentencepiece"] = "byte-level"
) -> st.SearchStrategy[Vocabulary]:
    """Random vocabularies: merges of ``texts``, characters cut in the middle, empty and doubled tokens, special ids.

    ``complete``: every byte is a token, so any text can be written; otherwise only some bytes are. There are one to
    three end tokens, at random ids, and sometimes ids beyond the tokenizer. ``kind="sentencepiece"`` has whole
    characters only, many with a space before them, three special ids first, and behind them the 256 bytes to fall back
    on (some of them unless ``complete``).

    >>> from hypothesis import find
    >>> vocabulary = find(vocabularies(kind="sentencepiece"), lambda vocabulary: b" a" in vocabulary.tokens)
    >>> vocabulary.tokens[:4], vocabulary.eos_token_ids
    ((None, None, None, b'\\x00'), (2,))
    """
    if kind == "sentencepiece":
        return _sentencepiece(tuple(texts), complete)
    return _vocabularies(tuple(texts), complete)


@st.composite
def _sentencepiece(draw: st.DrawFn, texts: tuple[str, ...], complete: bool) -> Vocabulary:
    word = st.lists(st.sampled_from(texts), min_size=1, max_size=3).map("".join)
    spaced = st.tuples(st.sampled_from((" ", "")), word).map(lambda parts: "".join(parts).encode())
    singles = [bytes((byte,)) for byte in range(256)]
    tokens: list[bytes | None] = [None, None, None]  # unknown, begin, end
    tokens += singles if complete else draw(st.lists(st.sampled_from(singles), max_size=8, unique=True))
    tokens += draw(st.lists(spaced, max_size=24))
    tokens += draw(st.lists(st.just(None), max_size=3))  # unused and control ids, whatever their pieces look like
    size = len(tokens) + draw(st.sampled_from([0, 0, 1, 40]))
    return Vocabulary.from_bytes(tokens, eos_token_ids=[2], size=size)


@st.composite
def _vocabularies(draw: st.DrawFn, texts: tuple[str, ...], complete: bool) -> Vocabulary:
    merged = st.lists(st.sampled_from(texts), min_size=1, max_size=4).map(lambda parts: "".join(parts).encode())
    tokens: list[bytes | None] = list(draw(st.lists(st.one_of(merged, _pieces_of(merged)), max_size=24)))
    singles = [bytes((byte,)) for byte in range(256)]
    tokens += singles if complete else draw(st.lists(st.sampled_from(singles), max_size=8))
    tokens += draw(st.lists(st.sampled_from([None, b"", *tokens]), max_size=4))
    tokens = list(draw(st.permutations(tokens))) if len(tokens) < 64 else _rotated(draw, tokens)
    ends: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(tokens)))
        tokens.insert(place, None)
        ends = [token_id + (token_id >= place) for token_id in ends] + [place]
    size = len(tokens) + draw(st.sampled_from([0, 0, 1, 40]))
    return Vocabulary.from_bytes(tokens, eos_token_ids=ends, size=size)


def _pieces_of(whole: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Parts of texts, cut anywhere: also inside a character."""
    bounds = st.tuples(whole, st.integers(0, 6), st.integers(1, 6))
    return bounds.map(lambda cut: cut[0][cut[1] : cut[1] + cut[2]])


def _rotated(draw: st.DrawFn, tokens: list[bytes | None]) -> list[bytes | None]:
    """An order that is cheap to draw and to shrink."""
    cut = draw(st.integers(0, len(tokens)))
    return tokens[cut:] + tokens[:cut]
