"""The API on the tiny seeded model: values of types, re-draws, streams, prompts, the cache of grammars."""

from __future__ import annotations

import datetime
import enum
import math
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from pydantic import BaseModel, field_validator

import constrained
from constrained.api import Model
from constrained.errors import ChatTemplateError, ContextTooLong, UnsupportedOutputType, ValidationFailed
from constrained.grammar_cache import GrammarCache
from constrained.model import LoadedModel, Tokenizer
from constrained.processors import GrammarMask
from constrained.prompts import PromptTemplate
from constrained.testing.tiny import tiny_llama, tiny_tokenizer, tiny_tokenizer_json
from grammars import compile_regex
from grammars.errors import GrammarError, RegexError, UnsupportedSchema


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Order(BaseModel):
    size: Size
    paid: bool
    day: datetime.date
    note: Literal["none", "urgent"] | None


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_value_is_an_instance_of_the_type_and_the_text_is_its_json(model: Model, temperature: float) -> None:
    for seed in range(5):
        result = model.generate("Order:", Order, temperature=temperature, seed=seed)
        assert result.complete
        assert isinstance(result.value, Order)
        assert Order.model_validate_json(result.text) == result.value


def test_a_choice_gives_the_option_and_a_regex_the_text(model: Model) -> None:
    assert model.generate("Which?", constrained.choice(Size)).value in set(Size)
    text = model.generate("Code?", constrained.regex("[A-Z]{2}-[0-9]{3}"), temperature=1.0).value
    assert len(text) == 6
    assert text[2] == "-"


def test_a_cut_output_is_not_complete_and_has_no_value(model: Model) -> None:
    result = model.generate("Order:", Order, max_tokens=2, forced="off")
    assert not result.complete
    assert result.stop_reason == "length"
    assert result.value is None
    assert len(result.token_ids) == 2


def test_free_text_has_no_value(model: Model) -> None:
    result = model.generate("Hello", max_tokens=5)
    assert result.value is None
    assert len(result.token_ids) <= 5


class Tail(BaseModel):
    digit: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

    @field_validator("digit")
    @classmethod
    def _is_low(cls, value: int) -> int:
        if value > 2:
            raise ValueError("expected a low digit")
        return value


class Never(BaseModel):
    flag: bool

    @field_validator("flag")
    @classmethod
    def _never(cls, value: bool) -> bool:
        raise ValueError("expected something else")


def test_what_a_validator_refuses_is_drawn_again(model: Model) -> None:
    seeds_that_retried = 0
    for seed in range(20):
        first = model.generate("Digit?", _without_validator(Tail), temperature=1.0, seed=seed).value
        value = model.generate("Digit?", Tail, temperature=1.0, seed=seed, retries=50).value
        assert value.digit <= 2
        seeds_that_retried += first["digit"] > 2
    assert seeds_that_retried > 3


def _without_validator(output_type: type[BaseModel]) -> str:
    text = constrained.output_types.output_type_from(output_type).schema_text  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def test_a_validation_that_always_fails_says_the_text_the_reasons_and_the_tries(model: Model) -> None:
    with pytest.raises(ValidationFailed) as caught:
        model.generate("Flag?", Never, temperature=1.0, retries=2)
    assert caught.value.attempts == 3
    assert caught.value.text.startswith("{")
    assert caught.value.problems == ("flag: Value error, expected something else",)
    assert "raise retries" in str(caught.value)


def test_at_temperature_zero_nothing_is_drawn_again(model: Model) -> None:
    with pytest.raises(ValidationFailed, match="temperature above 0") as caught:
        model.generate("Flag?", Never, retries=5)
    assert caught.value.attempts == 1


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"retries": 0, "temperature": 1.0}, "pass retries above 0, so that it may be drawn again"),
        ({"retries": 0}, "pass retries above 0 and a temperature above 0, so"),
        ({"retries": 0, "temperature": 1.0, "top_k": 1}, "pass retries above 0 and top_k above 1, so"),
        ({"temperature": 1.0, "top_k": 1}, "pass top_k above 1, so that it may be drawn again"),
        ({}, "pass a temperature above 0, so that it may be drawn again"),
        ({"retries": 1, "temperature": 1.0}, "raise retries"),
    ],
    ids=str,
)
def test_the_remedy_of_a_failed_validation_would_help(model: Model, options: Any, remedy: str) -> None:
    with pytest.raises(ValidationFailed) as caught:
        model.generate("Flag?", Never, **options)
    assert str(caught.value).splitlines()[-1].startswith(remedy)
    with pytest.raises(ValidationFailed) as streamed:
        list(model.stream("Flag?", Never, **options))
    assert "what a stream has given out cannot be drawn again" in str(streamed.value)


def test_the_same_seed_gives_the_same_tokens_and_another_seed_others(model: Model) -> None:
    def ids(seed: int) -> tuple[int, ...]:
        return model.generate("Say", constrained.regex("[a-z ]{30}"), temperature=1.0, seed=seed).token_ids

    assert ids(7) == ids(7)
    assert len({ids(seed) for seed in range(5)}) == 5


def test_a_stream_gives_the_text_of_generate_and_then_its_result(model: Model) -> None:
    pattern = constrained.regex("[a-z ]{20}")
    whole = model.generate("Say", pattern, temperature=1.0, seed=3)
    stream = model.stream("Say", pattern, temperature=1.0, seed=3)
    with pytest.raises(RuntimeError, match="has not ended"):
        _ = stream.result
    pieces = list(stream)
    assert "".join(pieces) == whole.text
    assert all(pieces)
    assert stream.result.value == whole.text
    assert stream.result.token_ids == whole.token_ids
    assert list(stream) == []


def test_a_stream_with_a_refused_value_raises_at_its_end(model: Model) -> None:
    stream = model.stream("Flag?", Never, temperature=1.0)
    pieces: list[str] = []
    with pytest.raises(ValidationFailed):
        pieces.extend(stream)
    assert "flag" in "".join(pieces)
    with pytest.raises(RuntimeError, match="has not ended"):
        _ = stream.result


def test_a_stream_that_is_left_early_has_no_result(model: Model) -> None:
    with model.stream("Say", max_tokens=50) as stream:
        assert next(stream)
    assert list(stream) == []
    with pytest.raises(RuntimeError):
        _ = stream.result


def test_stop_texts_end_the_output(model: Model) -> None:
    free = model.generate("Say", constrained.regex("[a-c]{40}"), temperature=1.0)
    stop = free.text[5:7]
    result = model.generate("Say", constrained.regex("[a-c]{40}"), temperature=1.0, stop=[stop])
    assert result.text == free.text[: free.text.index(stop)]
    assert result.stop_reason == "stop_text"
    assert not result.complete
    assert result.value is None


def test_a_text_prompt_is_one_turn_and_raw_is_the_text_itself(model: Model) -> None:
    question = "What is tea?"
    turns = [{"role": "user", "content": question}]
    as_text = model.generate(question, max_tokens=3).usage.prompt_tokens
    assert as_text == model.generate(turns, max_tokens=3).usage.prompt_tokens
    assert as_text == len(model.tokenizer.chat_prompt(turns))
    raw = model.generate(question, max_tokens=3, chat=False).usage.prompt_tokens
    assert raw == len(model.tokenizer.text_prompt(question)) < as_text


def test_without_a_chat_template_text_is_taken_as_it_is_and_turns_are_refused() -> None:
    plain = Model(LoadedModel(tiny_llama(), Tokenizer.from_json(tiny_tokenizer_json(), eos_token_ids=(2,)), "plain"))
    assert plain.generate("Tea", max_tokens=2).usage.prompt_tokens == len(plain.tokenizer.text_prompt("Tea"))
    assert plain.extract("Tea", bool).value in (True, False)
    with pytest.raises(ChatTemplateError):
        plain.generate([{"role": "user", "content": "Tea"}])
    with pytest.raises(ChatTemplateError):
        plain.generate("Tea", chat=True)


USER = {"role": "user", "content": "a"}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda model: model.generate(5), TypeError, "expected a str or a list of messages, got int 5"),
        (lambda model: model.generate(b"Tea"), TypeError, "got bytes b'Tea'; decode it first"),
        (lambda model: model.generate(None), TypeError, "prompt: expected a str or a list of messages, got None"),
        (lambda model: model.generate(["a"]), TypeError, r"prompt\[0\]: .* in the list of messages, got str 'a'"),
        (lambda model: model.generate([]), ValueError, "at least one message"),
        (lambda model: model.generate(dict(USER)), TypeError, "got one message; put it in a list"),
        (lambda model: model.generate([{"content": "a"}]), ValueError, r"prompt\[0\]: .* got the keys 'content'"),
        (lambda model: model.generate([USER, {"role": "user"}]), ValueError, r"prompt\[1\]: .*the keys 'role'"),
        (lambda model: model.generate([USER | {"content": ["a"]}]), TypeError, r"\[0\]\['content'\]: .* got list"),
        (lambda model: model.generate([USER | {"content": None}]), TypeError, "got None; models here read text only"),
        (lambda model: model.generate([USER | {"role": 1}]), TypeError, r"\[0\]\['role'\]: expected a str, got int 1"),
        (lambda model: model.generate([USER], chat=False), TypeError, "chat template"),
        (lambda model: model.generate("a\ud800"), ValueError, "prompt: half of a surrogate pair at index 1"),
        (lambda model: model.generate([USER | {"content": "\ud800"}]), ValueError, "half of a surrogate pair"),
        (lambda model: model.extract("\ud800", bool), ValueError, "document: half of a surrogate pair"),
        (lambda model: model.extract(b"text", bool), TypeError, "document: expected a str, got bytes b'text'; decode"),
        (lambda model: model.extract(Path("a.txt"), bool), TypeError, "document: .*; read the file and pass its text"),
        (lambda model: model.extract(None, bool), TypeError, "document: expected a str, got None"),
        (lambda model: model.extract("a", bool, instructions=""), ValueError, "instructions: expected words"),
        (
            lambda model: model.extract("a", bool, instructions=["x"]),
            TypeError,
            "instructions: expected a str, got list",
        ),
        (
            lambda model: model.extract("a", bool, template="x"),
            TypeError,
            "template: expected a PromptTemplate, got str",
        ),
        (lambda model: model.extract("a", bool, whitespace=None), TypeError, "whitespace: expected a str .*, got None"),
        (lambda model: model.generate("a", 5), UnsupportedOutputType, "not an output type"),
        (lambda model: model.generate("a", constrained.regex("(")), RegexError, "position"),
        (lambda model: model.generate("a", {"$ref": "https://elsewhere.example/a"}), UnsupportedSchema, "elsewhere"),
        (lambda model: model.generate("a", tempreature=1), TypeError, "unknown option tempreature"),
        (lambda model: model.generate("a", retries=-1), ValueError, "retries: expected at least 0, got -1"),
        (lambda model: model.generate("a", retries=1.5), TypeError, "retries: expected a whole number, got float 1.5"),
        (lambda model: model.generate("a", temperature=-1), ValueError, "temperature"),
        (lambda model: model.generate("a", temperature=math.nan), ValueError, "temperature"),
        (lambda model: model.generate("a", temperature=None), ValueError, "temperature"),
        (lambda model: model.generate("a", top_p="0.5"), ValueError, "top_p"),
        (lambda model: model.generate("a", top_k=1.5), ValueError, "top_k"),
        (lambda model: model.generate("a", max_tokens=0), ValueError, "max_tokens: expected at least 1, got 0"),
        (
            lambda model: model.generate("a", max_tokens=2.5),
            TypeError,
            "max_tokens: expected a whole number, got float",
        ),
        (lambda model: model.generate("a", max_tokens=2.0), TypeError, "got float 2.0; write 2"),
        (lambda model: model.generate("a", max_tokens="5"), TypeError, "max_tokens: expected a whole number, got str"),
        (
            lambda model: model.generate("a", max_tokens=True),
            TypeError,
            "max_tokens: expected a whole number, got bool",
        ),
        (lambda model: model.generate("a", stop=5), TypeError, "stop: expected a text or a sequence of texts, got int"),
        (lambda model: model.generate("a", stop=None), TypeError, "stop: .* got None"),
        (lambda model: model.generate("a", stop=[5]), TypeError, "stop: expected a str, got int 5"),
        (lambda model: model.generate("a", stop=""), ValueError, "stop: expected texts of at least one character"),
        (lambda model: model.generate("a", stop=b"x"), TypeError, "stop: .* got bytes"),
        (lambda model: model.generate("a", whitespace=None), TypeError, "whitespace: expected a str .*, got None"),
        (lambda model: model.generate("a", whitespace="tabs"), GrammarError, "whitespace: expected 'indent=0'"),
        (lambda model: model.compile(bool, whitespace="indent=9"), GrammarError, "whitespace: expected"),
        (lambda model: model.generate("a", forced="maybe"), ValueError, "forced: expected one of 'canonical'"),
        (lambda model: model.generate("a", max_tokens=int), TypeError, "max_tokens: expected a whole number, got type"),
        (lambda model: model.generate("a", max_tokens=np.arange(2)), TypeError, "max_tokens: expected a whole number"),
        (lambda model: model.generate("a", forced=np.arange(2)), ValueError, "forced: expected one of"),
        (lambda _: PromptTemplate(user="{document}", instructions="", examples=5), TypeError, "examples: expected a"),
        (lambda model: model.generate("a", forced=[]), ValueError, "forced: .* got list"),
        (lambda model: model.generate("a", chat="yes"), TypeError, "chat: expected True, False, or None"),
        (lambda model: model.generate("a", processors=print), TypeError, "processors: .*; put it in a list"),
        (lambda model: model.generate("a", processors=[5]), TypeError, r"processors\[0\]: .* got int 5"),
        (lambda model: model.generate("a", processors=[GrammarMask]), TypeError, "make an instance of it"),
        (lambda _: constrained.load(""), ValueError, "source: expected the name of a model"),
        (lambda _: constrained.load(5), TypeError, "source: expected a folder, a file or a hub id"),
        (lambda _: constrained.load(device=torch.device("cpu")), TypeError, "device: expected a str such as 'auto'"),
        (lambda _: constrained.load(dtype=torch.float32), TypeError, "dtype: expected a str such as 'float32'"),
        (lambda _: constrained.load(progress="x"), TypeError, "progress: expected a function"),
        (lambda _: constrained.load(threads=1.5), TypeError, "threads: expected a whole number"),
        (lambda _: constrained.load(threads=10**6), ValueError, "threads: expected at most 1,024"),
        (lambda _: Model("a folder"), TypeError, r"loaded: .* got str; constrained.load\(...\) makes a Model"),
        (lambda _: PromptTemplate(user="Hi", instructions=""), ValueError, "user: expected a text that says"),
        (lambda _: PromptTemplate(user=5, instructions=""), TypeError, "user: expected a str, got int"),
        (lambda model: model.generate("word " * 5000), ContextTooLong, "the model's context"),
    ],
)
def test_faults_of_the_caller_are_named(model: Model, call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(model)


def test_arguments_are_checked_before_any_work(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("it worked")

    monkeypatch.setattr(model, "compile", work)
    monkeypatch.setattr("constrained.api.output_type_from", work)
    faulty: list[Any] = [{"max_tokens": 2.5}, {"stop": 5}, {"whitespace": None}, {"forced": "?"}, {"chat": 1}]
    for options in faulty:
        with pytest.raises((TypeError, ValueError)):
            model.generate("a", bool, **options)
        with pytest.raises((TypeError, ValueError)):
            model.extract("a", bool, **options)
        with pytest.raises((TypeError, ValueError)):
            model.stream("a", bool, **options)


def test_output_never_grows_past_the_context(model: Model) -> None:
    prompt = "a" * 4080
    prompt_tokens = model.generate(prompt, max_tokens=1, chat=False).usage.prompt_tokens
    result = model.generate(prompt, constrained.regex("[ab]{500}"), chat=False, max_tokens=400)
    assert result.stop_reason == "length"
    assert prompt_tokens + len(result.token_ids) <= model.context_length


def test_extract_sends_what_the_template_says(model: Model) -> None:
    template = PromptTemplate(system="S", user="{instructions}|{schema}|{document}", instructions="Own")
    result = model.extract("doc", bool, instructions="Find it", template=template)
    assert result.value in (True, False)
    expected = template.messages("doc", "Find it", schema_text='{"type": "boolean"}')
    assert expected[-1]["content"] == 'Find it|{"type": "boolean"}|doc'
    assert result.usage.prompt_tokens == len(model.tokenizer.chat_prompt(expected))


def test_grammars_are_compiled_once_and_the_least_used_is_dropped() -> None:
    sizes = {
        (kind, whitespace): Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))
        .compile(kind, whitespace=whitespace)
        .nbytes
        for kind, whitespace in ((int, "indent=2"), (int, "compact"), (bool, "indent=2"))
    }
    room = sum(sizes.values()) - 1
    model = Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"), max_grammar_bytes=room)
    first = model.compile(int)
    assert model.compile({"type": "integer"}) is first
    second = model.compile(int, whitespace="compact")
    assert second is not first
    assert model.compile(int) is first
    model.compile(bool)
    assert model.compile(int) is first
    assert model.compile(int, whitespace="compact") is not second


def test_a_stream_of_schemas_takes_bounded_memory_and_the_last_one_is_always_kept() -> None:
    cache = GrammarCache(max_bytes=1_000_000)
    vocabulary = tiny_tokenizer().vocabulary(400)
    for index in range(60):
        cache.get((str(index), "", ""), lambda index=index: compile_regex(f"a{index}", vocabulary))  # type: ignore[misc]
        assert cache.nbytes <= 1_000_000
    assert 2 < len(cache) < 30
    tight = GrammarCache(max_bytes=0)
    kept = [tight.get((name, "", ""), lambda: compile_regex("ab", vocabulary)) for name in "aab"]
    assert kept[0] is kept[1]
    assert len(tight) == 1
    with pytest.raises(TypeError, match="max_bytes"):
        GrammarCache(max_bytes=2.5)  # type: ignore[arg-type]


def test_grammars_that_grow_while_they_are_used_are_dropped_too() -> None:
    class Growing:
        nbytes = 100

    grammars = {name: Growing() for name in "ab"}
    cache = GrammarCache(max_bytes=250)

    def get(name: str) -> Any:
        return cache.get((name, "", ""), lambda: grammars[name])  # type: ignore[arg-type,return-value]

    assert get("a") is grammars["a"]
    assert get("b") is grammars["b"]
    assert len(cache) == 2
    grammars["b"].nbytes = 200
    for _ in range(20):
        get("b")
    assert len(cache) == 1
    assert cache.nbytes == 200


def test_loading_sets_threads_to_what_was_said_or_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    tiny = LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny")
    monkeypatch.setattr("constrained.api.load_model", lambda *_, **__: tiny)
    try:
        constrained.load(threads=3)
        assert torch.get_num_threads() == 3
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        constrained.load()
        assert torch.get_num_threads() == 3
        monkeypatch.delenv("OMP_NUM_THREADS")
        constrained.load()
        assert torch.get_num_threads() == 1
        with pytest.raises(ValueError, match="threads: expected at least 1"):
            constrained.load(threads=0)
    finally:
        torch.set_num_threads(before)


def test_importing_the_package_is_quick_and_imports_no_engine() -> None:
    code = (
        "import sys, constrained; constrained.ValidationFailed; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'numba', 'pydantic', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_is_there() -> None:
    for name in constrained.__all__:
        assert getattr(constrained, name).__name__ == name
    assert set(constrained.__all__) <= set(dir(constrained))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = constrained.nothing  # type: ignore[attr-defined]
