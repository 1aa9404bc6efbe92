"""Our grammars in `model.generate` of the released `transformers`, and its models behind our API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import constrained
from constrained.errors import DeadEnd, UnsupportedModel, UnsupportedOutputType
from constrained.integrations.transformers import GrammarProcessor
from constrained.integrations.transformers_model import TransformersModel
from constrained.testing.judge import JsonschemaJudge
from grammars import Matcher

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 8}, "kind": {"enum": ["a", "bb", "ccc"]}},
    "required": ["name", "kind"],
    "additionalProperties": False,
}
GUARDED = {"type": "array", "items": {"type": "integer", "maximum": 9999}, "uniqueItems": True, "maxItems": 3}
JUDGE = JsonschemaJudge(SCHEMA)


def processor_for(output_type: Any, model: Any, tokenizer: Any, **options: Any) -> GrammarProcessor:
    return GrammarProcessor.from_output_type(
        output_type, tokenizer, vocab_size=model.config.vocab_size, whitespace="compact", **options
    )


def texts_of(outputs: Tensor, start: int, tokenizer: Any) -> list[str]:
    return list(tokenizer.batch_decode(outputs[:, start:], skip_special_tokens=True))


@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": False},
        {"do_sample": True, "temperature": 1.3, "top_k": 0},
        {"do_sample": True, "top_p": 0.9, "num_return_sequences": 3},
        {"num_beams": 3, "num_return_sequences": 2, "do_sample": False},
    ],
    ids=["greedy", "sampled", "several", "beams"],
)
def test_whatever_generate_does_finished_text_is_valid(
    options: dict[str, Any], hf_model: Any, hf_tokenizer: Any
) -> None:
    processor = processor_for(SCHEMA, hf_model, hf_tokenizer)
    inputs = hf_tokenizer(["Write: ", "Once upon a time, "], return_tensors="pt", padding=True)
    torch.manual_seed(1)
    for _ in range(2):  # the second generation begins anew by itself
        outputs = hf_model.generate(**inputs, logits_processor=[processor], max_new_tokens=80, **options)
        for text in texts_of(outputs, inputs["input_ids"].shape[1], hf_tokenizer):
            assert JUDGE.takes(text), text


def test_rows_of_a_batch_are_what_they_are_alone(hf_model: Any, hf_tokenizer: Any) -> None:
    processor = processor_for(SCHEMA, hf_model, hf_tokenizer)
    prompts = ["one", "seven eight"]

    def run(texts: list[str]) -> list[str]:
        inputs = hf_tokenizer(texts, return_tensors="pt", padding=True)
        outputs = hf_model.generate(**inputs, logits_processor=[processor], max_new_tokens=80, do_sample=False)
        return texts_of(outputs, inputs["input_ids"].shape[1], hf_tokenizer)

    assert run(prompts) == [run([prompt])[0] for prompt in prompts]


def test_what_cannot_look_ahead_is_refused_by_name_or_raises(hf_model: Any, hf_tokenizer: Any) -> None:
    with pytest.raises(UnsupportedOutputType, match='backend="transformers"'):
        processor_for(GUARDED, hf_model, hf_tokenizer)
    processor = processor_for(GUARDED, hf_model, hf_tokenizer, dead_ends="raise")
    ids = hf_tokenizer("x", return_tensors="pt")["input_ids"]
    scores = processor(ids, torch.zeros(1, hf_model.config.vocab_size))
    assert torch.isfinite(scores).any()
    with pytest.raises(ValueError, match="dead_ends"):
        processor_for(SCHEMA, hf_model, hf_tokenizer, dead_ends="ignore")


def test_a_dead_end_is_raised(hf_model: Any, hf_tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = processor_for(GUARDED, hf_model, hf_tokenizer, dead_ends="raise")
    scores = torch.zeros(1, hf_model.config.vocab_size)
    processor(torch.tensor([[0]]), scores)
    monkeypatch.setattr(Matcher, "fill_next_token_bitmask", lambda matcher, bitmask, row=0: bitmask.fill(0))
    with pytest.raises(DeadEnd, match="cannot take tokens back"):
        processor(torch.tensor([[0, *hf_tokenizer("[")["input_ids"]]]), scores)


def test_scores_of_another_width_and_ids_that_were_masked_are_told(hf_model: Any, hf_tokenizer: Any) -> None:
    processor = processor_for(bool, hf_model, hf_tokenizer)
    with pytest.raises(ValueError, match="vocab_size=model"):
        processor(torch.tensor([[1]]), torch.zeros(1, 7))
    size = hf_model.config.vocab_size
    given = torch.zeros(1, size)
    processor(torch.tensor([[1]]), given)
    assert torch.equal(given, torch.zeros(1, size))
    with pytest.raises(ValueError, match="another processor"):
        processor(torch.tensor([[1, 3]]), given)


def test_the_same_api_over_a_model_of_the_library(hf_folder: Path, hf_model: Any, hf_tokenizer: Any) -> None:
    model = constrained.load(hf_folder, backend="transformers", device="cpu")
    own = constrained.load(hf_folder, device="cpu")
    for seed in range(3):
        options: dict[str, Any] = {"chat": False, "temperature": 0.8, "seed": seed, "max_tokens": 120}
        theirs = model.generate("Write: ", SCHEMA, **options)
        assert theirs.complete
        assert JUDGE.takes(theirs.text)
        assert theirs.token_ids == own.generate("Write: ", SCHEMA, **options).token_ids
    unique = model.generate("Write: ", GUARDED, chat=False, temperature=1.0, seed=3)
    assert len(set(unique.value)) == len(unique.value)
    assert json.loads("".join(model.stream("Write: ", SCHEMA, chat=False)))


def test_what_the_backend_does_not_do_is_refused(hf_folder: Path, hf_model: Any) -> None:
    with pytest.raises(ValueError, match="weights, numerics"):
        constrained.load(hf_folder, backend="transformers", weights="int8")
    with pytest.raises(ValueError, match="backend"):
        constrained.load(hf_folder, backend="theirs")  # type: ignore[arg-type]

    class Stateful:
        _is_stateful = True

    with pytest.raises(UnsupportedModel, match="Stateful"):
        TransformersModel(Stateful())
