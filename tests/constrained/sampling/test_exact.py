"""Every sampler against its law, by exact enumeration; noise floors are stated before the draws are made.

Seeds are fixed. A right sampler stays below 2.5 times the mean total variation of as many draws from the law itself.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from constrained.errors import NoSample
from constrained.loop import generate
from constrained.sampling import Drawer
from constrained.sampling.beams import BeamSearch
from constrained.sampling.particles import ParticleSampler, adaptive_rejection
from constrained.sampling.trie import TrieSampler
from grammars.jit import CHECKED

from . import toy

pytestmark = pytest.mark.skipif(CHECKED, reason="no kernels of their own, and slow enough without")


@pytest.mark.parametrize("is_local", [False, True])
def test_cars_draws_from_the_model_among_the_texts_of_the_grammar(is_local: bool) -> None:
    """With masks that know the way to the end, and with some that lead nowhere."""
    law, number = toy.target(), 1200
    sampler = TrieSampler(toy.ENGINE, toy.request(sampling="cars", is_local=is_local))
    counts = Counter(sampler.draw(stream).token_ids for stream in range(number))
    assert set(counts) <= set(law)
    assert toy.total_variation(counts, law) < 2.5 * toy.noise_floor(law, number)
    assert sampler.walks < 1.2 * number  # it learns: plain rejection takes 2.5 walks a text


def test_local_masking_is_far_from_the_model_and_says_so() -> None:
    law, number = toy.target(), 800
    results = [generate(toy.ENGINE, toy.request(seed=seed)) for seed in range(number)]
    counts = Counter(result.token_ids for result in results if result.complete)
    assert toy.total_variation(counts, law) > 2.5 * toy.noise_floor(law, number)
    # Weighted by W, the same texts estimate the probability of the grammar and follow the law.
    weights = np.array([math.exp(result.log_weight) if result.complete else 0.0 for result in results])
    assert abs(weights.mean() - toy.total_probability()) < 4 * weights.std() / math.sqrt(number)
    shares: Counter[Any] = Counter()
    for result, weight in zip(results, weights, strict=True):
        if weight:
            shares[result.token_ids] += float(weight)  # type: ignore[assignment]
    assert toy.total_variation(shares, law) < 4 * toy.noise_floor(law, number)


def test_asap_comes_closer_to_the_model_draw_by_draw() -> None:
    law = toy.target()

    def distance(max_draws: int) -> float:
        drawn = (
            TrieSampler(toy.ENGINE, toy.request(sampling="asap", max_draws=max_draws)).draw(stream)
            for stream in range(100)
        )
        return toy.total_variation(Counter(text.token_ids for text in drawn), law)

    early, late = distance(1), distance(60)
    assert late < early
    assert late < 2.5 * toy.noise_floor(law, 100)


@pytest.mark.parametrize("method", ["smc", "awrs"])
@pytest.mark.parametrize(("particles", "runs"), [(1, 600), (8, 80)])
@pytest.mark.parametrize("is_local", [False, True])
def test_the_mean_weight_is_an_unbiased_estimate(method: str, particles: int, runs: int, is_local: bool) -> None:
    sampler = ParticleSampler(toy.ENGINE, toy.request(sampling=method, particles=particles, is_local=is_local))
    estimates = np.array([math.exp(sampler.run(stream)[1]) for stream in range(runs)])
    error = estimates.std() / math.sqrt(runs)
    assert abs(estimates.mean() - toy.total_probability()) < 4 * error


@pytest.mark.parametrize("method", ["smc", "awrs"])
def test_particles_follow_the_model(method: str) -> None:
    """Up to O(1 / particles), which 16 particles keep near the noise."""
    law, number = toy.target(), 150
    sampler = ParticleSampler(toy.ENGINE, toy.request(sampling=method, particles=16))
    counts = Counter(sampler.draw(stream).token_ids for stream in range(number))
    assert set(counts) <= set(law)
    assert toy.total_variation(counts, law) < 2.5 * toy.noise_floor(law, number)


@pytest.mark.parametrize(
    ("chances", "allowed"),
    [
        ([0.05, 0.4, 0.02, 0.3, 0.23], {0, 1, 2}),
        ([0.9, 0.05, 0.05], {1, 2}),
        ([0.999, 0.001], {1}),
        ([1.0], {0}),
        ([0.2, 0.8], {0}),
    ],
)
def test_adaptive_rejection_is_unbiased_for_every_token(chances: list[float], allowed: set[int]) -> None:
    generator = np.random.Generator(np.random.Philox(17))
    number = 8000
    sums, squares = np.zeros(len(chances)), np.zeros(len(chances))
    for _ in range(number):
        index, weight = adaptive_rejection(np.array(chances), allowed.__contains__, generator)
        assert index in allowed
        sums[index] += weight
        squares[index] += weight**2
    for index in allowed:
        mean = sums[index] / number
        error = math.sqrt(max(squares[index] / number - mean**2, 1e-12) / number)
        assert abs(mean - chances[index]) < 4.5 * error + 1e-9


def test_adaptive_rejection_tells_that_nothing_is_allowed() -> None:
    generator = np.random.Generator(np.random.Philox(1))
    assert adaptive_rejection(np.array([0.5, 0.5]), lambda _: False, generator) == (-1, 0.0)


def test_beams_find_the_most_probable_texts() -> None:
    """As wide as the toy has beginnings, the search is exhaustive."""
    found = BeamSearch(toy.ENGINE, toy.request(num_beams=200, temperature=0.0)).search()
    best = sorted(toy.texts(), key=toy.probability, reverse=True)
    assert [text.token_ids for text in found[:5]] == best[:5]
    assert found[0].mean_logprob * (len(best[0]) + 1) == pytest.approx(math.log(toy.probability(best[0])), abs=1e-4)


@pytest.mark.parametrize("method", ["cars", "asap", "smc", "awrs"])
def test_a_seed_and_a_stream_name_a_text(method: str) -> None:
    settings = {"sampling": method, "particles": 4, "max_draws": 50}
    for stream in (0, 5):
        texts = [Drawer(toy.ENGINE, toy.request(**settings)).draw(stream).token_ids for _ in range(2)]
        assert texts[0] == texts[1]
    many = {Drawer(toy.ENGINE, toy.request(**settings)).draw(stream).token_ids for stream in range(12)}
    assert len(many) > 2


@pytest.mark.parametrize("method", ["cars", "asap", "smc", "awrs"])
def test_a_grammar_that_no_text_reaches_is_told(method: str) -> None:
    class Nothing(toy.ToyMatcher):
        def allows(self, token_id: int) -> bool:
            return token_id != toy.END and len(self.ids) < 2

        def fork(self) -> Nothing:
            return Nothing(self.ids)

    request = toy.request(sampling=method, particles=4)
    object.__setattr__(request, "matcher", Nothing())
    with pytest.raises(NoSample, match=f"sampling='{method}': none of"):
        Drawer(toy.ENGINE, request).draw(0)


def test_stop_texts_and_processors_do_not_go_with_whole_texts() -> None:
    request = toy.request(sampling="cars")
    with pytest.raises(ValueError, match="processors: sampling='cars' follows the model's own distribution"):
        Drawer(toy.ENGINE, request, [lambda context, logits: logits])


def law_of_trie(sampler: TrieSampler) -> dict[toy.Text, float]:
    """The exact law of the next walk of ``asap``, by enumeration of its trie's weights."""
    law: dict[toy.Text, float] = {}

    def go(node: Any, ids: list[int], chance: float, matcher: Any) -> None:
        weights = sampler._read(node, ids, matcher).weights()
        for token_id in np.flatnonzero(weights).tolist():
            share = chance * float(weights[token_id]) / float(weights.sum())
            if token_id == toy.END:
                law[tuple(ids)] = share
                continue
            ahead = matcher.fork()
            ahead.consume(token_id)
            go(node.children.get(token_id, type(node)()), [*ids, token_id], share, ahead)

    go(sampler._root, [], 1.0, toy.ToyMatcher())
    return law


def test_the_law_of_asap_comes_closer_in_divergence_with_what_it_learns() -> None:
    target, divergences = toy.target(), []
    for max_draws in (1, 10, 100, 1000):
        sampler = TrieSampler(toy.ENGINE, toy.request(sampling="asap", max_draws=max_draws))
        sampler.draw(0)
        law = law_of_trie(sampler)
        assert sum(law.values()) == pytest.approx(1.0)
        divergences.append(sum(share * math.log(share / law[text]) for text, share in target.items()))
    assert divergences == sorted(divergences, reverse=True)
    assert divergences[0] > 1.0
    assert divergences[-1] < 0.01
