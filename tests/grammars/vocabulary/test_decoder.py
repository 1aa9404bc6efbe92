"""One decoder at a time: what a piece means, and what is refused by name."""

from __future__ import annotations

import json

import pytest
from tokenizers import decoders, pre_tokenizers

from grammars.errors import VocabularyError
from grammars.vocabulary.decoder import PieceDecoder, byte_level_alphabet

SENTENCE_PIECE = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}


def decode(description: object, *pieces: str) -> list[bytes]:
    return PieceDecoder.from_description(description).decode(pieces)


def test_byte_level_alphabet_is_the_library_s() -> None:
    assert sorted(byte_level_alphabet()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    decoder = decoders.ByteLevel()
    for byte, character in enumerate(byte_level_alphabet()):
        if byte < 0x80:
            assert decoder.decode([character]) == chr(byte)


def test_sentence_piece() -> None:
    pieces = ("▁cat", "▁dog", "<0x20>", "<0xf0>", "<0x9F>", "▁▁", "")
    assert decode(SENTENCE_PIECE, *pieces) == [b" cat", b" dog", b" ", b"\xf0", b"\x9f", b"  ", b""]


def test_letters_of_the_byte_alphabet_are_letters_to_sentence_piece() -> None:
    assert decode(SENTENCE_PIECE, "ĉ", "Ġ", "Ġhi") == ["ĉ".encode(), "Ġ".encode(), "Ġhi".encode()]


def test_byte_pieces_are_six_letters_without_byte_fallback() -> None:
    assert decode({"type": "Metaspace", "replacement": "▁"}, "<0x41>", "▁a") == [b"<0x41>", b" a"]
    assert decode({"type": "ByteLevel"}, "<0x41>", "▁a") == [b"<0x41>", "▁a".encode()]


def test_only_whole_byte_pieces_are_bytes() -> None:
    pieces = ("<0x4>", "<0x4G>", "<0x041>", "a<0x41>", "<0x41>\n")
    assert decode(SENTENCE_PIECE, *pieces) == [piece.encode() for piece in pieces]


def test_byte_level_piece_with_a_character_outside_the_alphabet_is_its_text() -> None:
    pieces = ("Ġhi", "Ċ", " ", "hi there", "日Ġ", "", "ł", "\xad", "é")
    expected = [b" hi", b"\n", b" ", b"hi there", "日Ġ".encode(), b"", b"\xa0", b"\xc2\xad", b"\xe9"]
    assert decode({"type": "ByteLevel"}, *pieces) == expected


@pytest.mark.parametrize("start", range(3))
@pytest.mark.parametrize("stop", range(3))
def test_strip_of_each_piece(start: int, stop: int) -> None:
    library = decoders.Sequence([decoders.Strip("x", start, stop)])
    description = json.loads(library.__getstate__())
    for piece in ("axa", "xa", "xxxaxx", "ax"):  # the library panics on pieces shorter than what it strips
        assert decode(description, piece) == [library.decode([piece]).encode()]
    assert decode(description, "x" * (start + stop), "") == [b"", b""]


def test_steps_work_in_their_order() -> None:
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "_"}
    both = [{"type": "ByteFallback"}, {"type": "Sequence", "decoders": [replace, {"type": "Fuse"}]}]
    assert decode({"type": "Sequence", "decoders": both}, "<0x20>", " ", "<0xC3>") == [b"_", b"_", b"\xc3"]
    assert decode({"type": "Sequence", "decoders": [replace, {"type": "ByteFallback"}]}, "<0x20>", " ") == [b" ", b"_"]


@pytest.mark.parametrize("kind", ["WordPiece", "BPEDecoder", "CTC", "Unheard"])
def test_refused_by_name(kind: str) -> None:
    with pytest.raises(VocabularyError, match=rf"decoder\.decoders\[1\].*{kind}"):
        decode({"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": kind}]})


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (None, "got null"),
        ([], "expected an object"),
        ({"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""}, "Regex is not supported"),
        ({"type": "Replace", "pattern": {"String": ""}, "content": ""}, "pattern"),
        ({"type": "Strip", "content": "ab", "start": 1, "stop": 0}, "one character"),
        ({"type": "Metaspace"}, "replacement"),
        (
            {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Metaspace", "replacement": "▁"}]},
            "after pieces are joined",
        ),
        (
            {"type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "ByteFallback"}]},
            "after pieces are joined",
        ),
    ],
)
def test_malformed_or_unsupported(description: object, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        decode(description)


def test_deeply_nested_sequences_are_fine() -> None:
    description: dict[str, object] = {"type": "ByteLevel"}
    for _ in range(60_000):
        description = {"type": "Sequence", "decoders": [description]}
    assert decode(description, "Ġ") == [b" "]


def test_a_lone_surrogate_is_refused() -> None:
    for kind in ({"type": "ByteLevel"}, SENTENCE_PIECE):
        with pytest.raises(VocabularyError, match="surrogate"):
            decode(kind, "a", "\ud800")
