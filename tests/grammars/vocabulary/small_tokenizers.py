"""Small tokenizers of each kind, built in memory with the `tokenizers` library: what the tests compare with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

SPECIAL = ("<unk>", "<s>", "</s>")


def id_of(tokenizer: Tokenizer, name: str) -> int:
    """The id of a token that is there."""
    token_id = tokenizer.token_to_id(name)
    assert token_id is not None
    return int(token_id)


def byte_level(corpus: Iterable[str], *, added: Sequence[str] = (), normalizes: bool = False) -> Tokenizer:
    """Byte-level BPE as GPT-2's and Llama 3's; ``normalizes``: by a normalizer in place of the pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    if normalizes:
        tokenizer.normalizer = normalizers.ByteLevel()
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=["</s>"], show_progress=False
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens(list(added))
    return tokenizer


def _byte_pieces() -> list[str]:
    return [f"<0x{byte:02X}>" for byte in range(256)]


def _trained_pieces(corpus: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Pieces and merges in which a blank is ``▁``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=60, show_progress=False))
    merges = []
    pieces = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    known = set(pieces)
    for piece in pieces:
        merges += [
            (piece[:cut], piece[cut:]) for cut in range(1, len(piece)) if piece[:cut] in known and piece[cut:] in known
        ]
    return pieces, merges


def llama2(corpus: Iterable[str], *, added: Sequence[str] = (), extra: Sequence[str] = ()) -> Tokenizer:
    """SentencePiece-like BPE with byte fallback and the decoder of Llama 2; ``extra``: further pieces."""
    pieces, merges = _trained_pieces(corpus)
    names = list(dict.fromkeys([*SPECIAL, *_byte_pieces(), *pieces, *extra]))
    vocabulary = {piece: index for index, piece in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    _add(tokenizer, added)
    return tokenizer


def gemma(corpus: Iterable[str], *, added: Sequence[str] = ()) -> Tokenizer:
    """SentencePiece-like BPE with byte fallback that neither adds nor strips a blank."""
    tokenizer = llama2(corpus, added=added)
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def unigram(alphabet: str, words: Iterable[str], *, prepend_scheme: str = "always") -> Tokenizer:
    """Unigram with Metaspace on both sides, over the characters of ``alphabet`` and some words."""
    singles = dict.fromkeys(["▁", *alphabet])
    pieces = dict.fromkeys([*singles, *(word.replace(" ", "▁") for word in words if word)])
    scored = [(name, 0.0) for name in SPECIAL] + [(piece, -float(2 + (piece in singles))) for piece in pieces]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend_scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=prepend_scheme)
    _add(tokenizer, ())
    return tokenizer


def _add(tokenizer: Tokenizer, added: Sequence[str]) -> None:
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in SPECIAL])
    tokenizer.add_tokens(list(added))
