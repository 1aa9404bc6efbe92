"""GGUF files that we write ourselves, with the rows permuted as converters do, give the logits of the original."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import tokenizers
import torch

from constrained.errors import ModelFilesError, UnsupportedModel
from constrained.model import load_model
from constrained.model.gguf_file import GGUFFile
from constrained.model.gguf_tokenizer import tokenizer_from_gguf
from constrained.testing.tiny import TINY_CHAT_TEMPLATE, tiny_tokenizer, tiny_tokenizer_json

from .reference import assert_same_logits, our_logits, random_ids, transformers_logits, transformers_model

NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def pairs_together(rows: np.ndarray[Any, Any], num_heads: int) -> np.ndarray[Any, Any]:
    """Row order of GGUF: rotary pairs side by side, one head after the other; written out plainly."""
    half = rows.shape[0] // num_heads // 2
    order = [
        head * 2 * half + pair + part * half for head in range(num_heads) for pair in range(half) for part in (0, 1)
    ]
    return rows[order]


def write_gguf(path: Path, model: Any, *, quantised: bool = False, tokenizer: bool = True, **changes: Any) -> None:
    """Write transformers' ``model`` as a GGUF file; ``changes`` replace metadata, None leaves a key out."""
    config = model.config
    metadata: dict[str, Any] = {
        "llama.block_count": config.num_hidden_layers,
        "llama.context_length": config.max_position_embeddings,
        "llama.embedding_length": config.hidden_size,
        "llama.feed_forward_length": config.intermediate_size,
        "llama.attention.head_count": config.num_attention_heads,
        "llama.attention.head_count_kv": config.num_key_value_heads,
        "llama.attention.layer_norm_rms_epsilon": float(config.rms_norm_eps),
        "llama.rope.freq_base": 10000.0,
    }
    if tokenizer:
        document = tokenizers.Tokenizer.from_str(tiny_tokenizer_json())
        vocab = sorted(document.get_vocab(), key=document.get_vocab().__getitem__)
        vocab += [f"[PAD{index}]" for index in range(len(vocab), config.vocab_size)]
        merges = json.loads(tiny_tokenizer_json())["model"]["merges"]
        metadata |= {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "smollm",
            "tokenizer.ggml.tokens": vocab,
            "tokenizer.ggml.token_type": [3] * 3
            + [1] * (tiny_tokenizer().size - 3)
            + [5] * (len(vocab) - tiny_tokenizer().size),
            "tokenizer.ggml.merges": [" ".join(merge) for merge in merges],
            "tokenizer.ggml.bos_token_id": 1,
            "tokenizer.ggml.eos_token_id": 2,
            "tokenizer.chat_template": TINY_CHAT_TEMPLATE,
        }
    metadata |= {key.replace("__", "."): value for key, value in changes.items()}
    writer = gguf.GGUFWriter(str(path), metadata.pop("architecture", "llama"))
    for key, value in metadata.items():
        add_metadata(writer, key, value)
    for name, parameter in model.named_parameters():
        add_tensor(writer, name, parameter.detach().numpy(), config, quantised)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_metadata(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, list):
        writer.add_array(key, value)
    elif isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif value is not None:
        writer.add_string(key, value)


def add_tensor(writer: gguf.GGUFWriter, name: str, values: np.ndarray[Any, Any], config: Any, quantised: bool) -> None:
    parts = name.split(".")
    if parts[1] == "layers":
        short = NAMES[".".join(parts[3:-1])]
        if short in ("attn_q", "attn_k"):
            heads = config.num_attention_heads if short == "attn_q" else config.num_key_value_heads
            values = pairs_together(values, heads)
        name = f"blk.{parts[2]}.{short}.{parts[-1]}"
    else:
        tops = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
        name = f"{tops[name.removesuffix('.weight')]}.weight"
    kind = gguf.GGMLQuantizationType.Q8_0 if quantised and values.ndim == 2 else gguf.GGMLQuantizationType.F32
    writer.add_tensor(name, gguf.quantize(np.ascontiguousarray(values), kind), raw_dtype=kind)


def small(**fields: Any) -> Any:
    return transformers_model(vocab_size=400, hidden_size=64, intermediate_size=96, **fields)


@pytest.mark.parametrize(
    "fields",
    [{"tie_word_embeddings": True}, {"num_key_value_heads": 4}, {"attention_bias": True}, {"mlp_bias": True}],
    ids=str,
)
def test_same_logits(tmp_path: Path, fields: dict[str, Any]) -> None:
    reference = small(**fields)
    write_gguf(tmp_path / "model.gguf", reference)
    lines: list[str] = []
    loaded = load_model(tmp_path / "model.gguf", device="cpu", progress=lines.append)
    token_ids = random_ids(2, 30, vocab_size=400)
    assert_same_logits(our_logits(loaded.model, token_ids), transformers_logits(reference, token_ids))
    assert lines == ["reading model.gguf"]
    assert loaded.model.config.eos_token_ids == loaded.tokenizer.eos_token_ids == (2,)


def test_quantised(tmp_path: Path) -> None:
    reference = small()
    write_gguf(tmp_path / "model.gguf", reference, quantised=True)
    for parameter in reference.parameters():
        if parameter.dim() == 2:
            packed = gguf.quantize(parameter.detach().numpy(), gguf.GGMLQuantizationType.Q8_0)
            parameter.data = torch.from_numpy(gguf.dequantize(packed, gguf.GGMLQuantizationType.Q8_0))
    loaded = load_model(tmp_path / "model.gguf", device="cpu")
    token_ids = random_ids(2, 30, vocab_size=400)
    assert_same_logits(our_logits(loaded.model, token_ids), transformers_logits(reference, token_ids))


def test_linear_rope_scaling(tmp_path: Path) -> None:
    reference = small(rope_parameters={"rope_theta": 10000.0, "rope_type": "linear", "factor": 4.0})
    write_gguf(
        tmp_path / "model.gguf", reference, llama__rope__scaling__type="linear", llama__rope__scaling__factor=4.0
    )
    token_ids = random_ids(2, 30, vocab_size=400)
    loaded = load_model(tmp_path / "model.gguf", device="cpu")
    assert_same_logits(our_logits(loaded.model, token_ids), transformers_logits(reference, token_ids))


def test_tokenizer_is_the_original(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", small())
    tokenizer, original = load_model(tmp_path / "model.gguf", device="cpu").tokenizer, tiny_tokenizer()
    for text in ['{"name": " 123 the", "é": "日本"}\n', "a1b22  c333", "<|im_end|>[PAD390]"]:
        assert tokenizer.tokenize(text) == original.tokenize(text)
    messages = [{"role": "user", "content": " 42 the<|im_end|>"}]
    assert tokenizer.chat_prompt(messages) == original.chat_prompt(messages)
    assert tokenizer.token_bytes(390) == b""
    assert tokenizer.text_prompt("a") == original.tokenize("a")


def test_start_token_where_the_file_asks_for_it(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", small(), tokenizer__ggml__add_bos_token=True)
    tokenizer = load_model(tmp_path / "model.gguf", device="cpu").tokenizer
    assert tokenizer.text_prompt("the") == [1, *tiny_tokenizer().tokenize("the")]


def test_llama_3_cuts(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", small(), tokenizer__ggml__pre="llama-bpe")
    document = tokenizers.Tokenizer.from_str(tokenizer_from_gguf(GGUFFile(tmp_path / "model.gguf")))
    cuts = [piece for piece, _ in document.pre_tokenizer.pre_tokenize_str("We'll pay 12345 EUR!\n\n ok")]
    assert cuts == ["We", "'ll", "Ġpay", "Ġ", "123", "45", "ĠEUR", "!ĊĊ", "Ġok"]


def test_sentencepiece(tmp_path: Path) -> None:
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁a", "ab", "▁ab", "▁", "a", "b"]
    types = [2, 3, 3] + [6] * 256 + [1] * 6
    scores = [0.0] * 259 + [-1.0, -2.0, -3.0, -10.0, -11.0, -12.0]
    write_gguf(
        tmp_path / "model.gguf",
        small(),
        tokenizer=False,
        tokenizer__ggml__model="llama",
        tokenizer__ggml__tokens=pieces,
        tokenizer__ggml__token_type=types,
        tokenizer__ggml__scores=scores,
        tokenizer__ggml__bos_token_id=1,
        tokenizer__ggml__eos_token_id=2,
        tokenizer__ggml__unknown_token_id=0,
    )
    tokenizer = load_model(tmp_path / "model.gguf", device="cpu").tokenizer
    # "▁a" scores best, so "▁ab" is made of "▁a" + "b"; "é" falls back to its two bytes.
    assert tokenizer.tokenize("ab ab") == [261, 261]
    assert tokenizer.tokenize("bab") == [262, 264, 260]
    assert tokenizer.tokenize("é") == [262, 3 + 0xC3, 3 + 0xA9]
    assert tokenizer.text_prompt("ab") == [1, 261]
    assert tokenizer.tokenize("</s>")[0] == 262
    assert 2 not in tokenizer.tokenize("</s>")
    assert tokenizer.token_bytes(261) == b" ab"


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
PARTS = ["<", "s>", "u1", ">", "<u1", "a", "b", "ab"]  # out of which merges could make the tokens that are no text
NO_TEXT = [("<unk>", 2), ("<s>", 3), ("</s>", 3), ("<u1>", 5), ("abab", 5)]


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_unknown_control_and_unused_tokens_are_no_text_whatever_merges_would_make(tmp_path: Path, kind: str) -> None:
    plain = ["▁", *PARTS, *BYTES] if kind == "llama" else [*tiny_tokenizer_bytes(), "s>", "u1", "<u1", "ab"]
    tokens = [*(token for token, _ in NO_TEXT), *plain]
    types = [*(number for _, number in NO_TEXT), *(6 if token in BYTES else 1 for token in plain)]
    merges = ["< u1", "< s>", "s >", "u 1", "<u1 >", "a b", "ab ab"]
    order = {} if kind == "llama" else {"tokenizer__ggml__merges": merges}
    scores = {"tokenizer__ggml__scores": [-float(index) for index in range(len(tokens))]} if kind == "llama" else {}
    metadata = {"tokenizer__ggml__model": kind, "tokenizer__ggml__tokens": tokens, "tokenizer__ggml__token_type": types}
    metadata |= {"tokenizer__ggml__unknown_token_id": 0, "tokenizer__ggml__bos_token_id": 1}
    metadata |= {"tokenizer__ggml__eos_token_id": 2, **order, **scores}
    write_gguf(tmp_path / "model.gguf", small(), tokenizer=False, **metadata)
    tokenizer = load_model(tmp_path / "model.gguf", device="cpu").tokenizer
    vocabulary = tokenizer.vocabulary(400)
    for token_id, (token, _) in enumerate(NO_TEXT):
        assert vocabulary.tokens[token_id] is None
        assert tokenizer.token_bytes(token_id) == b""
        for text in (token, f"a{token}b", f" {token} "):
            ids = tokenizer.tokenize(text)
            assert not set(ids) & set(range(len(NO_TEXT)))
            assert tokenizer.detokenize(ids).strip() == text.strip()
    assert tokens.index("ab") in tokenizer.tokenize(" ab")
    assert vocabulary.tokens[tokens.index("ab")] == b"ab"


def tiny_tokenizer_bytes() -> list[str]:
    """The characters that stand for the 256 bytes."""
    vocab = json.loads(tiny_tokenizer_json())["model"]["vocab"]
    return [piece for piece in vocab if len(piece) == 1]


def test_types_of_other_tokens_than_there_are_are_told(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", small(), tokenizer__ggml__token_type=[1, 1])
    with pytest.raises(ModelFilesError, match="400 tokens, but the types of 2"):
        load_model(tmp_path / "model.gguf", device="cpu")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "qwen2"}, "GGUF architecture 'qwen2' is not supported; expected 'llama'"),
        ({"llama__expert_count": 8}, "mixtures of experts"),
        ({"llama__rope__scaling__type": "yarn"}, "rope scaling 'yarn'"),
        ({"llama__rope__dimension_count": 8}, "rotary embedding of 8 out of 16"),
        ({"tokenizer__ggml__model": "bert"}, "tokenizer of kind 'bert'"),
        ({"tokenizer__ggml__pre": "deepseek-llm"}, "pre-tokenizer 'deepseek-llm' is not supported"),
    ],
)
def test_refused_by_name(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    write_gguf(tmp_path / "model.gguf", small(), **changes)
    with pytest.raises(UnsupportedModel, match=message):
        load_model(tmp_path / "model.gguf", device="cpu")


def test_missing_parts_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path, small(), tokenizer=False)
    with pytest.raises(ModelFilesError, match="holds no tokenizer"):
        load_model(path, device="cpu")
    path.write_bytes(b"GGUF no more")
    with pytest.raises(ModelFilesError, match="not a readable GGUF file"):
        load_model(path, device="cpu")


def test_misfitting_metadata_is_named(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", small(), llama__block_count=3)
    with pytest.raises(ModelFilesError, match=r"missing: model\.layers\.2\."):
        load_model(tmp_path / "model.gguf", device="cpu")
