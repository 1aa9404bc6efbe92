"""Temperature and truncation against slow twins, and the edges that others got wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from constrained.processors import MinP, Temperature, TopK, TopP
from constrained.processors.sampling import TOP_P_EPSILON, scale_tensor, top_k_tensor, top_p_tensor
from constrained.sampling_config import SamplingConfig

from . import reference

# Few values, so that ties are common; and a wide range.
logit = st.one_of(
    st.sampled_from([0.0, 1.0, 1.5, -2.0, -math.inf]),
    st.floats(-60, 60, width=32),
)
vectors = hnp.arrays(np.float32, st.integers(1, 60), elements=logit)
PITFALL = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()


def run(processor: object, config: SamplingConfig, logits: torch.Tensor) -> torch.Tensor:
    context = reference.context(config, vocab_size=logits.shape[1])
    return processor(context, logits.clone())  # type: ignore[operator,no-any-return]


@given(logits=vectors, k=st.integers(1, 70))
def test_top_k_keeps_exactly_the_k_best(logits: np.ndarray, k: int) -> None:
    tensor = torch.from_numpy(logits)[None]
    result = run(TopK(), SamplingConfig(temperature=1.0, top_k=k), tensor)
    expected = reference.top_k(logits.tolist(), k)
    assert reference.kept(result[0]) == expected
    assert all(result[0, column] == tensor[0, column] for column in expected)
    if k < len(logits):
        assert torch.equal(top_k_tensor(tensor[0], k), result[0])


@given(logits=vectors, p=st.floats(1e-9, 1.0, exclude_max=True))
def test_top_p_keeps_the_smallest_set_that_reaches_p(logits: np.ndarray, p: float) -> None:
    tensor = torch.from_numpy(logits)[None]
    result = run(TopP(), SamplingConfig(temperature=1.0, top_p=p), tensor)
    expected = reference.top_p(logits.tolist(), p, epsilon=TOP_P_EPSILON)
    # At the edge itself, sums in another order may fall on either side.
    assume(expected == reference.top_p(logits.tolist(), p, epsilon=TOP_P_EPSILON + 1e-12))
    assert reference.kept(result[0]) == expected
    assert all(result[0, column] == tensor[0, column] for column in expected)
    assert torch.equal(top_p_tensor(tensor[0], p), result[0])


@given(logits=vectors, min_p=st.floats(1e-6, 1.0))
def test_min_p_keeps_what_is_near_the_best(logits: np.ndarray, min_p: float) -> None:
    tensor = torch.from_numpy(logits)[None]
    result = run(MinP(), SamplingConfig(temperature=1.0, min_p=min_p), tensor)
    best = float(logits.max())
    expected = {
        column
        for column, value in enumerate(logits.tolist())
        if value > -math.inf and value - best >= math.log(min_p) - TOP_P_EPSILON
    }
    assert reference.kept(result[0]) == expected


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [(0.8, {0, 1}), (0.81, {0, 1, 2}), (0.5, {0}), (1e-8, {0}), (0.95, {0, 1, 2}), (0.951, {0, 1, 2, 3})],
)
def test_top_p_at_its_edges(top_p: float, expected: set[int]) -> None:
    result = run(TopP(), SamplingConfig(temperature=1.0, top_p=top_p), PITFALL)
    assert reference.kept(result[0]) == expected
    assert reference.kept(top_p_tensor(PITFALL[0], top_p)) == expected


@given(logits=vectors)
def test_settings_that_are_off_change_no_bit(logits: np.ndarray) -> None:
    tensor = torch.from_numpy(logits)[None]
    for processor in (Temperature(), TopK(), TopP(), MinP()):
        assert torch.equal(run(processor, SamplingConfig(temperature=1.0), tensor), tensor)


@given(logits=vectors)
def test_greedy_rows_pass_untouched(logits: np.ndarray) -> None:
    tensor = torch.from_numpy(logits)[None]
    config = SamplingConfig(temperature=0.0, top_k=1, top_p=0.1, min_p=0.9)
    for processor in (Temperature(), TopK(), TopP(), MinP()):
        assert torch.equal(run(processor, config, tensor), tensor)


@given(
    logits=vectors,
    temperature=st.one_of(
        st.floats(0.05, 20.0).filter(lambda t: t != 1.0),
        st.sampled_from([1e-300, 5e-324, 1e-40, 1e-9, 1e9, 1e300, 1.7e308]),
    ),
)
def test_temperature_divides_the_distance_to_the_best(logits: np.ndarray, temperature: float) -> None:
    tensor = torch.from_numpy(logits)[None]
    result = run(Temperature(), SamplingConfig(temperature=temperature), tensor)
    assert not result.isnan().any()
    assert (result <= 0).all()
    best = logits.max()
    if best == -np.inf:
        assert (result == -torch.inf).all()
        return
    assert set(np.flatnonzero(logits == best)) <= set(np.flatnonzero(result[0].numpy() == result.max().item()))
    with np.errstate(over="ignore"):
        expected = (logits.astype(np.float64) - best) / temperature
    comparable = np.isfinite(expected) & (expected > -1e30)
    np.testing.assert_allclose(result[0].numpy()[comparable], expected[comparable], rtol=1e-5, atol=1e-5)
    assert (result[0].numpy()[logits == -np.inf] == -np.inf).all()


@given(
    logits=vectors, temperatures=st.lists(st.sampled_from([0.0, 0.5, 0.7, 1.0, 1.3, 1e-300]), min_size=1, max_size=4)
)
def test_rows_do_not_change_each_other(logits: np.ndarray, temperatures: list[float]) -> None:
    configs = [
        SamplingConfig(temperature=temperature, top_k=1 + 5 * row, top_p=1.0 - 0.2 * row, min_p=0.01 * row)
        for row, temperature in enumerate(temperatures)
    ]
    context = reference.context(*configs, vocab_size=len(logits))
    rows = torch.from_numpy(np.tile(logits, (len(configs), 1)))
    for processor in (Temperature(), TopK(), TopP(), MinP()):
        together = processor(context, rows.clone())
        for row, config in enumerate(configs):
            assert torch.equal(together[row], run(processor, config, rows[row : row + 1])[0])


@given(logits=vectors, temperatures=st.lists(st.sampled_from([0.0, 0.5, 0.7, 1.0, 1e-300]), min_size=1, max_size=4))
def test_the_tensor_form_of_temperature_has_the_same_bits(logits: np.ndarray, temperatures: list[float]) -> None:
    configs = [SamplingConfig(temperature=temperature) for temperature in temperatures]
    context = reference.context(*configs, vocab_size=len(logits))
    rows = torch.from_numpy(np.tile(logits, (len(configs), 1)))
    factors = [1.0 if t == 0.0 else min(1 / max(t, 1e-38), 3e38) for t in temperatures]
    assert torch.equal(Temperature()(context, rows.clone()), scale_tensor(rows.clone(), factors))


@given(
    logits=vectors,
    config=st.builds(
        SamplingConfig,
        temperature=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
        top_k=st.none() | st.integers(1, 60),
        top_p=st.floats(1e-9, 1.0),
        min_p=st.floats(0.0, 1.0),
    ),
)
def test_no_step_revives_and_the_best_stays(logits: np.ndarray, config: SamplingConfig) -> None:
    tensor = torch.from_numpy(logits)[None]
    context = reference.context(config, vocab_size=len(logits))
    result = tensor.clone()
    for processor in (Temperature(), TopK(), TopP(), MinP()):
        before = reference.kept(result[0])
        result = processor(context, result)
        assert reference.kept(result[0]) <= before
    if logits.max() > -np.inf:
        assert int(logits.argmax()) in reference.kept(result[0])
