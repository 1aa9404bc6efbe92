"""From schema to text, all parts together: whatever the logits, what is written is in the language and valid."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from benchmarks.quality_documents import LabelledDocument, bounded, load_documents
from constrained.api import Model
from constrained.loop import Engine, Request, generate
from constrained.processors import StepContext
from constrained.result import ForcedMode, GenerationResult
from constrained.sampling_config import SamplingConfig
from constrained.testing.strategies.schemas import json_schemas
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from grammars import UnsatisfiableGrammar, UnsupportedSchema, compile_ir
from grammars.frontends.json_schema import lower_json_schema
from grammars.ir import IR
from tests.reference.completion import completion
from tests.reference.recogniser import Recogniser

ENGINE = Engine.from_model(tiny_llama(num_hidden_layers=1), tiny_tokenizer())
PROMPT = tiny_tokenizer().chat_prompt([{"role": "user", "content": "the value"}])
MAX_TOKENS = 200
LAYOUTS = ("indent=2", "spaced", "compact", "flexible", "any")
MODES: tuple[ForcedMode, ...] = ("canonical", "exact", "off")
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


class RandomLogits:
    """Puts noise in place of the model's logits; ``closing`` is added for tokens that tend to end things."""

    def __init__(self, seed: int, *, scale: float, closing: float) -> None:
        self._seed = seed
        self._scale = scale
        self._bonus = torch.tensor(
            [closing * (token is None or token[:1] in (b'"', b"}", b"]")) for token in ENGINE.vocabulary.tokens]
        )

    def __call__(self, context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator().manual_seed(1_000 * self._seed + context.positions[0])
        return torch.randn(logits.shape, generator=generator) * self._scale + self._bonus


def repeated(schema: Any) -> Any:
    """A long array of what the schema allows, so that generations are cut off in the middle of things."""
    items = dict(schema) if isinstance(schema, dict) else {"allOf": [schema]}
    definitions = {"$defs": items.pop("$defs")} if "$defs" in items else {}
    return {"type": "array", "items": items, "minItems": 60, **definitions}


def exact(digits: str) -> int | Fraction:
    """A number as it is written, not as a float rounds it; a whole one is an int, however it is written."""
    number = Fraction(digits)
    return int(number) if number.denominator == 1 else number


def assert_valid(schema: Any, text: str) -> None:
    value = json.loads(text, parse_float=exact)
    errors = [error.message for error in Draft202012Validator(schema).iter_errors(value)]
    assert errors == [], text


def assert_leads_to_a_valid_text(schema: Any, ir: IR, begun: bytes) -> None:
    """An unfinished text is judged by the slow twin, which shares nothing with the machine, and by what it leads to."""
    chart = Recogniser(ir).chart().read_all(begun)
    assert chart.is_viable, begun
    rest = completion(chart)
    assert rest is not None
    assert_valid(schema, (begun + rest).decode())


def test_random_logits_write_only_valid_values_of_random_schemas() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
    @given(
        schema=json_schemas() | json_schemas().map(repeated),
        whitespace=st.sampled_from(LAYOUTS),
        mode=st.sampled_from(MODES),
        seed=st.integers(0, 10_000),
        scale=st.sampled_from([0.5, 3.0]),
        closing=st.sampled_from([0.0, 4.0]),
        temperature=st.sampled_from([0.0, 1.0]),
    )
    def law(
        schema: Any, whitespace: str, mode: ForcedMode, seed: int, scale: float, closing: float, temperature: float
    ) -> None:
        try:
            ir = lower_json_schema(schema, whitespace=whitespace)
            grammar = compile_ir(ir, ENGINE.vocabulary)
        except (UnsatisfiableGrammar, UnsupportedSchema) as error:
            seen[type(error).__name__] += 1
            reject()
        request = Request(
            prompt_ids=PROMPT,
            matcher=grammar.matcher(),
            sampling=SamplingConfig(temperature=temperature, seed=seed),
            max_tokens=MAX_TOKENS,
            forced=mode,
        )
        result = generate(ENGINE, request, processors=[RandomLogits(seed, scale=scale, closing=closing)])
        written = b"".join(map(ENGINE.token_bytes, result.token_ids))
        if result.complete:
            assert written.decode() == result.text
            assert_valid(schema, result.text)
        else:
            assert (result.stop_reason, len(result.token_ids)) == ("length", MAX_TOKENS)
            assert_leads_to_a_valid_text(schema, ir, written)
        seen["complete" if result.complete else "cut off"] += 1

    law()
    assert seen["complete"] >= 10, seen
    assert seen["cut off"] >= 5, seen


@pytest.fixture(scope="module")
def documents() -> list[LabelledDocument]:
    """Those with few fields, so that an extraction takes seconds; none can go on for ever."""
    return [bounded(document) for document in load_documents() if len(document.rules) <= 4][:3]


def extract(model: Model, document: LabelledDocument, *, seed: int) -> GenerationResult:
    return model.extract(document.text, document.schema, temperature=1.0, seed=seed, max_tokens=1_000)


@pytest.mark.real_model
def test_extractions_at_temperature_one_are_valid(real_model: Model, documents: list[LabelledDocument]) -> None:
    texts = set()
    for seed, document in enumerate(documents):
        result = extract(real_model, document, seed=seed)
        assert result.complete, (document.id, result.stop_reason, result.text)
        validator = Draft202012Validator(document.schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        assert [error.message for error in validator.iter_errors(result.value)] == []
        assert json.loads(result.text) == result.value
        texts.add(result.text)
    assert len(texts) == len(documents)


@pytest.mark.real_model
def test_the_same_seed_gives_the_same_tokens_and_another_seed_others(
    real_model: Model, documents: list[LabelledDocument]
) -> None:
    first, again, other = (extract(real_model, documents[-1], seed=seed) for seed in (7, 7, 8))
    assert first.token_ids == again.token_ids
    assert first.token_ids != other.token_ids
