"""Rows that share passes: each is what it would be alone, in whatever company, and whatever befalls the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from constrained.errors import ContextTooLong, LogitsError
from constrained.loop import Engine, PrefixCache, Request, Step, generate, run_requests
from constrained.loop.prefix_cache import BLOCK
from constrained.loop.schedule import source_of
from constrained.model.cpu import CpuLlama
from constrained.result import ForcedMode, GenerationResult
from constrained.sampling_config import SamplingConfig
from constrained.testing.tiny import tiny_llama
from grammars.vocabulary import Vocabulary

from .fakes import FakeModel, FiniteMatcher, engine_of, languages, vocabulary_of

modes = st.sampled_from(["canonical", "exact", "off"])
samplings = st.builds(
    SamplingConfig,
    temperature=st.sampled_from([0.0, 1.0, 3.0]),
    top_k=st.none() | st.integers(1, 5),
    seed=st.integers(0, 1000),
)


def results_of(
    engine: Engine, requests: Sequence[Request], *, batch_size: int
) -> dict[int, GenerationResult | BaseException]:
    """What came of each, by index."""
    ended: dict[int, GenerationResult | BaseException] = {}
    for step in run_requests(engine, source_of(requests), batch_size=batch_size):
        if step.result is not None:
            ended[step.row] = step.result
        if step.error is not None:
            ended[step.row] = step.error
    return ended


def same(left: Any, right: GenerationResult) -> bool:
    return (left.token_ids, left.text, left.stop_reason, left.complete) == (
        right.token_ids, right.text, right.stop_reason, right.complete,
    )  # fmt: skip


@settings(max_examples=60)
@given(
    language=languages(),
    rows=st.lists(
        st.tuples(st.booleans(), modes, samplings, st.integers(1, 12), st.integers(1, 100), st.sampled_from([0, 3])),
        min_size=1,
        max_size=7,
    ),
    batch_size=st.integers(1, 4),
    seed=st.integers(0, 99),
    prefix_bytes=st.sampled_from([None, 0, 300, 10_000]),
)
def test_rows_are_those_of_single_runs(
    language: tuple[Vocabulary, list[bytes]],
    rows: list[tuple[bool, ForcedMode, SamplingConfig, int, int, int]],
    batch_size: int,
    seed: int,
    prefix_bytes: int | None,
) -> None:
    vocabulary, texts = language
    plain = engine_of(vocabulary, seed=seed)
    requests = [
        Request(
            prompt_ids=[index % 2, *(place % 5 for place in range(length))],
            matcher=FiniteMatcher(texts, vocabulary) if constrained else None,
            sampling=sampling,
            stream=index,
            forced=mode,
            max_tokens=limit,
            drafts=drafts,
        )
        for index, (constrained, mode, sampling, limit, length, drafts) in enumerate(rows)
    ]
    engine = replace(plain, prefix_cache=None if prefix_bytes is None else PrefixCache(max_bytes=prefix_bytes))
    together = results_of(engine, requests, batch_size=batch_size)
    assert sorted(together) == list(range(len(requests)))
    for index, request in enumerate(requests):
        assert same(together[index], generate(plain, replace(request, drafts=0)))


def test_rows_join_as_others_end() -> None:
    vocabulary = vocabulary_of("a", "b")
    engine = engine_of(vocabulary)
    alive: list[int] = []
    taken: list[int] = []

    def source() -> Request | None:
        if len(taken) == 5:
            return None
        taken.append(len(taken))
        return Request(prompt_ids=[0], max_tokens=1 + 2 * len(taken), sampling=SamplingConfig(temperature=9))

    begun: set[int] = set()
    for step in run_requests(engine, source, batch_size=2):
        begun.add(step.row)
        alive = [*{*alive, step.row}]
        assert len(alive) <= 2
        if step.result is not None:
            alive.remove(step.row)
            assert len(taken) <= len(begun) + 1  # none is asked for before there is room
    assert begun == set(range(5))


def test_a_row_that_fails_leaves_the_others() -> None:
    vocabulary = vocabulary_of("a", "b", "ac")
    engine = engine_of(vocabulary, context_length=12)
    hopeless = FiniteMatcher([b"ab", b"ad"], vocabulary_of("a", "b", "d"))
    fine = Request(prompt_ids=[0], max_tokens=6)
    requests = [
        fine,
        Request(prompt_ids=[0] * 12),  # does not fit
        replace(fine, prompt_ids=[1]),
        Request(prompt_ids=[0], matcher=_NoWay([b"ab"], vocabulary), forced="off"),
        replace(fine, prompt_ids=[2]),
    ]
    assert hopeless.allowed()
    ended = results_of(engine, requests, batch_size=3)
    assert isinstance(ended[1], ContextTooLong)
    assert "output position 1" in str(ended[3])
    for index in (0, 2, 4):
        assert same(ended[index], generate(engine, requests[index]))


class _NoWay(FiniteMatcher):
    """Lets nothing follow the first letter."""

    def _allows(self, token_id: int) -> bool:
        return not self.written and super()._allows(token_id)

    def fork(self) -> _NoWay:
        other = _NoWay(self._texts, self._vocabulary)
        other._states = self._states.copy()
        return other


class _SometimesBad(FakeModel):
    """NaN for prompts that begin with id 1."""

    def _logits_after(self, ids: list[int]) -> Any:
        logits = super()._logits_after(ids)
        if ids[0] == 1 and len(ids) > 2:
            logits[0] = float("nan")
        return logits


def test_bad_logits_of_one_row_leave_the_others() -> None:
    vocabulary = vocabulary_of("a", "b")
    plain = engine_of(vocabulary)
    engine = replace(plain, model=_SometimesBad(vocabulary.size))
    requests = [Request(prompt_ids=[first], max_tokens=4) for first in (0, 1, 0, 1)]
    ended = results_of(engine, requests, batch_size=4)
    assert isinstance(ended[1], LogitsError)
    assert isinstance(ended[3], LogitsError)
    assert ended[1].position == 2
    for index in (0, 2):
        assert same(ended[index], generate(plain, requests[index]))


@pytest.mark.parametrize("end", [Step, RuntimeError])
def test_ending_in_the_middle_frees_the_rows(end: type) -> None:
    vocabulary = vocabulary_of("a", "b")
    engine = engine_of(vocabulary)
    steps = run_requests(engine, source_of([Request(prompt_ids=[0], max_tokens=50)] * 6), batch_size=3)
    for _ in range(8):
        next(steps)
    if end is Step:
        steps.close()
    else:
        with pytest.raises(RuntimeError):
            steps.throw(RuntimeError())
    assert list(steps) == []


# -- prompts that begin alike -------------------------------------------------------------------------------------


def fed(engine: Engine) -> int:
    passes: list[list[int]] = engine.model.passes  # type: ignore[attr-defined]
    return sum(map(len, passes))


@pytest.mark.parametrize("length", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 1, 100])
def test_prompts_of_any_length_give_what_they_give_uncached(length: int) -> None:
    vocabulary = vocabulary_of("a", "b", "c")
    plain = engine_of(vocabulary)
    engine = replace(engine_of(vocabulary), prefix_cache=PrefixCache(max_bytes=100_000))
    prompt = [place % 3 for place in range(length)]
    request = Request(prompt_ids=prompt, max_tokens=5)
    first, second = generate(engine, request), generate(engine, request)
    assert same(first, generate(plain, request))
    assert same(second, first)
    assert (first.usage.cached_prompt_tokens, first.usage.prompt_tokens) == (0, length)
    assert second.usage.cached_prompt_tokens == (length - 1) // BLOCK * BLOCK


def test_what_prompts_share_is_computed_once() -> None:
    vocabulary = vocabulary_of("a", "b", "c")
    shared = [place % 3 for place in range(5 * BLOCK)]
    requests = [Request(prompt_ids=[*shared, *[index % 3] * 10, index // 3], max_tokens=2) for index in range(9)]
    engine = replace(engine_of(vocabulary), prefix_cache=PrefixCache(max_bytes=10**6))
    together = results_of(engine, requests, batch_size=4)
    assert fed(engine) < len(shared) + 9 * (11 + 2 + 1)
    plain = engine_of(vocabulary)
    for index, request in enumerate(requests):
        assert same(together[index], generate(plain, request))


def test_the_prefix_cache_is_bounded_and_keeps_what_was_used_last() -> None:
    vocabulary = vocabulary_of("a", "b", "c")
    cache = PrefixCache(max_bytes=4 * BLOCK * 4)
    engine = replace(engine_of(vocabulary), prefix_cache=cache)
    for first in (0, 1, 0, 2, 0):
        generate(engine, Request(prompt_ids=[first] * (2 * BLOCK + 1), max_tokens=1))
        assert cache.num_bytes <= cache.max_bytes
    cached = generate(engine, Request(prompt_ids=[0] * (2 * BLOCK + 1), max_tokens=1)).usage.cached_prompt_tokens
    assert cached == 2 * BLOCK
    lost = generate(engine, Request(prompt_ids=[1] * (2 * BLOCK + 1), max_tokens=1)).usage.cached_prompt_tokens
    assert lost == 0
    cache.clear()
    assert cache.num_bytes == 0


@pytest.mark.parametrize(
    ("max_bytes", "error", "message"),
    [(-1, ValueError, "max_bytes: expected at least 0"), (1.5, TypeError, "max_bytes: expected a whole number")],
)
def test_bounds_that_are_none(max_bytes: Any, error: type[Exception], message: str) -> None:
    make: Callable[..., PrefixCache] = PrefixCache
    with pytest.raises(error, match=message):
        make(max_bytes=max_bytes)


# -- long prompts -------------------------------------------------------------------------------------------------


def test_a_long_prompt_is_cut_and_others_go_on_meanwhile() -> None:
    vocabulary = vocabulary_of("a", "b")
    engine = engine_of(vocabulary, context_length=5000, wish=[0] * 800)
    requests = [Request(prompt_ids=[0], max_tokens=30), Request(prompt_ids=[1] * 700, max_tokens=3)]
    requests.insert(1, Request(prompt_ids=[0, 1], max_tokens=2))
    order = [step.row for step in run_requests(engine, source_of(requests), batch_size=2) if step.token_ids]
    first = order.index(2)
    assert order[:first].count(0) >= 5  # not one pass of 700 before the others go on
    passes: list[list[int]] = engine.model.passes  # type: ignore[attr-defined]
    assert max(map(len, passes)) <= 128
    together = results_of(engine, requests, batch_size=2)
    for index, request in enumerate(requests):
        assert same(together[index], generate(engine, request))


@pytest.mark.parametrize("kind", ["torch", "cpu"])
def test_caches_of_models_give_out_blocks_and_take_them(kind: str) -> None:
    llama = tiny_llama(vocab_size=300)
    model: Any = llama if kind == "torch" else CpuLlama.from_llama(llama)
    ids = [(7 * place) % 300 for place in range(3 * BLOCK + 5)]
    whole, other = model.new_cache(1, 200), model.new_cache(1, 200)
    model.forward_rows([ids], [whole])
    blocks = [whole.copy_out(BLOCK * index, BLOCK * (index + 1)) for index in range(3)]
    assert len({block.num_bytes for block in blocks}) == 1
    for block in blocks:
        other.append(block)
    assert other.length == 3 * BLOCK
    expected = model.forward_rows([[9, 8, 7]], [whole])
    model.forward_rows([ids[3 * BLOCK :]], [other])
    actual = model.forward_rows([[9, 8, 7]], [other])
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=0)
    if kind == "cpu":
        assert torch.equal(actual, expected)
    whole.truncate(2 * BLOCK)
    model.forward_rows([[1, 2, 3]], [whole])  # what was given out stays as it was
    third = model.new_cache(1, 200)
    for block in blocks:
        third.append(block)
    model.forward_rows([ids[3 * BLOCK :]], [third])
    torch.testing.assert_close(model.forward_rows([[9, 8, 7]], [third]), expected, atol=1e-5, rtol=0)
    with pytest.raises(ValueError, match=f"cannot copy tokens 0 to {4 * BLOCK}"):
        third.copy_out(0, 4 * BLOCK)
