"""Rank files: base64 and id a line."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from grammars.errors import VocabularyError
from grammars.vocabulary import Vocabulary


def write(path: Path, tokens: dict[bytes, int]) -> Path:
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in tokens.items()))
    return path


def test_ranks_are_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "ranks", {b"b": 1, b"\xff\n": 0, b" " * 600: 2})
    vocabulary = Vocabulary.from_tiktoken(path, special_tokens={"<|endoftext|>": 4, "<|fim|>": 5}, size=8)
    assert vocabulary.tokens == (b"\xff\n", b"b", b" " * 600, *[None] * 5)
    assert vocabulary.eos_token_ids == (4,)
    named = Vocabulary.from_tiktoken(path, special_tokens={"[x]": 3}, eos_token_ids=[3])
    assert (named.size, named.eos_token_ids) == (4, (3,))


def test_llama3_by_default(tmp_path: Path) -> None:
    path = write(tmp_path / "tokenizer.model", {rank.to_bytes(3): rank for rank in range(128_000)})
    vocabulary = Vocabulary.from_tiktoken(path)
    assert vocabulary.size == 128_256
    assert vocabulary.tokens[127_999] == (127_999).to_bytes(3)
    assert set(vocabulary.tokens[128_000:]) == {None}
    assert set(vocabulary.eos_token_ids) == {128_001, 128_008, 128_009}


@pytest.mark.parametrize(
    ("content", "special", "message"),
    [
        (b"", {"</s>": 1}, "got 0 pieces"),
        (b"YQ== 0\nYg==", {"</s>": 1}, "got 2 pieces and 1 ranks"),
        (b"YQ== 0\nYg== 0", {"</s>": 1}, "each rank once"),
        (b"YQ== x", {"</s>": 1}, "base64 and a rank"),
        (b"Y 0", {"</s>": 1}, "base64 and a rank"),
        (b"YQ== -1", {"</s>": 1}, "base64 and a rank"),
        (b"YQ== 9999999999", {"</s>": 1}, "close to 0"),
        (b"YQ== 0", {"</s>": 0}, "special_tokens: expected ids that no rank"),
        (b"YQ== 0", {"</s>": -4}, "special_tokens"),
        (b"YQ== 0", {"[x]": 1}, "pass eos_token_ids"),
        (b"YQ== 0", None, "pass special_tokens"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, special: dict[str, int] | None, message: str) -> None:
    path = tmp_path / "ranks"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_tiktoken(path, special_tokens=special)
