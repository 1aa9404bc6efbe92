"""The API on the embedded default model: the documents and the scripts of ``examples/``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jsonschema import Draft202012Validator, FormatChecker

import constrained
from constrained.api import Model
from constrained.model import LoadedModel
from constrained.processors import StepContext
from constrained.result import ForcedMode

pytestmark = pytest.mark.real_model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DOCUMENTS = sorted(path.stem for path in EXAMPLES.glob("*.txt"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_example_is_extracted_as_its_schema_says(real_model: Model, name: str) -> None:
    schema = (EXAMPLES / f"{name}.schema.json").read_text(encoding="utf-8")
    text = (EXAMPLES / f"{name}.txt").read_text(encoding="utf-8")
    result = real_model.extract(text, schema)
    assert result.complete
    validator = Draft202012Validator(json.loads(schema), format_checker=FormatChecker())
    assert [error.message for error in validator.iter_errors(result.value)] == []
    assert list(result.value) == list(json.loads(schema)["properties"])


def test_the_invoice_is_read_rightly_where_a_small_model_can(real_model: Model) -> None:
    schema = constrained.fields_schema("invoice_number: str, date: date, due_date: date")
    value = real_model.extract((EXAMPLES / "invoice.txt").read_text(encoding="utf-8"), schema).value
    assert value == {"invoice_number": "KV-2093", "date": "2026-03-12", "due_date": "2026-04-11"}


def test_free_text_and_its_stream_are_the_same(real_model: Model) -> None:
    prompt = "What is the capital of France?"
    whole = real_model.generate(prompt, max_tokens=20)
    stream = real_model.stream(prompt, max_tokens=20)
    assert "".join(stream) == whole.text
    assert "Paris" in whole.text
    assert stream.result.token_ids == whole.token_ids


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_script_runs(real_model: Model, name: str) -> None:
    assert real_model.name
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=False, timeout=300, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_greedy_ids_are_the_same_however_the_loop_runs(real_model: Model) -> None:
    """With forced="exact", drafts, a prefix cache, cut prompts and neighbours, where logits are 1e-4 apart."""
    llama: Any = real_model.engine.model
    bare = Model(LoadedModel(llama, real_model.tokenizer, "bare"), max_prefix_bytes=0)
    document = "Kettle & Vane, 12 Harbour Road. Invoice 2041 of 2024-03-01. Two kettles. Total: 100.00 EUR."
    fields = constrained.fields_schema("vendor: str, number: str, total: float")
    options: dict[str, Any] = {"max_tokens": 60}
    gaps = Gaps()
    off = bare.extract(document, fields, drafts=0, forced="off", processors=[gaps], **options)
    canonical = bare.extract(document, fields, drafts=0, **options)
    assert gaps.least > 1e-4, "the two best logits are too near each other to compare; take another document"
    for model in (bare, real_model, real_model):  # the second time, the prompt is in the cache
        assert model.extract(document, fields, forced="exact", **options).token_ids == off.token_ids
    ways: list[tuple[ForcedMode, int]] = [("exact", 0), ("exact", 5), ("canonical", 8)]
    asked = [
        real_model.extraction(text, fields, forced=forced, drafts=drafts, **options)
        for text in (document + " Thank you.", document, "Dear Ms Mendes, lamps: 64.20 EUR. Lumen Ltd.")
        for forced, drafts in ways
    ]
    together = [outcome.result.token_ids for outcome in real_model.generate_many(asked, batch_size=4)]
    assert together[3:6] == [off.token_ids, off.token_ids, canonical.token_ids]


class Gaps:
    """Notes how far the two best allowed logits of each step are apart."""

    def __init__(self) -> None:
        self.least = float("inf")

    def __call__(self, context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        bits = (context.token_bitmask[0, :, None] >> np.arange(32)) & 1
        allowed = torch.from_numpy(bits.reshape(-1)[: context.vocab_size].astype(bool))
        best = logits[0, allowed].sort(descending=True).values
        if len(best) > 1:
            self.least = min(self.least, float(best[0] - best[1]))
        return logits
