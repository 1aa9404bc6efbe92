"""A tiny seeded Llama of `transformers` with the tiny tokenizer, in a folder and in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import grammars
from constrained.testing.tiny import tiny_tokenizer, tiny_tokenizer_json


@pytest.fixture(scope="session")
def hf_model() -> Any:
    grammars.warm_up()
    torch.manual_seed(0)
    size = tiny_tokenizer().size + 5
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        eos_token_id=2,
        pad_token_id=0,
        bos_token_id=1,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="session")
def hf_tokenizer() -> Any:
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tiny_tokenizer_json()),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
    )


@pytest.fixture(scope="session")
def hf_folder(hf_model: Any, hf_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hf-model")
    hf_model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tiny_tokenizer_json(), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}', encoding="utf-8")
    return folder
