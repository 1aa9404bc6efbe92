"""Whole texts with a watermark: over keys they follow the law that they follow without, alone and among others."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import pytest

from constrained import GenerationRequest
from constrained.api import Model
from constrained.loop import generate
from constrained.model import LoadedModel
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from constrained.watermark import WatermarkConfig
from grammars.jit import CHECKED

from . import toy


def masked_law() -> dict[toy.Text, float]:
    """The law of local masking, by enumeration: every token among those allowed; cut off where no more may follow."""
    law: dict[toy.Text, float] = {}
    for size in range(toy.MOST + 1):
        for text in itertools.product(range(3), repeat=size):
            matcher, chance = toy.ToyMatcher(), 1.0
            for place, token_id in enumerate((*text, toy.END) if size < toy.MOST else text):
                allowed = [other for other in range(4) if matcher.allows(other)]
                weights = toy.chances(text[:place])
                if token_id not in allowed:
                    chance = 0.0
                    break
                chance *= weights[token_id] / sum(weights[other] for other in allowed)
                matcher.ids.append(token_id)
            if chance:
                law[text] = chance
    return law


@pytest.mark.skipif(CHECKED, reason="600 texts are slow without machine code")
@pytest.mark.parametrize("scheme", ["gumbel", "synthid"])
def test_over_keys_whole_texts_are_not_distorted(scheme: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    law, number = masked_law(), 600
    assert sum(law.values()) == pytest.approx(1.0)
    counts: Counter[toy.Text] = Counter()
    for key in range(number):
        monkeypatch.setenv("MARK", f"{key:032x}")
        marks = WatermarkConfig(scheme=scheme, key_env="MARK")
        counts[generate(toy.ENGINE, toy.request(watermark=marks, seed=key)).token_ids] += 1
    assert toy.total_variation(counts, law) < 2.5 * toy.noise_floor(law, number)
    assert math.isclose(sum(counts.values()), number)


@pytest.mark.parametrize("scheme", ["gumbel", "kgw", "synthid"])
def test_marked_texts_are_the_same_alone_and_among_others(scheme: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a batch, with drafts and without: marks belong to the text."""
    monkeypatch.setenv("MARK", "00" * 16)
    model = Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}, "required": ["name"]}
    options: Any = {"temperature": 1.0, "max_tokens": 30, "watermark": WatermarkConfig(scheme=scheme, key_env="MARK")}
    prompts = ["name", "the name and the age", "hi"]
    alone = [model.generate(prompt, schema, seed=3, **options).token_ids for prompt in prompts]
    many = model.generate_many(GenerationRequest(prompt, schema, seed=3, **options) for prompt in prompts)
    assert [outcome.result.token_ids for outcome in many] == alone
    assert [model.generate(prompt, schema, seed=3, drafts=0, **options).token_ids for prompt in prompts] == alone
