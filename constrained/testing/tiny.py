"""A seeded Llama and a tokenizer, both made in memory in milliseconds: what the tests run on.

They have the parts of the real things (grouped queries, tied embeddings, byte-level BPE, special tokens, a chat
template) at a size at which a pass takes a fraction of a millisecond. The model's text is noise; its logits are not
flat, so greedy and sampled choices differ from step to step.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch

from constrained.model.config import LlamaConfig
from constrained.model.llama import Llama
from constrained.model.tokenizer import Tokenizer

if TYPE_CHECKING:
    from constrained.api import Model

__all__ = ["TINY_CHAT_TEMPLATE", "tiny_config", "tiny_llama", "tiny_model", "tiny_tokenizer", "tiny_tokenizer_json"]

TINY_CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

_SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# Learnt from nothing: written down so that common words, JSON punctuation and indentation have tokens of their own.
_MERGED_WORDS = (
    *(" the", " and", " of", "the", "ing", "name", "age", "true", "false", "null", "value", "total", "date", "user"),
    *('": ', '",', '"\n', "{\n", "},", "],", '":', "  ", "    ", "\n  ", "\n    ", "00", "20", "10", "é", "ü", "日本"),
)


def tiny_config(*, vocab_size: int = 320, **changes: Any) -> LlamaConfig:
    """Two layers, four query heads on two key/value heads, 32 wide; ``changes`` replace fields of the config."""
    fields: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": True,
        "eos_token_ids": (2,),
    }
    return LlamaConfig(vocab_size=vocab_size, **(fields | changes))


def tiny_llama(
    seed: int = 0, vocab_size: int | None = None, *, dtype: torch.dtype = torch.float32, **changes: Any
) -> Llama:
    """A Llama with random weights that depend on ``seed`` only.

    ``vocab_size`` is the width of the logits; by default a little more than :func:`tiny_tokenizer` has, as real models
    pad theirs. ``changes`` replace fields of the config, as in :func:`tiny_config`.

    >>> tiny_llama().config.num_hidden_layers, tiny_llama(num_hidden_layers=1).config.num_hidden_layers
    (2, 1)
    """
    if vocab_size is None:
        vocab_size = len(_vocabulary()[0]) + 5
    model = Llama(tiny_config(vocab_size=vocab_size, **changes), dtype=dtype)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in sorted(model.named_parameters()):
        noise = torch.randn(parameter.shape, generator=generator)
        if name.endswith("norm.weight"):
            parameter.data = (1 + 0.1 * noise).to(dtype)
        elif parameter.dim() == 1:
            parameter.data = (0.1 * noise).to(dtype)
        else:
            parameter.data = (noise / parameter.shape[1] ** 0.5).to(dtype)
    return model


def tiny_model(seed: int = 0) -> Model:
    """Both behind the API, as :func:`constrained.load` gives a model; the kernels of the grammar engine are compiled.

    >>> tiny_model().generate("Tea?", bool).value in (True, False)
    True
    """
    import grammars
    from constrained.api import Model
    from constrained.model import LoadedModel

    if not grammars.is_warm():
        grammars.warm_up()
    return Model(LoadedModel(tiny_llama(seed), tiny_tokenizer(), "tiny"))


def tiny_tokenizer() -> Tokenizer:
    """Byte-level BPE over all 256 bytes with some sixty merges, ChatML special tokens and a chat template.

    >>> tokenizer = tiny_tokenizer()
    >>> tokenizer.detokenize(tokenizer.tokenize('{"name": "日本"}'))
    '{"name": "日本"}'
    """
    return Tokenizer.from_json(tiny_tokenizer_json(), chat_template=TINY_CHAT_TEMPLATE, eos_token_ids=(2,))


def tiny_tokenizer_json() -> str:
    """The tokenizer as the text of a ``tokenizer.json``."""
    vocab, merges = _vocabulary()
    added = [
        {"id": vocab[token], "content": token, "special": True}
        | {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        for token in _SPECIAL_TOKENS
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    model: dict[str, Any] = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None}
    model |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": model | {"vocab": vocab, "merges": merges},
    }
    return json.dumps(document, ensure_ascii=False)


def _byte_characters() -> list[str]:
    """Byte -> the printable character that stands for it in byte-level BPE (the GPT-2 table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {byte: chr(byte) for byte in printable} | {byte: chr(256 + index) for index, byte in enumerate(others)}
    return [table[byte] for byte in range(256)]


def _vocabulary() -> tuple[dict[str, int], list[list[str]]]:
    """Token text -> id, and merges in order of rank: specials, bytes, then every left-to-right prefix of the words."""
    alphabet = _byte_characters()
    vocab: dict[str, int] = {}
    for token in (*_SPECIAL_TOKENS, *alphabet):
        vocab[token] = len(vocab)
    merges = []
    for word in _MERGED_WORDS:
        pieces = [alphabet[byte] for byte in word.encode()]
        prefix = pieces[0]
        for piece in pieces[1:]:
            merged = prefix + piece
            if merged not in vocab:
                vocab[merged] = len(vocab)
                merges.append([prefix, piece])
            prefix = merged
    return vocab, merges
