"""Going back from dead ends: models of noise, and models that walk into dead ends on purpose."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grammars
from constrained.errors import DeadEnd, NoTokenAllowed
from constrained.loop import Engine, Request, generate, generate_tokens
from constrained.result import ForcedMode, GenerationResult
from constrained.sampling_config import SamplingConfig
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from grammars.vocabulary import Vocabulary

from .fakes import FakeModel, FiniteMatcher, LongestMatch, engine_of, vocabulary_of

MERGED = ["re", "red", '"re', '"r', '","', '"],', "ose", '["', 'ed"', "1,", ",2", "rot", '":[', 'd","r', "[1", "2]"]
VOCABULARY = Vocabulary.from_bytes(
    [*(bytes([byte]) for byte in range(256)), *(text.encode() for text in MERGED), None],
    eos_token_ids=[256 + len(MERGED)],
)
WORD = {"type": "string", "pattern": "^(red|rose|rot)$"}  # given values would be told apart before they begin
WORDS = {"type": "array", "items": WORD, "uniqueItems": True, "minItems": 3, "maxItems": 3}
SCHEMAS: dict[str, dict[str, Any]] = {
    "words": WORDS,
    "nested": {
        "type": "object",
        "properties": {"first": {"type": "boolean"}, "words": WORDS, "last": {"enum": [1, 2]}},
        "required": ["first", "words", "last"],
        "additionalProperties": False,
    },
    "earlier item": {
        "type": "array",
        "prefixItems": [{"enum": ["red", "rose"]}, {"enum": ["red", "rot"]}, {"enum": ["red"]}],
        "items": False,
        "minItems": 3,
        "uniqueItems": True,
    },
    "not": {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"enum": [1, 2]}, "minItems": 2, "maxItems": 3},
            "b": {"type": "array", "items": {"enum": [1, 2]}, "minItems": 1, "maxItems": 2},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
        "not": {"properties": {"a": {"contains": {"const": 1}}, "b": {"uniqueItems": True}}},
    },
    "names": {
        "type": "object",
        "propertyNames": {"pattern": "^(red|rose|rot)$"},
        "additionalProperties": {"enum": [1, 2]},
        "minProperties": 3,
    },
    "pairs": {
        "type": "array",
        "items": {"type": "array", "items": {"enum": [1, 2]}, "minItems": 2, "maxItems": 2, "uniqueItems": True},
        "uniqueItems": True,
        "minItems": 2,
        "maxItems": 2,
    },
}
modes = st.sampled_from(["canonical", "exact", "off"])


@cache
def compiled(name: str, whitespace: str = "compact") -> grammars.CompiledGrammar:
    return grammars.compile_json_schema(SCHEMAS[name], VOCABULARY, whitespace=whitespace)


def engine(seed: int, wish: str = "") -> Engine:
    tokenizer = LongestMatch(VOCABULARY)
    fake = FakeModel(VOCABULARY.size, seed=seed, wish=tokenizer.tokenize(wish))
    return Engine(fake, tokenizer, VOCABULARY, 4096)


def request_of(name: str, **options: Any) -> Request:
    return Request(prompt_ids=[0], matcher=compiled(name).matcher(), **options)


def check(result: GenerationResult, name: str) -> None:
    assert result.complete
    jsonschema.validate(json.loads(result.text), SCHEMAS[name], cls=jsonschema.Draft202012Validator)
    written = b"".join(VOCABULARY.tokens[token_id] or b"" for token_id in result.token_ids)
    assert written.decode() == result.text
    usage = result.usage
    counted = usage.sampled_tokens + usage.forced_tokens - usage.rolled_back_tokens - (result.stop_reason == "eos")
    assert counted == len(result.token_ids)


@settings(max_examples=60)
@given(
    name=st.sampled_from(sorted(SCHEMAS)),
    mode=modes,
    seed=st.integers(0, 10_000),
    temperature=st.sampled_from([0.0, 1.0, 5.0]),
)
def test_whatever_the_model_wants_the_result_is_valid(
    name: str, mode: ForcedMode, seed: int, temperature: float
) -> None:
    request = request_of(name, forced=mode, sampling=SamplingConfig(temperature=temperature, seed=seed))
    result = generate(engine(seed), request)
    check(result, name)

    steps = list(generate_tokens(engine(seed), [request]))  # as a stream, which takes nothing back
    assert "".join(step.text for step in steps) == result.text
    assert tuple(token_id for step in steps for token_id in step.token_ids) == result.token_ids
    assert steps[-1].result is not None
    assert steps[-1].result.usage.rolled_back_tokens == result.usage.rolled_back_tokens


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("mode", ["canonical", "exact", "off"])
@pytest.mark.parametrize(
    ("name", "wish"),
    [
        ("words", '["red","rose","red'),
        ("nested", '{"first":true,"words":["rose","red","rose"'),
        ("earlier item", '["red","rot","red'),
        ("not", '{"a":[1,1],"b":[1]}'),
        ("names", '{"red":1,"rose":2,"red":1}'),
        ("pairs", "[[1,2],[1,2]]"),
    ],
)
def test_dead_ends_on_purpose(name: str, wish: str, mode: ForcedMode, temperature: float) -> None:
    request = request_of(name, forced=mode, sampling=SamplingConfig(temperature=temperature, seed=1))
    result = generate(engine(3, wish), request)
    check(result, name)
    assert result.text.startswith('["rose"' if name == "earlier item" else wish[:8])
    if name != "not":
        assert 0 < result.usage.rolled_back_tokens < 40


@settings(max_examples=15)
@given(names=st.lists(st.sampled_from(sorted(SCHEMAS)), min_size=2, max_size=4), mode=modes, seed=st.integers(0, 999))
def test_rows_of_a_batch_go_back_as_they_would_alone(names: list[str], mode: ForcedMode, seed: int) -> None:
    wish = '["red","rose","red"]'
    requests = [request_of(name, forced=mode, stream=index) for index, name in enumerate(names)]
    together = {step.row: step.result for step in generate_tokens(engine(seed, wish), requests) if step.result}
    for index, request in enumerate(requests):
        alone, in_batch = generate(engine(seed, wish), request), together[index]
        assert in_batch is not None
        assert (in_batch.token_ids, in_batch.text) == (alone.token_ids, alone.text)
        assert in_batch.usage.rolled_back_tokens == alone.usage.rolled_back_tokens


def test_a_stream_gives_out_what_no_guard_will_ask_about() -> None:
    request = request_of("nested", forced="off")
    wish = '{"first":true,"words":["rose","red","rot"],"last":1}'
    steps = [step for step in generate_tokens(engine(0, wish), [request]) if step.text]
    texts = [step.text for step in steps]
    assert "".join(texts) == wish
    assert len(texts) > 10
    (held,) = [text for text in texts if "rose" in text]
    assert held.endswith(("]", "],"))
    assert held.lstrip('":').startswith("[")


def test_the_real_forward_pass_goes_back() -> None:
    real = Engine.from_model(tiny_llama(), tiny_tokenizer())
    grammar = grammars.compile_json_schema(SCHEMAS["words"], real.vocabulary)
    prompt = tiny_tokenizer().tokenize("the name")
    rolled_back = 0
    for seed in range(12):
        sampling = SamplingConfig(temperature=3.0, seed=seed)
        request = Request(prompt_ids=prompt, matcher=grammar.matcher(), sampling=sampling)
        result = generate(real, request)
        assert sorted(json.loads(result.text)) == ["red", "rose", "rot"]
        assert generate(real, request).token_ids == result.token_ids
        rolled_back += result.usage.rolled_back_tokens
    assert rolled_back > 0


# -- where it ends ------------------------------------------------------------------------------------------------


def test_the_bound_is_an_error_that_names_the_question() -> None:
    request = request_of("words", forced="off", max_rolled_back_tokens=1)
    with pytest.raises(DeadEnd, match=r"max_rolled_back_tokens=1 .*uniqueItems.*another seed") as caught:
        generate(engine(0, '["red","rose","rose"'), request)
    assert isinstance(caught.value, NoTokenAllowed)
    assert caught.value.questions == ("no two items of the array may be equal (uniqueItems)",)


def test_a_schema_that_nothing_meets_is_an_error_in_the_end() -> None:
    schema = {**WORDS, "minItems": 4, "maxItems": 4}
    matcher = grammars.compile_json_schema(schema, VOCABULARY, whitespace="compact").matcher()
    with pytest.raises(DeadEnd, match="there is no other way at all"):
        generate(engine(0), Request(prompt_ids=[0], matcher=matcher, max_rolled_back_tokens=10_000))


def test_no_spelling_of_a_dead_end_is_tried_again() -> None:
    vocabulary = vocabulary_of("a", "b", "c", "aa", "aaa", "ab", "bb", "d")
    texts = [b"aaab", b"c"]
    request = Request(prompt_ids=[0], matcher=_Broken(texts, vocabulary), forced="off")
    result = generate(engine_of(vocabulary, wish=[0, 0, 0]), request)
    assert result.text == "c"
    assert result.usage.rolled_back_tokens == 3


class _Broken(FiniteMatcher):
    """Refuses the last letter of its first text, which only it can be told by."""

    def _allows(self, token_id: int) -> bool:
        after = self.written + (self._vocabulary.tokens[token_id] or b"")
        return super()._allows(token_id) and after != self._texts[0]

    def fork(self) -> _Broken:
        other = _Broken(self._texts, self._vocabulary)
        other._states = self._states.copy()
        return other


def test_a_stop_text_that_was_taken_back_stops_nothing() -> None:
    request = request_of("words", forced="off", stop=("rose",))
    wish = '["red","rot","red"'
    result = generate(engine(0, wish), replace(request, stop=("zzz", "]x")))
    check(result, "words")
    stopped = generate(engine(0, wish), request)
    assert (stopped.stop_reason, stopped.text) == ("stop_text", '["red","rot","')


def test_a_stream_does_not_take_back_what_it_gave_out() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {**WORDS, "minItems": 4, "maxItems": 4}},
        "additionalProperties": False,
    }
    matcher = grammars.compile_json_schema(schema, VOCABULARY, whitespace="compact").matcher()
    request = Request(prompt_ids=[0], matcher=matcher, max_rolled_back_tokens=10_000, forced="off")
    wish = '{"a":true,"b":["red","rose","rot","red'
    result = generate(engine(0, wish), request)
    assert result.text == '{"a":true}'
    given: list[str] = []
    with pytest.raises(DeadEnd, match="is given out already"):
        given.extend(step.text for step in generate_tokens(engine(0, wish), [request]))
    assert "".join(given) == '{"a":true,"b'  # and no part of the array
