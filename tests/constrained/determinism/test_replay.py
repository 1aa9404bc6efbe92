"""Replays: what is the same is found the same, and each planted fault is named."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from constrained import choice, regex
from constrained.api import Model, load
from constrained.determinism import RunRecord, replay
from constrained.errors import RecordRefused
from constrained.model import CpuLlama, LoadedModel
from constrained.testing.tiny import tiny_llama, tiny_tokenizer

from .conftest import SCHEMA, Record


def edited(record: RunRecord, change: Any) -> RunRecord:
    """A record that was changed, and given the digest of what it became."""
    document = copy.deepcopy(dict(record.document))
    change(document)
    return RunRecord.seal(document)


@pytest.mark.parametrize("mode", ["auto", "rerun"])
@pytest.mark.parametrize(
    ("output_type", "options"),
    [
        (SCHEMA, {}),
        (SCHEMA, {"temperature": 0.0}),
        (None, {"top_p": 0.9, "stop": ("e",)}),
        (regex("[a-z]{3,9}( [a-z]{2,5}){2}"), {"top_k": 5, "min_p": 0.01}),
        (choice(["yes", "no", "never"]), {"logit_bias": {5: 1.5}}),
        (list[int], {"bad_words": ["12"], "repetition_penalty": 1.3}),
    ],
    ids=["schema", "greedy", "free", "regex", "choice", "bad words"],
)
def test_an_unchanged_run_is_identical(
    record: Record, model: Model, mode: Any, output_type: object, options: dict[str, Any]
) -> None:
    made = record(output_type=output_type, **options)
    found = replay(made, model, mode=mode)
    assert (found.exit_code, found.first, found.changes, found.failure) == (0, None, (), "")
    assert found.num_steps == len(made.document["steps"]) > 0
    assert found.record is not None
    assert found.record.text == made.text  # so a replay of the replay is identical, too


def test_verifying_takes_few_passes(record: Record, model: Model) -> None:
    made = record(output_type=None, max_tokens=200, temperature=2.0)
    found = replay(made, model)
    assert found.mode == "verify"
    assert found.num_passes is not None
    assert found.num_passes <= 2 + len(made.document["steps"]) // 64 + 1


def test_a_text_with_one_way_only_has_no_step(record: Record, model: Model) -> None:
    made = record(output_type=choice(["yes"]))
    assert made.document["steps"] == []
    assert replay(made, model).exit_code == 0


def test_a_bit_of_a_weight_is_found(record: Record, copied: Path) -> None:
    made = record()
    tensors = safetensors.torch.load_file(copied / "model.safetensors")
    weight = tensors["model.layers.1.mlp.down_proj.weight"].reshape(-1).view(torch.int32)
    weight[3] ^= 1 << 29  # of the exponent: the weight is another number by far
    safetensors.torch.save_file(tensors, copied / "model.safetensors")
    found = replay(made, load(copied, device="cpu", threads=1))
    assert found.exit_code in (2, 3)
    assert found.bits is not None
    assert (found.bits.step, found.bits.stage, found.bits.same_mask) == (0, "logits", True)
    assert found.cause == "input"
    assert [change.path for change in found.explained_by] == ["model.weights.digest"]


def test_a_bit_in_memory_is_found_without_an_input_to_blame(record: Record, folder: Path) -> None:
    other = load(folder, device="cpu", threads=1)
    made = record(model=other)
    _, weights = other.engine.model.held_arrays()[0]
    weights.view("u4")[7] ^= 1 << 28
    found = replay(made, other)
    assert found.exit_code in (2, 3)
    assert (found.cause, found.stage, found.changes) == ("logits", "logits", ())


def test_another_value_of_an_enum_is_found(record: Record, model: Model) -> None:
    made = record()
    changed = copy.deepcopy(SCHEMA)
    changed["properties"]["color"]["enum"][2] = "pink"
    found = replay(made, model, output_type=changed)
    first_of_color = next(
        index for index, step in enumerate(made.document["steps"]) if step["allowed"] <= 8 and step["position"] > 7
    )
    assert found.bits is not None
    assert (found.bits.step, found.bits.stage, found.bits.same_logits) == (first_of_color, "mask", True)
    assert (found.cause, [change.path for change in found.explained_by]) == ("input", ["output_type"])


def test_another_seed_is_found(record: Record, model: Model) -> None:
    made = record(output_type=None)
    found = replay(made, model, seed=6)
    assert found.exit_code == 3
    assert found.token is not None
    assert (found.token.stage, found.token.same_mask, found.token.same_logits) == ("sampler", True, True)
    assert found.bits == found.token
    assert (found.cause, [change.path for change in found.explained_by]) == ("input", ["request.sampling.seed"])


def test_another_type_of_weights_is_found(record: Record, folder: Path) -> None:
    made = record(temperature=0.0)
    found = replay(made, load(folder, device="cpu", weights="bf16", threads=1))
    assert found.exit_code in (2, 3)
    assert found.bits is not None
    assert (found.bits.step, found.bits.stage, found.cause) == (0, "logits", "input")
    assert [str(change) for change in found.explained_by] == ["numerics.weights: fp32 -> bf16"]


def test_an_edited_token_is_found(record: Record, model: Model) -> None:
    made = record(output_type=None)

    def edit(document: Any) -> None:
        step = document["steps"][4]
        step["token"] = step["best"][0][0] if step["best"][0][0] != step["token"] else step["best"][1][0]
        document["output"]["token_ids"][step["position"]] = step["token"]

    found = replay(edited(made, edit), model)
    assert (found.exit_code, found.cause) == (3, "sampler")
    assert found.token is not None
    assert (found.token.step, found.token.got_token) == (4, made.document["steps"][4]["token"])


def test_a_changed_chat_template_is_found(record: Record, copied: Path) -> None:
    made = record()
    template = copied / "chat_template.jinja"
    template.write_text("<|im_start|>system\nBe brief.<|im_end|>\n" + template.read_text(), encoding="utf-8")
    found = replay(made, load(copied, device="cpu", threads=1))
    assert found.exit_code in (2, 3)
    assert found.bits is not None
    assert (found.bits.step, found.cause, found.stage) == (0, "input", "input")
    assert {change.path for change in found.explained_by} == {"tokenizer.chat_template", "prompt.token_ids"}


def test_another_number_of_threads_is_named_in_native_mode(record: Record, tmp_path: Path) -> None:
    """Torch's own kernels cut sums by the number of threads where they are long enough."""
    sizes = {"hidden_size": 576, "intermediate_size": 1536, "num_attention_heads": 9, "num_key_value_heads": 3}
    llama = tiny_llama(head_dim=64, **sizes)
    native = Model(LoadedModel(llama, tiny_tokenizer(), "native"))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        made = record(model=native, output_type=None, max_tokens=12)
        assert replay(made, native).exit_code == 0
        torch.set_num_threads(2)
        found = replay(made, native)
    finally:
        torch.set_num_threads(before)
    assert [str(change) for change in found.changes] == ["numerics.threads: 1 -> 2"]
    if found.exit_code == 0:
        pytest.skip("on this machine two threads compute the same bits")
    assert (found.mode, found.stage, found.cause) == ("rerun", "logits", "input")


def test_threads_change_nothing_in_invariant_mode(record: Record, folder: Path) -> None:
    found = replay(record(), load(folder, device="cpu", threads=2))
    assert (found.exit_code, [str(change) for change in found.changes]) == (0, ["numerics.threads: 1 -> 2"])
    assert found.cause is None


def test_what_cannot_be_compared_is_refused(record: Record, model: Model) -> None:
    class Quiet:
        def __call__(self, context: object, logits: torch.Tensor) -> torch.Tensor:
            return logits * 0.5

    made = record(processors=[Quiet()])
    with pytest.raises(RecordRefused, match=r"processors of its caller's own \(Quiet\)"):
        replay(made, model)
    assert replay(made, model, processors=[Quiet()]).exit_code == 0
    other = Model(LoadedModel(CpuLlama.from_llama(tiny_llama(vocab_size=600)), tiny_tokenizer(), "other"))
    with pytest.raises(RecordRefused, match="another vocabulary"):
        replay(made, other, processors=[Quiet()])
    with pytest.raises(RecordRefused, match="does not hold the output type"):
        replay(edited(made, lambda document: document["output_type"].update(kind="opaque", shown="x")), model)


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**16),
    sizes=st.sampled_from([(1, 1), (4, 2), (6, 3)]),
    layers=st.integers(1, 3),
    temperature=st.sampled_from([0.0, 1.0, 3.0]),
)
def test_records_of_random_models_replay(
    tmp_path_factory: pytest.TempPathFactory, seed: int, sizes: tuple[int, int], layers: int, temperature: float
) -> None:
    """Digests are the same however the work is cut: token by token, in one pass, in a batch with others."""
    from constrained.batches import GenerationRequest

    heads, kv_heads = sizes
    llama = tiny_llama(seed, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads)
    model = Model(LoadedModel(CpuLlama.from_llama(llama), tiny_tokenizer(), "random"))
    path = tmp_path_factory.mktemp("records")
    options: dict[str, Any] = {"temperature": temperature, "seed": seed, "max_tokens": 20}
    model.generate("Tea?", None, record=path / "alone.json", **options)
    others = [GenerationRequest(text, None, **options) for text in ("How many?", "T")]
    model.generate_many([others[0], GenerationRequest("Tea?", record=path / "batch.json", **options), others[1]])
    alone, batch = (RunRecord.from_file(path / name) for name in ("alone.json", "batch.json"))
    assert alone.text == batch.text
    assert replay(alone, model, mode="verify").exit_code == 0
    assert replay(alone, model, mode="rerun").exit_code == 0


def test_the_watermark_is_named_and_its_key_is_not(record: Record, model: Model, tmp_path: Path) -> None:
    key = tmp_path / "key.txt"
    key.write_text("00112233445566778899aabbccddeeff")
    made = record(output_type=None, watermark={"scheme": "gumbel", "key_file": str(key)})
    assert made.document["watermark"]["key_id"] == "ae9fab59"
    assert "00112233" not in made.text
    assert replay(made, model).exit_code == 0
    key.unlink()
    with pytest.raises(Exception, match="key file"):
        replay(made, model)


def test_a_record_is_of_one_text_drawn_token_by_token(record: Record) -> None:
    for options in ({"n": 2}, {"sampling": "cars"}, {"temperature": 0.0, "num_beams": 2}):
        with pytest.raises(ValueError, match="a record is of one text, drawn token by token"):
            record(**options)


def test_the_record_names_what_loads_the_model_again(record: Record, folder: Path) -> None:
    assert record().document["model"]["origin"] == {
        "kind": "folder",
        "path": str(folder.resolve()),
        "hub_id": None,
        "revision": None,
    }
    assert json.loads(record().text)["model"]["weights"]["of"] == "files"
