"""transformers' watermarks: its lists and bits without torch, its texts found by ours, ours by its detector."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.generation import (
    SynthIDTextWatermarkingConfig,
    SynthIDTextWatermarkLogitsProcessor,
    WatermarkDetector,
    WatermarkingConfig,
)
from transformers.generation.logits_process import WatermarkLogitsProcessor

from constrained.errors import WatermarkError
from constrained.loop import Engine, Request, generate
from constrained.sampling_config import SamplingConfig
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from constrained.watermark import WatermarkConfig
from constrained.watermark.interop import detect_lefthash, detect_synthid, synthid_g_values
from constrained.watermark.lefthash import left_green_ids

HASHING_KEY = 15485863
ENGINE = Engine.from_model(tiny_llama(), tiny_tokenizer())
SIZE = ENGINE.vocabulary.size


@settings(max_examples=60, deadline=None)
@given(
    previous=st.integers(0, 49_151),
    vocab_size=st.integers(2, 3000),
    gamma=st.sampled_from([0.25, 0.5, 0.1]),
    hashing_key=st.sampled_from([HASHING_KEY, 1, 2**33 + 5, 2**63 - 25]),
)
def test_lists_are_transformers_own(previous: int, vocab_size: int, gamma: float, hashing_key: int) -> None:
    previous %= vocab_size
    processor = WatermarkLogitsProcessor(vocab_size, "cpu", gamma, 2.0, hashing_key, "lefthash", 1)
    expected = processor._get_greenlist_ids(torch.tensor([previous]))
    ours = left_green_ids(previous, vocab_size=vocab_size, gamma=gamma, hashing_key=hashing_key)
    assert ours.tolist() == expected.tolist()


def marked_by_us(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The last token of the prompt, and a text after it."""
    monkeypatch.setenv("MARK", str(HASHING_KEY))
    marks = WatermarkConfig(scheme="lefthash", key_env="MARK", context_width=1)
    request = Request(prompt_ids=[40], sampling=SamplingConfig(temperature=1.0, watermark=marks), max_tokens=150)
    return [40, *generate(ENGINE, request).token_ids]


def marked_by_transformers() -> list[int]:
    processor = WatermarkLogitsProcessor(SIZE, "cpu", 0.25, 2.0, HASHING_KEY, "lefthash", 1)
    generator = torch.Generator().manual_seed(3)
    ids = [40]
    for _ in range(150):
        logits = torch.randn(1, SIZE, generator=generator) * 2
        chances = processor(torch.tensor([ids]), logits).softmax(-1)
        ids.append(int(torch.multinomial(chances, 1, generator=generator)))
    return ids


def test_both_detectors_count_alike_in_texts_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    config = WatermarkingConfig(greenlist_ratio=0.25, bias=2.0, hashing_key=HASHING_KEY, seeding_scheme="lefthash")
    model_config = SimpleNamespace(vocab_size=SIZE, is_encoder_decoder=False, bos_token_id=0)
    for ids in (marked_by_us(monkeypatch), marked_by_transformers()):
        for ignore in (False, True):
            theirs = WatermarkDetector(model_config, "cpu", config, ignore_repeated_ngrams=ignore)(
                torch.tensor([ids]), return_dict=True
            )
            ours = detect_lefthash(ids, vocab_size=SIZE, hashing_key=HASHING_KEY, ignore_repeated_ngrams=ignore)
            assert (ours.num_scored, ours.statistic) == (
                int(theirs.num_tokens_scored[0]),
                float(theirs.num_green_tokens[0]),
            )
            assert ours.z_score == pytest.approx(float(theirs.z_score[0]))
            assert ours.p_value < 1e-6
            assert bool(theirs.prediction[0])
    assert detect_lefthash(marked_by_transformers(), vocab_size=SIZE, hashing_key=7).p_value > 1e-4


KEYS = [654, 400, 836, 123, 340, 443, 597, 160, 57, 29, 590, 639, 13, 715, 468, 990, 966, 226, 324, 585]


@pytest.mark.parametrize("table_size", [2**16, 1000])
def test_synthid_bits_are_transformers_own(table_size: int) -> None:
    config = {"ngram_len": 5, "keys": KEYS, "sampling_table_seed": 0, "sampling_table_size": table_size}
    processor = SynthIDTextWatermarkLogitsProcessor(
        5, KEYS, sampling_table_size=table_size, sampling_table_seed=0, context_history_size=1024, device="cpu"
    )
    ids = np.random.Generator(np.random.Philox(5)).integers(0, 50_000, 60)
    expected = processor.compute_g_values(torch.tensor([ids.tolist()]))[0]
    assert synthid_g_values(ids.tolist(), config).tolist() == expected.tolist()
    theirs = SynthIDTextWatermarkingConfig(keys=KEYS, ngram_len=5, sampling_table_size=table_size)
    assert synthid_g_values(ids.tolist(), theirs).tolist() == expected.tolist()
    with pytest.raises(WatermarkError, match="which has no 'ngram_len'"):
        synthid_g_values(ids.tolist(), {})


def test_synthid_texts_of_transformers_are_found() -> None:
    config = {"ngram_len": 5, "keys": KEYS}
    processor = SynthIDTextWatermarkLogitsProcessor(
        5, KEYS, sampling_table_size=2**16, sampling_table_seed=0, context_history_size=1024, device="cpu"
    )
    generator = torch.Generator().manual_seed(4)
    ids = [1, 2, 3, 4]
    for _ in range(80):
        logits = torch.randn(1, 400, generator=generator) * 2
        chances = processor(torch.tensor([ids]), logits).softmax(-1)
        ids.append(int(torch.multinomial(chances, 1, generator=generator)))
    found = detect_synthid(ids[4:], config)
    assert found.num_scored == 76
    assert found.p_value < 1e-6
    assert detect_synthid(ids[4:], config | {"keys": [key + 1000 for key in KEYS]}).p_value > 1e-4
    with pytest.raises(WatermarkError, match="expected at least ngram_len=5 tokens, got 3"):
        detect_synthid([1, 2, 3], config)
