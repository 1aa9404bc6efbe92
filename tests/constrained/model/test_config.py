"""Configurations are read as transformers reads them; what we do not compute is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig as TransformersLlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from constrained.errors import ModelFilesError, UnsupportedModel
from constrained.model import LlamaConfig
from constrained.model.config import RopeScaling
from constrained.model.rope import RotaryTables, inverse_frequencies
from constrained.testing.tiny import tiny_config

LLAMA_2 = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "rms_norm_eps": 1e-05,
    "vocab_size": 32000,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "max_position_embeddings": 4096,
}
LLAMA_3_1 = LLAMA_2 | {
    "eos_token_id": [128001, 128008, 128009],
    "num_key_value_heads": 8,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
    "max_position_embeddings": 131072,
    "vocab_size": 128256,
}
MISTRAL = LLAMA_2 | {
    "architectures": ["MistralForCausalLM"],
    "head_dim": 160,
    "num_key_value_heads": 8,
    "sliding_window": None,
}


def test_defaults_of_old_configs() -> None:
    config = LlamaConfig.from_mapping(LLAMA_2)
    assert (config.num_key_value_heads, config.head_dim, config.rope_theta) == (32, 128, 10000.0)
    assert (config.tie_word_embeddings, config.rope_scaling, config.sliding_window) == (False, None, None)
    assert config.eos_token_ids == (2,)


def test_llama_3_1() -> None:
    config = LlamaConfig.from_mapping(LLAMA_3_1)
    assert config.num_query_groups == 4
    assert config.rope_scaling == RopeScaling(rope_type="llama3", factor=8.0, original_max_position_embeddings=8192)
    assert config.eos_token_ids == (128001, 128008, 128009)


def test_mistral() -> None:
    config = LlamaConfig.from_mapping(MISTRAL)
    assert (config.head_dim, config.sliding_window) == (160, None)
    without = {key: value for key, value in MISTRAL.items() if key != "sliding_window"}
    assert LlamaConfig.from_mapping(without).sliding_window == 4096


def test_architecture_from_the_model_type() -> None:
    data: dict[str, Any] = {**LLAMA_2, "architectures": None, "model_type": "mistral"}
    assert LlamaConfig.from_mapping(data).architecture == "MistralForCausalLM"


@pytest.mark.parametrize(
    "config",
    [
        LlamaConfig.from_mapping(LLAMA_2),
        LlamaConfig.from_mapping(LLAMA_3_1),
        LlamaConfig.from_mapping(MISTRAL),
        tiny_config(rope_scaling=RopeScaling(rope_type="linear", factor=2.5), attention_bias=True, mlp_bias=True),
    ],
)
def test_written_configs_read_the_same(config: LlamaConfig) -> None:
    assert LlamaConfig.from_mapping(config.to_mapping()) == config


@pytest.mark.parametrize("data", [LLAMA_2, LLAMA_3_1], ids=["plain", "llama3"])
def test_rotary_tables_are_those_of_transformers(data: dict[str, Any]) -> None:
    config = LlamaConfig.from_mapping(data)
    theirs = LlamaRotaryEmbedding(TransformersLlamaConfig(**data))
    torch.testing.assert_close(inverse_frequencies(config), theirs.inv_freq, rtol=1e-6, atol=0)
    positions = torch.arange(300)
    their_cos, their_sin = theirs(torch.zeros(1), positions[None])
    cos, sin = RotaryTables(config).slice(0, 300, device=torch.device("cpu"), dtype=torch.float32)
    torch.testing.assert_close(cos[:, 0], their_cos[0], rtol=0, atol=2e-5)
    torch.testing.assert_close(sin[:, 0, 64:], their_sin[0, :, 64:], rtol=0, atol=2e-5)
    assert torch.equal(sin[:, 0, :64], -sin[:, 0, 64:])


def test_rotary_tables_do_not_depend_on_how_they_grew() -> None:
    config = LlamaConfig.from_mapping(LLAMA_3_1)
    where: dict[str, Any] = {"device": torch.device("cpu"), "dtype": torch.float32}
    grown, at_once = RotaryTables(config), RotaryTables(config)
    for stop in (1, 600, 1500):
        grown.slice(0, stop, **where)
    for one, other in zip(grown.slice(0, 5000, **where), at_once.slice(0, 5000, **where), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(RotaryTables(config).slice(3, 9, **where)[0], at_once.slice(3, 9, **where)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"architectures": ["Qwen2ForCausalLM"]},
            "'Qwen2ForCausalLM' is not supported; expected one of LlamaForCausalLM",
        ),
        ({"architectures": None, "model_type": "gpt2"}, "'gpt2' is not supported"),
        ({"architectures": None}, "'None' is not supported"),
        ({"hidden_act": "gelu"}, "hidden_act='gelu'"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantised by 'gptq'"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rope_type 'dynamic' is not supported"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "rope_type 'yarn' is not supported"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
    ],
)
def test_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedModel, match=message):
        LlamaConfig.from_mapping({**LLAMA_2, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": None}, "hidden_size: expected an integer, got None"),
        ({"vocab_size": "many"}, "vocab_size: expected an integer, got 'many'"),
        ({"num_hidden_layers": 0}, "num_hidden_layers: expected at least 1, got 0"),
        ({"num_key_value_heads": 5}, "not a multiple of num_key_value_heads=5"),
        ({"num_attention_heads": 3}, "head_dim: expected an integer, got None"),
        ({"head_dim": 7}, "head_dim=7 is odd"),
        ({"eos_token_id": "2"}, "eos_token_id: expected an integer or a list"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "needs low_freq_factor, high_freq_factor"),
    ],
)
def test_senseless_fields_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFilesError, match=message):
        LlamaConfig.from_mapping({**LLAMA_2, **change})


@pytest.mark.parametrize(("text", "message"), [("{", "not valid JSON"), ("[]", "expected a JSON object, got list")])
def test_broken_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelFilesError, match=message):
        LlamaConfig.from_file(path)
