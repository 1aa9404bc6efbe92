"""Many requests at once: each result is that of its request alone, and faults stay where they are."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel

import constrained
from constrained import GenerationRequest, Model, Outcome
from constrained.batches import in_order
from constrained.errors import BudgetTooSmall, ConstrainedError, ContextTooLong, ValidationFailed
from constrained.model import LoadedModel
from constrained.testing.tiny import tiny_llama, tiny_tokenizer

MODEL = Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))


class User(BaseModel):
    name: Annotated[str, "any"]
    age: int


def refuse(value: int) -> int:
    raise ValueError("no number is good enough")


def only_odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("an even number")
    return value


Never = Annotated[int, AfterValidator(refuse)]
Odd = Annotated[int, AfterValidator(only_odd)]

REQUESTS = [
    GenerationRequest("Tea?", bool),
    GenerationRequest("Who?", User, max_tokens=60, temperature=1.0, seed=3, on_budget="close"),
    GenerationRequest([{"role": "user", "content": "the name"}], constrained.choice(["red", "rose"]), forced="off"),
    GenerationRequest("the date of the user", max_tokens=9, temperature=2.0, seed=8),
    GenerationRequest("How many?", int, seed=5, temperature=3.0, drafts=0),
    GenerationRequest("Who?", list[User], max_tokens=50, on_budget="close", whitespace="compact"),
    GenerationRequest("the number", Odd, seed=1, temperature=4.0, retries=9),
]


def outcome_of(result: Any) -> tuple[Any, ...]:
    return result.token_ids, result.text, result.value, result.stop_reason, result.complete


@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_each_is_what_it_is_alone(batch_size: int) -> None:
    many = MODEL.generate_many(REQUESTS, batch_size=batch_size)
    assert [outcome.index for outcome in many] == list(range(len(REQUESTS)))
    for outcome, request in zip(many, REQUESTS, strict=True):
        alone = MODEL.generate(request.prompt, request.output_type, **request.options)
        assert outcome.error is None
        assert outcome_of(outcome.result) == outcome_of(alone)


def test_they_come_as_they_end_and_in_order_where_asked() -> None:
    streamed = list(MODEL.stream_many(REQUESTS, batch_size=4))
    assert sorted(outcome.index for outcome in streamed) == list(range(len(REQUESTS)))
    assert [outcome.index for outcome in streamed] != list(range(len(REQUESTS)))
    assert [outcome.index for outcome in in_order(iter(streamed))] == list(range(len(REQUESTS)))


def test_what_goes_wrong_with_one_is_its_outcome_alone() -> None:
    requests = [
        GenerationRequest("Tea?", bool),
        GenerationRequest("the " * 5000, bool),
        GenerationRequest("Tea?", object()),
        GenerationRequest("Tea?", bool, temperature=-1),
        GenerationRequest("Tea?", Never, temperature=1.0, retries=2),
        GenerationRequest("Who?", User, max_tokens=3, on_budget="close"),
        "Tea?",
        GenerationRequest("Tea?", bool, processors=[lambda context, logits: logits]),
        GenerationRequest("Tea?", bool),
    ]
    many = MODEL.generate_many(requests, batch_size=2)  # type: ignore[arg-type]
    assert [type(outcome.error) for outcome in many if outcome.index in (1, 4, 5)] == [
        ContextTooLong,
        ValidationFailed,
        BudgetTooSmall,
    ]
    assert isinstance(many[2].error, ConstrainedError)
    assert "temperature" in str(many[3].error)
    assert "requests: expected GenerationRequest" in str(many[6].error)
    assert "pass them to generate_many itself" in str(many[7].error)
    assert isinstance(many[4].error, ValidationFailed)
    assert many[4].error.attempts == 3
    assert many[0].value == many[8].value
    with pytest.raises(ContextTooLong):
        _ = many[1].result


def test_requests_are_taken_as_there_is_room() -> None:
    taken = 0

    def requests() -> Iterator[GenerationRequest]:
        nonlocal taken
        for _ in range(20):
            taken += 1
            yield GenerationRequest("the name", max_tokens=3, temperature=1.0)

    outcomes = MODEL.stream_many(requests(), batch_size=2)
    first: Outcome = next(outcomes)
    assert first.error is None
    assert taken <= 4
    del outcomes
    gc.collect()
    assert taken <= 4


def test_several_samples_can_be_among_many() -> None:
    requests = [
        GenerationRequest("Tea?", bool, n=3, temperature=1.0),
        GenerationRequest("Tea?", bool),
        GenerationRequest("Tea?", bool, sampling="cars", temperature=1.0),
    ]
    several, one, exact = MODEL.generate_many(requests)
    assert len(several.result.samples) == 3
    assert isinstance(one.value, bool)
    assert isinstance(exact.value, bool)


def test_documents_are_drawn_alike_alone_and_among_others() -> None:
    documents = [f"the name of the user {index} is due" for index in range(5)]
    options: dict[str, Any] = {"temperature": 1.5, "seed": 4, "max_tokens": 50, "on_budget": "close"}
    many = MODEL.generate_many((MODEL.extraction(document, User, **options) for document in documents), batch_size=3)
    for document, outcome in zip(documents, many, strict=True):
        assert outcome_of(outcome.result) == outcome_of(MODEL.extract(document, User, **options))


def test_prompts_that_begin_alike_are_computed_once() -> None:
    model = Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))
    bare = Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"), max_prefix_bytes=0)
    prompts = ["the name of the user " * 10 + end for end in ("a", "b", "c")]
    for index, prompt in enumerate(prompts):
        with_cache, without = (one.generate(prompt, User, max_tokens=40) for one in (model, bare))
        assert outcome_of(with_cache) == outcome_of(without)
        assert without.usage.cached_prompt_tokens == 0
        assert (with_cache.usage.cached_prompt_tokens > 30) == (index > 0)


@pytest.mark.parametrize(("batch_size", "error"), [(0, ValueError), (None, TypeError), (2.5, TypeError)])
def test_batch_sizes_that_are_none(batch_size: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="batch_size: expected"):
        MODEL.generate_many([], batch_size=batch_size)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_budget": "stop"}, "on_budget: expected 'cut' or 'close'"),
        ({"time_budget": -1}, "time_budget: expected seconds above 0"),
        ({"drafts": -1}, "drafts: expected at least 0"),
        (
            {"on_budget": "close", "sampling": "cars", "temperature": 1.0},
            "on_budget: sampling='cars' draws whole texts",
        ),
        ({"time_budget": 2.0, "num_beams": 2}, "time_budget: num_beams=2 knows no time"),
        ({"on_budget": "close", "output_type": None}, "on_budget: expected 'cut' for free text"),
    ],
)
def test_options_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MODEL.generate("Tea?", **({"output_type": bool} | options))


def test_a_closed_output_has_its_value() -> None:
    result = MODEL.generate("Who?", list[User], max_tokens=48, on_budget="close", temperature=1.0)
    assert result.complete
    assert isinstance(result.value, list)
    assert len(result.token_ids) <= 48
