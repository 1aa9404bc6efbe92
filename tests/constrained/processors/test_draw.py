"""The draw: its law, its keys, and that nothing masked ever wins."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from constrained.philox import MAX_POSITION, gumbel
from constrained.processors import draw as draw_module
from constrained.processors.draw import draw, draw_tensor
from constrained.sampling_config import SamplingConfig
from grammars.jit import CHECKED

from . import reference

SAMPLED = SamplingConfig(temperature=1.0)
GREEDY = SamplingConfig()
words_64 = st.integers(0, 2**64 - 1)
logit = st.one_of(
    st.floats(-40, 40, width=32), st.just(-math.inf), st.sampled_from([0.0, -3.0e38, 3.0e38, 1.0e-40, -87.5])
)


def vectors(max_size: int) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(np.float32, st.integers(1, max_size), elements=logit)


def test_noise_is_finite_at_both_ends_of_the_grid() -> None:
    ends = [float(gumbel(np.uint32(word))) for word in (0, 2**32 - 1)]
    assert ends == [reference.gumbel(0), reference.gumbel(2**32 - 1)]
    assert ends == pytest.approx([-math.log(33 * math.log(2)), 33 * math.log(2)])


def test_the_bounds_are_above_the_noise_of_their_bucket() -> None:
    for bucket in (0, 1, 2, 1000, 4094, 4095):
        last_word = ((bucket + 1) << 20) - 1
        assert 0 < draw_module._BOUNDS[bucket] - reference.gumbel(last_word) < 2e-9


@given(logits=vectors(600), seed=words_64, stream=words_64, position=st.integers(0, MAX_POSITION))
def test_the_wide_draw_is_the_twin_s(logits: np.ndarray, seed: int, stream: int, position: int) -> None:
    context = reference.context(
        SamplingConfig(temperature=1.0, seed=seed), vocab_size=len(logits), positions=[position], streams=[stream]
    )
    expected = reference.draw(logits.tolist(), range(len(logits)), seed=seed, stream=stream, position=position)
    tensor = torch.from_numpy(logits)[None]
    assert draw(context, tensor) == [expected]
    assert draw_tensor(context, tensor).tolist() == [expected]


@given(data=st.data(), seed=words_64, position=st.integers(0, 1000))
def test_the_narrow_draw_is_the_twin_s(data: st.DataObject, seed: int, position: int) -> None:
    logits = data.draw(vectors(40))
    ids = sorted(data.draw(st.sets(st.integers(0, 200_000), min_size=len(logits), max_size=len(logits))))
    context = reference.context(
        SamplingConfig(temperature=1.0, seed=seed),
        vocab_size=200_001,
        positions=[position],
        token_ids=torch.tensor([ids]),
    )
    expected = reference.draw(logits.tolist(), ids, seed=seed, stream=0, position=position)
    tensor = torch.from_numpy(logits)[None]
    assert draw(context, tensor) == [expected]
    assert draw_tensor(context, tensor).tolist() == [expected]


@given(logits=vectors(300), positions=st.lists(st.integers(0, 50), min_size=2, max_size=5))
def test_a_row_draws_what_it_draws_alone(logits: np.ndarray, positions: list[int]) -> None:
    rows = len(positions)
    tensor = torch.from_numpy(np.tile(logits, (rows, 1)))
    together = draw(reference.context(*[SAMPLED] * rows, vocab_size=len(logits), positions=positions), tensor)
    alone = [
        draw(reference.context(SAMPLED, vocab_size=len(logits), positions=[position]), tensor[:1])[0]
        for position in positions
    ]
    assert together == alone


@given(logits=vectors(300))
def test_greedy_takes_the_first_of_the_largest(logits: np.ndarray) -> None:
    context = reference.context(GREEDY, vocab_size=len(logits))
    best = -1 if logits.max() == -np.inf else logits.tolist().index(logits.max())
    assert draw(context, torch.from_numpy(logits)[None]) == [best]
    assert draw_tensor(context, torch.from_numpy(logits)[None]).tolist() == [best]


@given(
    size=st.sampled_from([5, 256, 257, 1030]),
    data=st.data(),
    height=st.sampled_from([-3.0e38, -100.0, 0.0, 3.0e38]),
    position=st.integers(0, 10_000),
)
def test_what_is_masked_never_wins(size: int, data: st.DataObject, height: float, position: int) -> None:
    allowed = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=2)))
    logits = torch.full((1, size), -torch.inf)
    logits[0, allowed] = height
    context = reference.context(SAMPLED, vocab_size=size, positions=[position])
    assert draw(context, logits)[0] in allowed
    assert draw_tensor(context, logits)[0] in allowed


def test_equal_scores_go_to_the_lowest_id() -> None:
    # At this height the noise is lost in rounding, so all scores are equal.
    logits = torch.full((1, 700), 1.0e20)
    logits[0, :3] = -torch.inf
    context = reference.context(SAMPLED, vocab_size=700)
    assert draw(context, logits) == [3]
    assert draw_tensor(context, logits).tolist() == [3]


def test_a_position_beyond_the_counter_is_refused() -> None:
    context = reference.context(SAMPLED, vocab_size=4, positions=[MAX_POSITION + 1])
    with pytest.raises(ValueError, match="position: expected 0 to"):
        draw(context, torch.zeros(1, 4))


# The statistics below have a fixed seed. Significance 1e-6: a right draw fails one such test in a million.


def chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    expected = probabilities * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.skipif(CHECKED, reason="50,000 draws are slow without machine code")
@pytest.mark.parametrize("over", ["positions", "streams", "seeds"])
def test_draws_follow_the_softmax(over: str) -> None:
    logits = torch.tensor([[0.0, 1.0, -1.5, 2.0, 0.3, -torch.inf, 1.0, -0.7]])
    draws = 50_000
    configs = [SamplingConfig(temperature=1.0, seed=index if over == "seeds" else 5) for index in range(draws)]
    context = reference.context(
        *configs,
        vocab_size=8,
        positions=range(draws) if over == "positions" else None,
        streams=range(draws) if over == "streams" else None,
    )
    counts = np.bincount(draw(context, logits.expand(draws, -1)), minlength=8)
    probabilities = torch.softmax(logits[0].double(), 0).numpy()
    assert counts[5] == 0
    live = probabilities > 0
    assert chi_square(counts[live], probabilities[live]) < 38.3  # 6 degrees of freedom, upper 1e-6


@pytest.mark.skipif(CHECKED, reason="20,000 wide draws are slow without machine code")
def test_wide_draws_follow_the_softmax_where_chunks_are_pruned() -> None:
    generator = np.random.Generator(np.random.Philox(3))
    logits = generator.normal(size=2048).astype(np.float32) * 6
    order = np.argsort(-logits)
    draws = 20_000
    context = reference.context(*[SAMPLED] * draws, vocab_size=2048, positions=range(draws))
    rows = torch.from_numpy(logits).expand(draws, -1)
    drawn = [draw_module._draw_row(context, row, rows[row].numpy(), None) for row in range(draws)]
    counts = np.bincount(drawn, minlength=2048)
    probabilities = torch.softmax(torch.from_numpy(logits).double(), 0).numpy()
    head = [*order[:9]]
    binned = np.array([*counts[head], draws - counts[head].sum()])
    expected = np.array([*probabilities[head], 1 - probabilities[head].sum()])
    assert chi_square(binned, expected) < 45.1  # 9 degrees of freedom, upper 1e-6


@settings(max_examples=20)
@given(seed=words_64)
def test_streams_and_positions_do_not_share_words(seed: int) -> None:
    words = {
        reference.word(seed, stream, position, token_id)
        for stream in (0, 1, 2**32)
        for position in (0, 1)
        for token_id in range(8)
    }
    assert len(words) > 44  # 48 words of 32 bits; more than three equal ones would be no chance
