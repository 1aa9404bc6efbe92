"""The loop against partners that keep their contracts, where everything can be compared exactly."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from constrained.errors import ContextTooLong, LogitsError, NoTokenAllowed
from constrained.loop import Request, generate, generate_tokens, stream_text
from constrained.processors import StepContext
from constrained.result import ForcedMode
from constrained.sampling_config import SamplingConfig
from grammars.vocabulary import Vocabulary

from .fakes import FakeCache, FakeModel, FiniteMatcher, engine_of, languages, vocabulary_of

modes = st.sampled_from(["canonical", "exact", "off"])
samplings = st.builds(
    SamplingConfig,
    temperature=st.sampled_from([0.0, 0.7, 1.0, 3.0]),
    top_k=st.none() | st.integers(1, 5),
    top_p=st.sampled_from([0.5, 1.0]),
    seed=st.integers(0, 1000),
)
Language = tuple[Vocabulary, list[bytes]]


@given(language=languages(), mode=modes, sampling=samplings, seed=st.integers(0, 99))
def test_the_text_is_in_the_language_in_every_mode(
    language: Language, mode: ForcedMode, sampling: SamplingConfig, seed: int
) -> None:
    vocabulary, texts = language
    engine = engine_of(vocabulary, seed=seed)
    request = Request(prompt_ids=[0], matcher=FiniteMatcher(texts, vocabulary), sampling=sampling, forced=mode)
    result = generate(engine, request)
    assert result.complete
    assert result.stop_reason in ("eos", "grammar")
    assert result.text.encode() in texts
    assert b"".join(engine.token_bytes(token_id) for token_id in result.token_ids) == result.text.encode()


@given(language=languages(), sampling=samplings, seed=st.integers(0, 99), limit=st.integers(1, 10))
def test_exact_gives_the_ids_of_plain_decoding(
    language: Language, sampling: SamplingConfig, seed: int, limit: int
) -> None:
    vocabulary, texts = language
    engine = engine_of(vocabulary, seed=seed)
    plain = Request(
        prompt_ids=[0], matcher=FiniteMatcher(texts, vocabulary), sampling=sampling, forced="off", max_tokens=limit
    )
    off, exact = generate(engine, plain), generate(engine, replace(plain, forced="exact"))
    assert off.usage.forced_tokens == 0
    assert (exact.token_ids, exact.text, exact.stop_reason, exact.complete) == (
        off.token_ids, off.text, off.stop_reason, off.complete,
    )  # fmt: skip
    assert exact.usage.forward_passes <= off.usage.forward_passes


@given(language=languages(), mode=modes, sampling=samplings, seed=st.integers(0, 99), limit=st.integers(1, 8))
def test_usage_adds_up(language: Language, mode: ForcedMode, sampling: SamplingConfig, seed: int, limit: int) -> None:
    vocabulary, texts = language
    engine = engine_of(vocabulary, seed=seed, prompt_length=3)
    request = Request(
        prompt_ids=[0, 1, 2],
        matcher=FiniteMatcher(texts, vocabulary),
        sampling=sampling,
        forced=mode,
        max_tokens=limit,
    )
    steps = list(generate_tokens(engine, [request]))
    result = steps[-1].result
    assert result is not None
    assert all(step.result is None for step in steps[:-1])
    usage = result.usage
    assert usage.forced_mode == mode
    assert usage.prompt_tokens == 3
    assert usage.sampled_tokens == usage.forward_passes == len(engine.model.passes)  # type: ignore[attr-defined]
    assert usage.sampled_tokens + usage.forced_tokens - (result.stop_reason == "eos") == len(result.token_ids) <= limit
    assert sum(step.num_forced for step in steps) == usage.forced_tokens
    assert [token_id for step in steps for token_id in step.token_ids] == list(result.token_ids)
    assert "".join(step.text for step in steps) == result.text
    if result.stop_reason == "length":
        assert not result.complete
        assert len(result.token_ids) == limit
    assert (usage.mask_microseconds_max >= usage.mask_microseconds_mean > 0) or not usage.forward_passes
    assert usage.to_dict()["seconds_per_decode_step"] == usage.seconds_per_decode_step


@given(
    languages_=st.lists(languages(), min_size=1, max_size=1),
    rows=st.lists(st.tuples(st.booleans(), modes, samplings, st.integers(1, 12)), min_size=2, max_size=4),
    seed=st.integers(0, 99),
)
def test_rows_of_a_batch_are_those_of_single_runs(
    languages_: list[Language], rows: list[tuple[bool, ForcedMode, SamplingConfig, int]], seed: int
) -> None:
    vocabulary, texts = languages_[0]
    engine = engine_of(vocabulary, seed=seed)
    requests = [
        Request(
            prompt_ids=[0] * (1 + index),
            matcher=FiniteMatcher(texts, vocabulary) if constrained else None,
            sampling=sampling,
            stream=index,
            forced=mode,
            max_tokens=limit,
            stop=("ab",) if index == 1 else (),
        )
        for index, (constrained, mode, sampling, limit) in enumerate(rows)
    ]
    together = {step.row: step.result for step in generate_tokens(engine, requests) if step.result}
    assert sorted(together) == list(range(len(requests)))
    for index, request in enumerate(requests):
        alone = generate(engine, request)
        in_batch = together[index]
        assert in_batch is not None
        assert (in_batch.token_ids, in_batch.text, in_batch.stop_reason, in_batch.complete) == (
            alone.token_ids, alone.text, alone.stop_reason, alone.complete,
        )  # fmt: skip


def test_a_request_can_be_run_again() -> None:
    vocabulary = vocabulary_of("a", "b")
    engine = engine_of(vocabulary)
    request = Request(prompt_ids=[0], matcher=FiniteMatcher([b"ab", b"ba"], vocabulary), forced="off")
    assert generate(engine, request).token_ids == generate(engine, request).token_ids


def test_streams_and_seeds_give_other_draws() -> None:
    vocabulary = vocabulary_of(*"abcdefgh")
    engine = engine_of(vocabulary)

    def ids(seed: int, stream: int) -> tuple[int, ...]:
        sampling = SamplingConfig(temperature=5.0, seed=seed)
        return generate(engine, Request(prompt_ids=[0], sampling=sampling, stream=stream, max_tokens=20)).token_ids

    assert ids(1, 0) == ids(1, 0)
    assert len({ids(1, 0), ids(2, 0), ids(1, 1), ids(2, 1)}) == 4


# -- why it stops -------------------------------------------------------------------------------------------------


def test_a_text_without_any_choice_costs_no_pass() -> None:
    vocabulary = vocabulary_of("a", "b", "ab")
    engine = engine_of(vocabulary)
    result = generate(engine, Request(prompt_ids=[0], matcher=FiniteMatcher([b"abab"], vocabulary)))
    assert (result.text, result.stop_reason, result.complete) == ("abab", "grammar", True)
    assert result.token_ids == (2, 2)
    assert (result.usage.forward_passes, result.usage.forced_tokens) == (0, 2)


def test_the_end_token_is_not_paid_for_where_nothing_else_may_follow() -> None:
    vocabulary = vocabulary_of("a", "b", eos=2)
    engine = engine_of(vocabulary)
    request = Request(prompt_ids=[0], matcher=FiniteMatcher([b"a", b"b"], vocabulary), forced="off")
    result = generate(engine, request)
    assert (result.stop_reason, result.usage.forward_passes, len(result.token_ids)) == ("grammar", 1, 1)


@pytest.mark.parametrize("end", [2, 3])
def test_any_end_token_ends_the_text_where_more_could_follow(end: int) -> None:
    vocabulary = vocabulary_of("a", "b", eos=2)
    engine = engine_of(vocabulary, wish=[0, end])
    matcher = FiniteMatcher([b"a", b"ab"], vocabulary)
    result = generate(engine, Request(prompt_ids=[0], matcher=matcher, forced="off"))
    assert (result.text, result.stop_reason, result.complete) == ("a", "eos", True)
    assert result.token_ids == (0,)
    assert (result.usage.sampled_tokens, result.usage.forward_passes) == (2, 2)


def test_a_free_row_ends_with_the_end_token() -> None:
    engine = engine_of(vocabulary_of("a", "b"), wish=[0, 1, 2])
    result = generate(engine, Request(prompt_ids=[0]))
    assert (result.text, result.stop_reason, result.complete) == ("ab", "eos", True)


def test_a_cut_text_is_not_complete_even_where_it_might_have_ended() -> None:
    vocabulary = vocabulary_of("1", "2")
    engine = engine_of(vocabulary, wish=[0, 1, 0])
    matcher = FiniteMatcher([b"1", b"12", b"121"], vocabulary)
    cut = generate(engine, Request(prompt_ids=[0], matcher=matcher, max_tokens=2))
    assert (cut.text, cut.stop_reason, cut.complete) == ("12", "length", False)
    whole = generate(engine, Request(prompt_ids=[0], matcher=matcher, max_tokens=3))
    assert (whole.text, whole.stop_reason, whole.complete) == ("121", "grammar", True)


@pytest.mark.parametrize("mode", ["canonical", "exact"])
def test_forced_tokens_keep_to_the_limit(mode: ForcedMode) -> None:
    vocabulary = vocabulary_of("a", "b")
    engine = engine_of(vocabulary)
    matcher = FiniteMatcher([b"abababab"], vocabulary)
    result = generate(engine, Request(prompt_ids=[0], matcher=matcher, max_tokens=5, forced=mode))
    assert (result.text, result.stop_reason, result.complete) == ("ababa", "length", False)
    assert result.usage.forward_passes == 0


def test_the_context_bounds_the_output() -> None:
    engine = engine_of(vocabulary_of("a", "b"), wish=[0] * 20, prompt_length=3, context_length=8)
    result = generate(engine, Request(prompt_ids=[0, 0, 0], max_tokens=100))
    assert (len(result.token_ids), result.stop_reason, result.complete) == (5, "length", False)


def test_a_prompt_that_does_not_fit_is_refused_before_any_pass() -> None:
    engine = engine_of(vocabulary_of("a"), context_length=8)
    with pytest.raises(ContextTooLong) as caught:
        generate_tokens(engine, [Request(prompt_ids=[0]), Request(prompt_ids=[0] * 8)])
    assert (caught.value.needed, caught.value.available) == (9, 8)
    assert engine.model.passes == []  # type: ignore[attr-defined]


def test_a_stop_text_may_span_tokens() -> None:
    vocabulary = vocabulary_of("a", "xE", "ND", "y")
    engine = engine_of(vocabulary, wish=[0, 1, 2, 3])
    request = Request(prompt_ids=[0], stop=("zz", "END"))
    steps = list(generate_tokens(engine, [request]))
    result = steps[-1].result
    assert result is not None
    assert (result.text, result.stop_reason, result.complete) == ("ax", "stop_text", True)
    assert result.token_ids == (0, 1, 2)
    assert [step.text for step in steps if step.token_ids] == ["a", "x", ""]


def test_a_stop_text_inside_forced_text_ends_it_there() -> None:
    vocabulary = vocabulary_of("a", "b", "c")
    engine = engine_of(vocabulary)
    matcher = FiniteMatcher([b"abcabc"], vocabulary)
    result = generate(engine, Request(prompt_ids=[0], matcher=matcher, stop=("ca",)))
    assert (result.text, result.token_ids, result.stop_reason) == ("ab", (0, 1, 2, 0), "stop_text")
    assert not result.complete


def test_under_a_grammar_a_stop_text_leaves_a_complete_text_if_it_is_in_the_language() -> None:
    vocabulary = vocabulary_of("a", "b", "c")
    engine = engine_of(vocabulary, wish=[0, 1, 2])
    matcher = FiniteMatcher([b"ab", b"abc", b"abcc"], vocabulary)
    result = generate(engine, Request(prompt_ids=[0], matcher=matcher, stop=("c",)))
    assert (result.text, result.stop_reason, result.complete) == ("ab", "stop_text", True)


def test_held_back_text_comes_with_the_last_step() -> None:
    engine = engine_of(vocabulary_of("a", "E", "N"), wish=[0, 1, 2, 3])
    steps = list(generate_tokens(engine, [Request(prompt_ids=[0], stop=("END",))]))
    assert [step.text for step in steps] == ["", "a", "", "", "EN"]
    assert steps[-1].result is not None
    assert steps[-1].result.text == "aEN"


# -- what may be drawn --------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(sampling=samplings, seed=st.integers(0, 1000))
def test_ids_without_text_are_never_drawn_without_a_grammar(sampling: SamplingConfig, seed: int) -> None:
    vocabulary = vocabulary_of("a", "b", None, "c", None, "d", None, "e", "f", size=16)
    engine = engine_of(vocabulary, seed=seed, wish=[2, 4, 6, 10, 15, 12, 13, 14] * 2)
    result = generate(engine, Request(prompt_ids=[0], sampling=sampling, max_tokens=16))
    assert all(vocabulary.tokens[token_id] is not None for token_id in result.token_ids)


def test_processors_see_the_step_and_change_the_choice() -> None:
    seen: list[tuple[list[int], list[int], int]] = []

    def ban_first(context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        seen.append((list(context.prompt_ids[0]), list(context.output_ids[0]), context.positions[0]))
        logits[:, 0] = -torch.inf
        return logits

    vocabulary = vocabulary_of("a", "b")
    engine = engine_of(vocabulary, wish=[0, 0, 0], prompt_length=2)
    matcher = FiniteMatcher([b"aa", b"ab", b"ba", b"bb"], vocabulary)
    result = generate(engine, Request(prompt_ids=[1, 1], matcher=matcher), processors=[ban_first])
    assert result.text == "bb"
    assert seen == [([1, 1], [], 0), ([1, 1], [1], 1)]


def test_a_processor_cannot_bring_back_what_the_grammar_forbids() -> None:
    def only_first(context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        logits[:, 0] = 1e9
        return logits

    vocabulary = vocabulary_of("a", "b", "c")
    engine = engine_of(vocabulary)
    matcher = FiniteMatcher([b"bc", b"cb"], vocabulary)
    assert generate(engine, Request(prompt_ids=[0], matcher=matcher), processors=[only_first]).text in ("bc", "cb")


def test_bad_logits_name_the_position() -> None:
    engine = engine_of(vocabulary_of("a", "b"), wish=[0, 0, 0, 0], bad_after=2)
    with pytest.raises(LogitsError, match=r"the forward pass: NaN .* at output position 2"):
        generate(engine, Request(prompt_ids=[0]))


def test_a_dead_end_is_an_error() -> None:
    vocabulary = vocabulary_of("a", "ac")
    engine = engine_of(vocabulary)
    with pytest.raises(NoTokenAllowed, match="output position 1"):
        generate(engine, Request(prompt_ids=[0], matcher=FiniteMatcher([b"ab"], vocabulary), forced="off"))


# -- streaming ----------------------------------------------------------------------------------------------------


@given(language=languages(), mode=modes, seed=st.integers(0, 99))
def test_the_stream_is_the_text(language: Language, mode: ForcedMode, seed: int) -> None:
    vocabulary, texts = language
    engine = engine_of(vocabulary, seed=seed)
    request = Request(prompt_ids=[0], matcher=FiniteMatcher(texts, vocabulary), forced=mode)
    pieces = list(stream_text(engine, request))
    assert all(pieces)
    assert "".join(pieces) == generate(engine, request).text


def test_text_comes_as_it_is_settled() -> None:
    engine = engine_of(vocabulary_of("a", b"\xc3", b"\xa9", "b"), wish=[0, 1, 2, 3, 4])
    steps = generate_tokens(engine, [Request(prompt_ids=[0])])
    pieces = [(step.text, len(engine.model.passes)) for step in steps]  # type: ignore[attr-defined]
    assert pieces == [("", 0), ("a", 1), ("", 2), ("é", 3), ("b", 4), ("", 5)]


class Remembering(FakeModel):
    """Keeps weak references to its caches."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.references: list[weakref.ref[FakeCache]] = []

    def new_cache(self, batch_size: int, capacity: int) -> FakeCache:
        cache = super().new_cache(batch_size, capacity)
        self.references.append(weakref.ref(cache))
        return cache


@pytest.mark.parametrize("how", ["close", "drop", "error", "end"])
def test_the_cache_is_freed_however_it_ends(how: str) -> None:
    vocabulary = vocabulary_of("a", "b")
    engine = engine_of(vocabulary)
    model = Remembering(vocabulary.size, wish=[0] * 9, bad_after=3 if how == "error" else None)
    engine = replace(engine, model=model)
    steps = generate_tokens(engine, [Request(prompt_ids=[0], max_tokens=6)] * 2)
    for _ in range(4):
        next(steps)
    assert [reference() is not None for reference in model.references] == [True, True]
    if how == "close":
        steps.close()
    elif how == "drop":
        del steps
    elif how == "error":
        with pytest.raises(LogitsError):
            list(steps)
    else:
        list(steps)
    gc.collect()
    assert [reference() for reference in model.references] == [None, None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt_ids": []}, "prompt_ids: expected at least one id"),
        ({"max_tokens": 0}, "max_tokens: expected at least 1, got 0"),
        ({"stream": -1}, "stream: expected at least 0, got -1"),
        ({"stream": 2**64}, "stream: expected at most 18,446"),
        ({"forced": "always"}, "forced: expected one of 'canonical', 'exact', 'off', got str 'always'"),
        ({"stop": "END"}, r"stop: expected a sequence of texts, got the text 'END'; write \('END',\)"),
        ({"stop": ("",)}, "stop: expected texts of at least one character"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Request(**({"prompt_ids": [0]} | options))


@pytest.mark.parametrize(
    "options", [{"max_tokens": 2.5}, {"max_tokens": None}, {"stream": "1"}, {"stop": 5}, {"prompt_ids": ["a"]}], ids=str
)
def test_what_is_of_another_type_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(TypeError, match=f"{name}: expected"):
        Request(**({"prompt_ids": [0]} | options))
