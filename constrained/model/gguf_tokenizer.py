"""The tokenizer inside a GGUF file, written as the document of a ``tokenizer.json``.

GGUF names the kind of model (``gpt2``: byte-level BPE with merges; ``llama``: SentencePiece BPE with scores) and, for
the first, the way of cutting text before merges. A kind or a way that is not listed here is refused by name: a wrong
one would give other ids than the model was trained on, silently.
"""

from __future__ import annotations

from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from constrained.errors import ModelFilesError, UnsupportedModel
from constrained.model.gguf_file import GGUFFile

__all__ = ["special_token_names", "tokenizer_from_gguf"]

# Values of `tokenizer.ggml.token_type`.
_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 2, 3, 4, 5
_NEVER_TEXT = (_UNKNOWN, _CONTROL, _UNUSED)

_LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def tokenizer_from_gguf(file: GGUFFile) -> str:
    """Text of a ``tokenizer.json``.

    Tokens that the file calls unknown, control or unused are special in it: no text becomes one of them, by merges
    either, and a vocabulary made from it gives them no text.

    Raises :class:`UnsupportedModel` for a kind of tokenizer that is not known, :class:`ModelFilesError` if parts of it
    are missing.
    """
    kind = file.metadata("tokenizer.ggml.model")
    tokens = file.metadata("tokenizer.ggml.tokens")
    if kind is None or tokens is None:
        raise ModelFilesError(f"{file.path}: the file holds no tokenizer")
    types = file.metadata("tokenizer.ggml.token_type", [1] * len(tokens))
    if len(types) != len(tokens):
        raise ModelFilesError(f"{file.path}: {len(tokens):,} tokens, but the types of {len(types):,}")
    never_text = {token for token, token_type in zip(tokens, types, strict=True) if token_type in _NEVER_TEXT}
    if kind == "gpt2":
        tokenizer = _byte_level(file, tokens, never_text)
    elif kind == "llama":
        tokenizer = _sentencepiece(file, tokens, never_text)
    else:
        raise UnsupportedModel(f"{file.path}: tokenizer of kind {kind!r} is not supported; expected 'gpt2' or 'llama'")
    for token, token_type in zip(tokens, types, strict=True):
        if token_type in _NEVER_TEXT:
            tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)])
        elif token_type == _USER_DEFINED:
            tokenizer.add_tokens([AddedToken(token, normalized=False)])
    _add_start_and_end(file, tokenizer, tokens, by_default=kind == "llama")
    return str(tokenizer.to_str())


def special_token_names(file: GGUFFile) -> dict[str, str]:
    """``bos_token``, ``eos_token`` and the like: what a chat template may write by name."""
    tokens = file.metadata("tokenizer.ggml.tokens", [])
    names = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}
    ids = {ours: file.metadata(f"tokenizer.ggml.{theirs}_token_id") for theirs, ours in names.items()}
    return {name: tokens[token_id] for name, token_id in ids.items() if token_id is not None}


def _byte_level(file: GGUFFile, tokens: list[str], never_text: set[str]) -> tokenizers.Tokenizer:
    merges = file.metadata("tokenizer.ggml.merges")
    if merges is None:
        raise ModelFilesError(f"{file.path}: metadata tokenizer.ggml.merges is missing")
    way = file.metadata("tokenizer.ggml.pre", "default")
    cut, ignore_merges = _pre_tokenizer(file, way)
    pairs = [tuple(merge.split(" ", 1)) for merge in merges if merge.replace(" ", "", 1) not in never_text]
    vocab = {token: index for index, token in enumerate(tokens)}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=pairs, ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = cut
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _pre_tokenizer(file: GGUFFile, way: str) -> tuple[Any, bool]:
    """How text is cut before merging, and whether a piece that is a token as a whole is taken without merging."""
    if way in ("default", "gpt-2"):
        return pre_tokenizers.ByteLevel(add_prefix_space=False), False
    if way == "smollm":
        digits = pre_tokenizers.Digits(individual_digits=True)
        return pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]), False
    if way in ("llama-bpe", "llama3", "llama-v3"):
        split = pre_tokenizers.Split(Regex(_LLAMA3_PATTERN), behavior="isolated")
        return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), True
    raise UnsupportedModel(
        f"{file.path}: pre-tokenizer {way!r} is not supported; expected one of default, gpt-2, llama-bpe, llama3, "
        "llama-v3, smollm; load the model's safetensors folder instead"
    )


def _sentencepiece(file: GGUFFile, tokens: list[str], never_text: set[str]) -> tokenizers.Tokenizer:
    """BPE whose merges are every way to cut a piece into two others, the best-scored piece first."""
    scores = file.metadata("tokenizer.ggml.scores")
    if scores is None:
        raise ModelFilesError(f"{file.path}: metadata tokenizer.ggml.scores is missing")
    vocab = {token: index for index, token in enumerate(tokens)}
    ranked = []
    for token, score in zip(tokens, scores, strict=True):
        if token in never_text:
            continue
        cuts = [(token[:place], token[place:]) for place in range(1, len(token))]
        ranked += [(score, cut) for cut in cuts if cut[0] in vocab and cut[1] in vocab]
    ranked.sort(key=lambda entry: (entry[0], len(entry[1][0]), len(entry[1][1])), reverse=True)
    unknown = file.metadata("tokenizer.ggml.unknown_token_id")
    tokenizer = tokenizers.Tokenizer(
        models.BPE(
            vocab=vocab,
            merges=[cut for _, cut in ranked],
            unk_token=None if unknown is None else tokens[unknown],
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    blanks: list[normalizers.Normalizer] = [normalizers.Replace(" ", "▁")]
    if file.metadata("tokenizer.ggml.add_space_prefix", True):
        blanks.insert(0, normalizers.Prepend("▁"))
    tokenizer.normalizer = normalizers.Sequence(blanks)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def _add_start_and_end(file: GGUFFile, tokenizer: tokenizers.Tokenizer, tokens: list[str], *, by_default: bool) -> None:
    """Let plain texts get a start or end token where the file asks for it."""
    start, end = "", ""
    used = []
    bos, eos = (file.metadata(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos"))
    if file.metadata("tokenizer.ggml.add_bos_token", by_default) and bos is not None:
        start = f"{tokens[bos]}:0 "
        used.append((tokens[bos], bos))
    if file.metadata("tokenizer.ggml.add_eos_token", False) and eos is not None:
        end = f" {tokens[eos]}:0"
        used.append((tokens[eos], eos))
    if used:
        tokenizer.post_processor = processors.TemplateProcessing(single=f"{start}$A:0{end}", special_tokens=used)
