"""The API on the embedded default model: the documents and the scripts of ``examples/``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, FormatChecker

import constrained
from constrained.api import Model

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
