"""Which ids have text: special, control, unknown and doubtful tokens have none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken

from grammars.errors import VocabularyError
from grammars.vocabulary import Vocabulary
from grammars.vocabulary.end_tokens import is_control_name

from .small_tokenizers import byte_level, gemma, id_of, llama2
from .test_decoder import SENTENCE_PIECE


def description(vocab: object, *, added: list[dict[str, Any]] | None = None, **changes: Any) -> dict[str, Any]:
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    return {"model": model, "added_tokens": added or [], "decoder": SENTENCE_PIECE, **changes}


def write(folder: Path, document: object, **beside: object) -> Path:
    (folder / "tokenizer.json").write_text(json.dumps(document))
    for name, content in beside.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder / "tokenizer.json"


def test_special_added_tokens_have_no_text() -> None:
    tokenizer = byte_level(["ab"])
    tokenizer.add_special_tokens(["<|im_end|>", AddedToken("<|reserved_special_token_0|>"), "plain"])
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    for name in ("</s>", "<|im_end|>", "<|reserved_special_token_0|>", "plain"):
        assert vocabulary.token_bytes(id_of(tokenizer, name)) is None
    ends = {id_of(tokenizer, name) for name in ("</s>", "<|im_end|>")}
    assert set(vocabulary.eos_token_ids) == ends


def test_added_tokens_that_are_not_special_match_as_text() -> None:
    names = ["    ", "\t\t", " " * 600, "<tool_call>", "日本語", "<table>"]
    tokenizer = byte_level(["ab"], added=names)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    for name in names:
        assert vocabulary.token_bytes(id_of(tokenizer, name)) == name.encode()


def test_control_names_among_added_tokens_have_no_text() -> None:
    names = ["<unused0>", "<|fim_prefix|>", "<｜User｜>", "[unused12]", "<reserved_3>", "<|reserved_special_token_7|>"]
    for tokenizer in (byte_level(["ab"], added=names), gemma(["ab"], added=names)):
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
        assert [vocabulary.token_bytes(id_of(tokenizer, name)) for name in names] == [None] * len(names)


def test_control_names_among_learnt_pieces_are_text_unless_blocked(tmp_path: Path) -> None:
    path = write(tmp_path, description({"<u1>": 0, "<unused1>": 1, "</s>": 2}))
    vocabulary = Vocabulary.from_tokenizer_json(path, eos_token_ids=[2])
    assert vocabulary.tokens == (b"<u1>", b"<unused1>", None)
    assert Vocabulary.from_tokenizer_json(path, eos_token_ids=[2], blocked=[0, 1]).tokens == (None, None, None)
    with pytest.raises(VocabularyError, match="blocked: expected ids from 0 to 2, got 3"):
        Vocabulary.from_tokenizer_json(path, eos_token_ids=[2], blocked=[3])


@pytest.mark.parametrize("text", ["<b>", "|a|", "<|", "<>", "[1]", "[special offer]", "unused1", "<div class='x'>"])
def test_no_control_name(text: str) -> None:
    assert not is_control_name(text)


def test_the_unknown_token_has_no_text(tmp_path: Path) -> None:
    document = description({"<unk>": 0, "a": 1})
    document["model"]["unk_token"] = "<unk>"
    assert Vocabulary.from_tokenizer_json(write(tmp_path, document), eos_token_ids=[]).tokens == (None, b"a")
    document = description([["?", 0.0], ["▁a", -1.0], ["▁a", -2.0]])
    document["model"]["unk_id"] = 0
    vocabulary = Vocabulary.from_tokenizer_json(write(tmp_path, document), eos_token_ids=[])
    assert vocabulary.tokens == (None, b" a", b" a")


def test_ids_without_a_piece_have_no_text(tmp_path: Path) -> None:
    path = write(tmp_path, description({"a": 0, "b": 3}, added=[{"id": 5, "content": "</s>", "special": True}]))
    vocabulary = Vocabulary.from_tokenizer_json(path)
    assert (vocabulary.tokens, vocabulary.eos_token_ids) == ((b"a", None, None, b"b", None, None), (5,))


def test_byte_level_tokens_read_one_way_and_written_another() -> None:
    tokenizer = byte_level(["ab"], added=["õx", "Ġhi", "é"])
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary.token_bytes(id_of(tokenizer, "õx")) is None
    assert vocabulary.token_bytes(id_of(tokenizer, "Ġhi")) is None
    assert vocabulary.token_bytes(id_of(tokenizer, "é")) == b"\xe9"  # the model's own piece
    assert {bytes((byte,)) for byte in range(256)} <= set(vocabulary.tokens)
    normalizing = byte_level(["ab"], added=["õx", "Ġhi"], normalizes=True)
    vocabulary = Vocabulary.from_tokenizer(normalizing)
    assert vocabulary.token_bytes(id_of(normalizing, "õx")) == "õx".encode()


def test_sentence_piece_vocabulary_with_letters_of_the_byte_alphabet() -> None:
    tokenizer = llama2(["ab"], extra=["ĉ", "Ġ", "Ġa"])
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    for piece in ("ĉ", "Ġ", "Ġa"):
        assert vocabulary.token_bytes(id_of(tokenizer, piece)) == piece.encode()
    assert {bytes((byte,)) for byte in range(256)} <= set(vocabulary.tokens)


def test_files_beside_it_name_special_and_end_tokens(tmp_path: Path) -> None:
    vocab = {piece: index for index, piece in enumerate(["a", "[BOS]", "[EOT]", "[PAD]", "[X]", "b", "c"])}
    path = write(
        tmp_path,
        description(vocab),
        tokenizer_config={
            "bos_token": {"content": "[BOS]"},
            "eos_token": "[EOT]",
            "pad_token": None,
            "extra_special_tokens": {"pad": "[PAD]"},
            "added_tokens_decoder": {"4": {"content": "[X]", "special": True}},
        },
        generation_config={"eos_token_id": [2, 5, 900]},
        config={"eos_token_id": 5},
    )
    vocabulary = Vocabulary.from_tokenizer_json(path)
    assert vocabulary.tokens == (b"a", None, None, None, None, None, b"c")
    assert vocabulary.eos_token_ids == (2, 5)
    assert Vocabulary.from_tokenizer_json(path, eos_token_ids=[6]).eos_token_ids == (6,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected JSON"),
        ("[]", "expected an object"),
        ("[" * 100_000, "nested too deeply|expected JSON"),
        (b"\xff\xfe\xff", "expected JSON"),
        ("{}", "model: expected"),
        (json.dumps(description(3)), "model.vocab"),
        (json.dumps(description({"a": -1})), "whole numbers"),
        (json.dumps(description({"a": "0"})), "whole numbers"),
        (json.dumps(description({"a": 10**12})), "close to 0"),
        (json.dumps(description([["a", 0.0], [None, 0.0]])), r"\[piece, score\]"),
        (json.dumps(description({"a": 0}, added=[{"id": "x", "content": "b"}])), "an id and a content"),
        (json.dumps({**description({"a": 0}), "added_tokens": 4}), "list of objects"),
        (json.dumps({**description({"a": 0}), "decoder": {"type": "WordPiece"}}), "WordPiece"),
        (json.dumps(description({"a": 0})), "pass eos_token_ids"),
    ],
)
def test_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_tokenizer_json(path)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Vocabulary.from_tokenizer_json(tmp_path / "tokenizer.json")
