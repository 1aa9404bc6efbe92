"""Models from folders and from the hub: what loads, and what the errors say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file

from constrained.errors import ModelFilesError, ModelUnavailable, UnsupportedModel
from constrained.model import load_model
from constrained.testing.tiny import tiny_tokenizer_json

from .reference import assert_same_logits, our_logits, random_ids, transformers_logits, transformers_model


@pytest.fixture
def reference() -> Any:
    return transformers_model(tie_word_embeddings=True, vocab_size=400)


@pytest.fixture
def folder(tmp_path: Path, reference: Any) -> Path:
    """A folder as `save_pretrained` writes it, with a tokenizer."""
    reference.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(tiny_tokenizer_json(), encoding="utf-8")
    return tmp_path


def test_folder(folder: Path, reference: Any) -> None:
    loaded = load_model(folder, device="cpu")
    token_ids = random_ids(1, 20)
    assert loaded.name == str(folder)
    assert (loaded.model.dtype, loaded.model.device, loaded.model.vocab_size) == (
        torch.float32,
        torch.device("cpu"),
        400,
    )
    assert_same_logits(our_logits(loaded.model, token_ids), transformers_logits(reference, token_ids))


def test_sharded_folder(folder: Path, reference: Any) -> None:
    (folder / "model.safetensors").unlink()
    reference.save_pretrained(folder, max_shard_size="20KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    token_ids = random_ids(1, 20)
    loaded = load_model(str(folder), device="cpu")
    assert_same_logits(our_logits(loaded.model, token_ids), transformers_logits(reference, token_ids))
    next(folder.glob("model-00002-*.safetensors")).unlink()
    with pytest.raises(ModelUnavailable, match="the index lists files that are missing: model-00002"):
        load_model(folder, device="cpu")


def test_stored_in_bfloat16(folder: Path, reference: Any) -> None:
    for parameter in reference.parameters():  # not .to(), which would round the rotary frequencies too
        parameter.data = parameter.data.to(torch.bfloat16)
    reference.save_pretrained(folder)
    for parameter in reference.parameters():
        parameter.data = parameter.data.float()
    loaded = load_model(folder, device="cpu")
    assert loaded.model.dtype == torch.float32
    token_ids = random_ids(1, 20)
    assert_same_logits(our_logits(loaded.model, token_ids), transformers_logits(reference, token_ids))
    assert load_model(folder, device="cpu", dtype="bfloat16").model.weights == "bf16"


def test_end_tokens_of_all_files(folder: Path) -> None:
    (folder / "generation_config.json").write_text('{"eos_token_id": [5, 2]}', encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|endoftext|>"}', encoding="utf-8")
    assert load_model(folder, device="cpu").tokenizer.eos_token_ids == (5, 2, 0)


def change_weights(folder: Path, *, drop: tuple[str, ...] = (), **add: torch.Tensor) -> None:
    path = folder / "model.safetensors"
    tensors = {name: value for name, value in load_file(path).items() if name not in drop}
    save_file(tensors | {name.replace("__", "."): value for name, value in add.items()}, path)


def test_weights_that_do_not_fit_are_all_named(folder: Path) -> None:
    change_weights(
        folder,
        drop=("model.norm.weight", "model.layers.1.mlp.up_proj.weight"),
        extra__weight=torch.zeros(3),
        model__layers__0__self_attn__k_proj__weight=torch.zeros(5, 32),
    )
    with pytest.raises(ModelFilesError) as caught:
        load_model(folder, device="cpu")
    message = str(caught.value)
    assert "missing: model.layers.1.mlp.up_proj.weight, model.norm.weight" in message
    assert "not expected: extra.weight" in message
    assert "model.layers.0.self_attn.k_proj.weight (expected (16, 32), got (5, 32))" in message


def test_many_missing_weights_are_counted(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 9}), encoding="utf-8")
    with pytest.raises(ModelFilesError, match="and 51 more"):
        load_model(folder, device="cpu")


def test_redundant_weights_of_old_checkpoints_are_fine(folder: Path) -> None:
    change_weights(
        folder,
        model__layers__0__self_attn__rotary_emb__inv_freq=torch.zeros(4),
        lm_head__weight=torch.zeros(400, 32),
    )
    assert load_model(folder, device="cpu").model.vocab_size == 400


def test_pickled_weights_are_not_read(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match=r"found .*pytorch_model\.bin.*pickled weights .* are not read"):
        load_model(folder, device="cpu")


def test_damaged_weights(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[:-10])
    with pytest.raises(ModelFilesError, match=r"model\.safetensors: not a readable safetensors file"):
        load_model(folder, device="cpu")


def test_other_architecture(folder: Path) -> None:
    (folder / "config.json").write_text('{"architectures": ["GPT2LMHeadModel"]}', encoding="utf-8")
    with pytest.raises(UnsupportedModel, match="'GPT2LMHeadModel' is not supported; expected one of LlamaForCausalLM"):
        load_model(folder, device="cpu")


def test_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"config\.json is missing"):
        load_model(tmp_path, device="cpu")


def test_other_file(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"")
    with pytest.raises(UnsupportedModel, match=r"expected a folder with safetensors or a \.gguf file"):
        load_model(path, device="cpu")


@pytest.mark.parametrize("source", ["./no/such/folder", "nowhere", "a/b/c", Path("x/y")])
def test_neither_path_nor_hub_id(source: str | Path) -> None:
    with pytest.raises(ModelUnavailable, match="no such folder or file, and not a hub id"):
        load_model(source, device="cpu")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "tpu"}, "device: expected auto, cpu, cuda or cuda:N, got 'tpu'"),
        ({"dtype": "float16"}, "dtype: expected auto, float32 or bfloat16, got 'float16'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_model(**options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is here")
def test_absent_cuda_is_named() -> None:
    with pytest.raises(ValueError, match="torch finds no CUDA here"):
        load_model(device="cuda")


@pytest.mark.parametrize("revision", [None, "1a2b3c"])
def test_hub_id(folder: Path, monkeypatch: pytest.MonkeyPatch, revision: str | None) -> None:
    asked: list[tuple[str, str | None, list[str]]] = []

    def download(hub_id: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((hub_id, revision, allow_patterns))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    lines: list[str] = []
    name = "some-one/some_model.v1" + (f"@{revision}" if revision else "")
    loaded = load_model(name, device="cpu", progress=lines.append)
    assert loaded.name == name
    assert lines == [f"fetching {name} from the hub"]
    assert asked[0][:2] == ("some-one/some_model.v1", revision)
    assert "*.bin" not in asked[0][2]


def test_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(hub_id: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        raise huggingface_hub.errors.LocalEntryNotFoundError("no connection")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(ModelUnavailable, match=r"(?s)the hub did not give it: .*no connection.*pass its folder"):
        load_model("some-one/some-model", device="cpu")
