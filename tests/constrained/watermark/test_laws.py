"""Free positions, green lists, tournaments and exact tails, each against a slow twin."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from constrained.philox import WATERMARK, draw_key, philox_word
from constrained.watermark import WatermarkConfig, WatermarkKey
from constrained.watermark.contexts import Marker, first_bytes_of, free_bitmask_of, is_free, nonce_of
from constrained.watermark.green import SMALL, add_to_green, few_allowed, green_of_few, threshold_of
from constrained.watermark.statistics import (
    any_of,
    combined,
    gamma_tail,
    poisson_binomial_tail,
    weighted_bits_tail,
    weighted_tail,
)
from constrained.watermark.tournament import layer_weights, play
from grammars.vocabulary import Vocabulary

KEY = WatermarkKey.from_text("00" * 16)
keys = st.builds(
    lambda seed, stream: draw_key(seed=seed, stream=stream, position=0, purpose=WATERMARK),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
)
NO_IDS = np.empty(0, np.int64)


def bitmask(allowed: list[bool]) -> np.ndarray:
    padded = np.zeros(-(-len(allowed) // 32) * 32, np.bool_)
    padded[: len(allowed)] = allowed
    return np.packbits(padded, bitorder="little").view(np.int32)


@given(data=st.data(), tokens=st.lists(st.sampled_from([b"a", b"ab", b"b", b"\xff", None]), min_size=1, max_size=80))
def test_a_position_is_free_where_two_allowed_tokens_begin_differently(
    data: st.DataObject, tokens: list[bytes | None]
) -> None:
    vocabulary = Vocabulary.from_bytes([*tokens, None], eos_token_ids=[len(tokens)])
    allowed = data.draw(st.lists(st.booleans(), min_size=vocabulary.size, max_size=vocabulary.size))
    beginnings = {token[0] if token else "end" for token, bit in zip(vocabulary.tokens, allowed, strict=True) if bit}
    assert is_free(bitmask(allowed), first_bytes_of(vocabulary)) == (len(beginnings) > 1)


def test_without_a_grammar_text_and_ends_are_allowed() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", None, b"b", None], eos_token_ids=[3])
    assert free_bitmask_of(vocabulary).tolist() == [0b1101]


def test_nonces_of_consecutive_streams_and_attempts_differ() -> None:
    config = WatermarkConfig(key_file="a")
    assert len({nonce_of(config, seed=5, stream=stream) for stream in range(16)}) == 16
    assert nonce_of(config, seed=5, stream=3) != nonce_of(config, seed=5, stream=3 + 2**32)
    assert {nonce_of(WatermarkConfig(scheme="kgw", key_file="a"), seed=seed, stream=0) for seed in range(9)} == {0}


def test_contexts_depend_on_key_schema_nonce_and_the_last_tokens() -> None:
    config = WatermarkConfig(key_file="a")
    markers = [
        Marker(config, KEY, nonce=0),
        Marker(config, KEY, nonce=1),
        Marker(config, WatermarkKey.from_text("01" * 16), nonce=0),
        Marker(config.model_copy(update={"schema_digest": "x"}), KEY, nonce=0),
    ]
    contexts = [marker.context_of(ids) for marker in markers for ids in ([], [1], [0, 1], [1, 2, 3, 4], [2, 3, 4])]
    assert len(set(contexts)) == len(contexts)
    assert markers[0].context_of([9, 1, 2, 3, 4]) == markers[0].context_of([1, 2, 3, 4])


@given(key=keys, size=st.integers(1, SMALL), gamma=st.sampled_from([0.1, 0.25, 0.5, 0.9]))
def test_ranked_lists_have_their_share_of_the_smallest_words(key: np.ndarray, size: int, gamma: float) -> None:
    ids = np.arange(size, dtype=np.int64) * 7
    green = green_of_few(ids, key, gamma)
    words = [int(philox_word(int(token_id), key)) for token_id in ids]
    assert green.sum() == max(1, round(gamma * size))
    assert max(word for word, bit in zip(words, green, strict=True) if bit) <= min(
        (word for word, bit in zip(words, green, strict=True) if not bit), default=2**32
    )


def test_few_are_counted_without_ends() -> None:
    vocabulary = Vocabulary.from_bytes([b"%d" % number for number in range(100)] + [None], eos_token_ids=[100])
    for count, few in ((2, True), (SMALL, True), (SMALL + 1, False), (90, False)):
        words = bitmask([number < count for number in range(100)] + [True])
        allowed = few_allowed(words, vocabulary)
        assert (allowed is not None) == few
        assert allowed is None or allowed.tolist() == list(range(count))


@given(key=keys, size=st.integers(1, 700), gamma=st.sampled_from([1e-9, 0.25, 0.999]))
def test_exactly_the_green_are_raised(key: np.ndarray, size: int, gamma: float) -> None:
    logits = np.zeros(size, np.float32)
    logits[::3] = -np.inf
    expected = [
        -np.inf if token_id % 3 == 0 else 2.0 * (int(philox_word(token_id, key)) < threshold_of(gamma))
        for token_id in range(size)
    ]
    words = np.empty((4, 16), np.uint32)
    for ids in (NO_IDS, np.arange(size, dtype=np.int64)):
        raised = logits.copy()
        add_to_green(raised, ids, key, threshold_of(gamma), np.float32(2.0), words)
        assert raised.tolist() == expected


@given(
    key=keys,
    layers=st.integers(1, 32),
    logits=hnp.arrays(
        np.float32,
        st.integers(1, 40),
        elements=st.one_of(st.floats(-30, 30, width=32), st.just(-np.inf), st.sampled_from([3.0e38, -3.0e38])),
    ).filter(lambda row: bool(row.max() > -np.inf)),
)
def test_a_tournament_is_the_twin_s(key: np.ndarray, layers: int, logits: np.ndarray) -> None:
    size = len(logits)
    weights = [math.exp(float(logit) - float(logits.max())) for logit in logits]
    total = sum(weights)
    weights = [weight / total for weight in weights]
    for layer in range(layers):
        bits = [(int(philox_word(column, key)) >> layer) & 1 for column in range(size)]
        won = min(sum(weight for weight, bit in zip(weights, bits, strict=True) if bit), 1.0)
        weights = [weight * (1 + bit - won) for weight, bit in zip(weights, bits, strict=True)]
    for ids in (NO_IDS, np.arange(size, dtype=np.int64)):
        played = logits.copy()
        play(played, ids, key, layers)
        assert played.max() > -np.inf
        assert not np.isnan(played).any()
        assert (played[np.isneginf(logits)] == -np.inf).all()
        np.testing.assert_allclose(np.exp(played.astype(float)), weights, rtol=1e-5, atol=1e-9)


def brute(weights: list[int], chances: list[float], score: int) -> float:
    return sum(
        math.prod(chance if hit else 1 - chance for chance, hit in zip(chances, hits, strict=True))
        for hits in itertools.product((0, 1), repeat=len(weights))
        if sum(weight * hit for weight, hit in zip(weights, hits, strict=True)) >= score
    )


@given(
    events=st.lists(st.tuples(st.integers(1, 5), st.floats(0.01, 0.99)), min_size=1, max_size=8),
    score=st.integers(-1, 42),
)
def test_tails_of_sums_are_those_of_all_outcomes(events: list[tuple[int, float]], score: int) -> None:
    weights, chances = [weight for weight, _ in events], [chance for _, chance in events]
    assert weighted_tail(weights, chances, score) == pytest.approx(brute(weights, chances, score), abs=1e-12)
    assert poisson_binomial_tail(chances, score) == pytest.approx(brute([1] * len(events), chances, score), abs=1e-12)


@given(weights=st.lists(st.integers(1, 6), min_size=1, max_size=4), repeats=st.integers(1, 3), score=st.integers(0, 80))
def test_tails_of_bits_are_those_of_all_outcomes(weights: list[int], repeats: int, score: int) -> None:
    expected = brute(weights * repeats, [0.5] * len(weights) * repeats, score)
    assert weighted_bits_tail(np.array(weights), repeats, score) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_small_tails_keep_their_precision() -> None:
    layers = layer_weights(30)
    assert weighted_bits_tail(layers, 20, int(layers.sum()) * 20) == pytest.approx(2.0**-600, rel=1e-6)
    assert poisson_binomial_tail([0.25] * 300, 300) == pytest.approx(0.25**300, rel=1e-9)
    assert gamma_tail(2, 400.0) == pytest.approx(401 * math.exp(-400), rel=1e-9)


def test_p_values_combine() -> None:
    assert any_of(0.01, 16) == pytest.approx(1 - 0.99**16)
    assert combined([0.1, 0.1]) == pytest.approx(0.01 * (1 - math.log(0.01)))
