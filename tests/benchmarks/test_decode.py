"""The decode benchmark runs from end to end on a tiny model, and says what it should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks import decode
from constrained.testing.tiny import TINY_CHAT_TEMPLATE, tiny_tokenizer, tiny_tokenizer_json
from tests.constrained.model.reference import transformers_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    transformers_model(vocab_size=tiny_tokenizer().size + 3, max_position_embeddings=1024).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(tiny_tokenizer_json(), encoding="utf-8")
    (tmp_path / "chat_template.jinja").write_text(TINY_CHAT_TEMPLATE, encoding="utf-8")
    return tmp_path


def test_runs_and_reports(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    try:
        decode.main(["--model", str(folder), "--tokens", "48", "--rounds", "1", "--prefill", "30", "--clock", "cpu"])
    finally:
        torch.set_num_threads(threads)
    *table, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    names = [row["row"] for row in result["rows"]]
    assert names[:3] == ["transformers generate", "forward pass, fp32", "forward pass, bf16"]
    assert len(table) == 1 + len(names) + 2 * len(result["passes"])
    for of_model in result["passes"]:
        assert of_model["pass_ratio"]["1"] == 1
        assert of_model["batch_gain"] > 0
        assert of_model["share_of_bandwidth"] > 0
    theirs, forward = result["rows"][:2]
    assert theirs["decode_ratio"] == theirs["prefill_ratio"] == 1.0
    assert forward["same_ids"]
    for row in result["rows"]:
        if row["row"] == "free":  # a random model may end its text at once
            continue
        low, high = row["decode_range"]
        assert 0 < low <= row["decode_tokens_per_s"] <= high
