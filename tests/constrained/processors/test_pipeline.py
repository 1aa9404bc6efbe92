"""The whole stage: its order, what a caller's processor can and cannot do, and its errors."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from constrained.errors import LogitsError, NoTokenAllowed
from constrained.processors import (
    GrammarMask,
    LogitBias,
    MinP,
    Penalties,
    Pipeline,
    Stage,
    StepContext,
    Temperature,
    TopK,
    TopP,
    Watermark,
    device,
    standard_pipeline,
)
from constrained.processors import mask as mask_module
from constrained.sampling_config import SamplingConfig

from . import reference

SAMPLED = SamplingConfig(temperature=1.0)


class Add:
    """Adds a number to every logit, in place; and notes what it saw."""

    def __init__(self, number: float) -> None:
        self.number = number
        self.seen: list[torch.Tensor] = []

    def __call__(self, context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        self.seen.append(logits.clone())
        return logits.add_(self.number)


class Revive:
    """Sets every logit to the same finite number, whatever it was."""

    def __init__(self, stage: Stage | None = None) -> None:
        if stage is not None:
            self.stage = stage

    def __call__(self, context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        return torch.full_like(logits, 7.0)


class Poison:
    """Puts a bad number in its place."""

    stage: ClassVar[Stage] = Stage.PENALTIES

    def __call__(self, context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        return logits.fill_(math.nan)


class Halve:
    """Returns logits of another shape."""

    def __call__(self, context: StepContext, logits: torch.Tensor) -> torch.Tensor:
        return logits[:, ::2]


configs = st.builds(
    SamplingConfig,
    temperature=st.sampled_from([0.0, 0.2, 1.0, 1.7]),
    top_k=st.none() | st.integers(1, 40),
    top_p=st.sampled_from([1e-8, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.1]),
    seed=st.integers(0, 2**64 - 1),
)


@given(
    data=st.data(),
    size=st.integers(1, 100),
    config=configs,
    position=st.integers(0, 1000),
    revive=st.sampled_from([None, Stage.USER, Stage.PENALTIES, Stage.WATERMARK]),
    narrow=st.sampled_from([0, 4096]),
)
def test_only_allowed_ids_are_drawn(
    data: st.DataObject, size: int, config: SamplingConfig, position: int, revive: Stage | None, narrow: int
) -> None:
    values = data.draw(hnp.arrays(np.float32, (2, size), elements=st.floats(-50, 50, width=32)))
    allowed = data.draw(hnp.arrays(np.bool_, (2, size)).filter(lambda rows: bool(rows.any(axis=1).all())))
    context = reference.context(config, SAMPLED, vocab_size=size, allowed=allowed, positions=[position, 3])
    processors = [] if revive is None else [Revive(None if revive is Stage.USER else revive)]
    before = mask_module.NARROW
    mask_module.NARROW = narrow
    try:
        drawn = standard_pipeline(processors).sample(context, torch.from_numpy(values))
    finally:
        mask_module.NARROW = before
    assert [bool(allowed[row, token_id]) for row, token_id in enumerate(drawn)] == [True, True]


@given(data=st.data(), size=st.integers(1, 300), config=configs)
def test_gathered_columns_draw_what_masked_logits_draw(data: st.DataObject, size: int, config: SamplingConfig) -> None:
    values = data.draw(hnp.arrays(np.float32, (1, size), elements=st.floats(-50, 50, width=32)))
    allowed = data.draw(hnp.arrays(np.bool_, (1, size)).filter(np.any))
    context = reference.context(config, vocab_size=size, allowed=allowed)
    drawn = []
    before = mask_module.NARROW
    for narrow in (0, size):
        mask_module.NARROW = narrow
        drawn.append(standard_pipeline().sample(context, torch.from_numpy(values)))
    mask_module.NARROW = before
    assert drawn[0] == drawn[1]


def both_forms(
    monkeypatch: pytest.MonkeyPatch, context: StepContext, logits: torch.Tensor, processors: list[object]
) -> tuple[object, object]:
    """What the kernels draw, and what the tensor operations draw: the ids, or the text of the error."""
    results: list[object] = []
    for kernels in (True, False):
        with monkeypatch.context() as patch:
            patch.setattr(device, "has_kernels", lambda _, kernels=kernels: kernels)
            try:
                results.append(standard_pipeline(processors).sample(context, logits))  # type: ignore[arg-type]
            except LogitsError as error:
                results.append(str(error))
    return results[0], results[1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), size=st.integers(1, 120), rows=st.lists(configs, min_size=1, max_size=3))
def test_tensor_operations_draw_what_the_kernels_draw(
    monkeypatch: pytest.MonkeyPatch, data: st.DataObject, size: int, rows: list[SamplingConfig]
) -> None:
    elements = st.floats(-50, 50, width=32) | st.sampled_from([0.0, 1.0])
    if data.draw(st.integers(0, 9)) == 0:
        elements |= st.sampled_from([math.inf, -math.inf, math.nan])
    values = data.draw(hnp.arrays(np.float32, (len(rows), size), elements=elements))
    allowed = data.draw(hnp.arrays(np.bool_, (len(rows), size)).filter(lambda bits: bool(bits.any(axis=1).all())))
    context = reference.context(*rows, vocab_size=size, allowed=allowed, streams=range(len(rows)))
    monkeypatch.setattr(mask_module, "NARROW", data.draw(st.sampled_from([0, 30, 4096])))
    processors: list[object] = data.draw(st.sampled_from([[], [Revive()], [Revive(Stage.WATERMARK), Add(1.0)]]))
    kernels, tensors = both_forms(monkeypatch, context, torch.from_numpy(values), processors)
    assert kernels == tensors


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_draws_what_the_cpu_draws() -> None:
    logits = torch.randn(4, 5000, generator=torch.Generator().manual_seed(0)) * 3
    rows = (
        SamplingConfig(),
        SAMPLED,
        SamplingConfig(temperature=0.7, top_p=0.9),
        SamplingConfig(temperature=1.3, top_k=40, min_p=0.01),
    )
    for position in range(50):
        context = reference.context(*rows, vocab_size=5000, positions=[position] * 4, streams=[0, 1, 2, 3])
        assert standard_pipeline().sample(context, logits) == standard_pipeline().sample(context, logits.cuda())


@given(values=hnp.arrays(np.float32, (1, 30), elements=st.sampled_from([0.0, 1.0, 2.0])), seed=st.integers(0, 99))
def test_temperature_zero_is_top_k_one(values: np.ndarray, seed: int) -> None:
    drawn = [
        standard_pipeline().sample(reference.context(config, vocab_size=30), torch.from_numpy(values))
        for config in (SamplingConfig(seed=seed), SamplingConfig(temperature=1.0, top_k=1, seed=seed))
    ]
    assert drawn[0] == drawn[1] == [int(values.argmax())]


def test_the_mask_comes_before_top_k() -> None:
    logits = torch.tensor([[9.0, 0.0, 0.0, 0.0]])
    allowed = np.array([[False, False, True, False]])
    config = SamplingConfig(temperature=1.0, top_k=1)
    assert standard_pipeline().sample(reference.context(config, vocab_size=4, allowed=allowed), logits) == [2]


def test_the_raw_logits_stay_as_they_are() -> None:
    logits = torch.arange(8.0)[None]
    before = logits.clone()
    add = Add(5.0)
    context = reference.context(SamplingConfig(temperature=0.5, top_k=2), vocab_size=8)
    standard_pipeline([add]).sample(context, logits)
    assert torch.equal(logits, before)
    assert torch.equal(add.seen[0], before)


def test_processors_run_in_their_stated_places() -> None:
    first, second = Add(1.0), Add(2.0)
    late = Revive(Stage.WATERMARK)
    pipeline = standard_pipeline([first, late, second])
    assert [type(processor) for processor in pipeline.processors] == [
        Add, Add, GrammarMask, LogitBias, Penalties, Temperature, TopK, TopP, MinP, Revive, Watermark,
    ]  # fmt: skip
    assert pipeline.processors[:2] == (first, second)


@pytest.mark.parametrize(
    ("processors", "message"),
    [
        ([Temperature(), GrammarMask()], r"got MASK \(GrammarMask\) after TEMPERATURE"),
        ([GrammarMask(), Revive()], r"got USER \(Revive\) after MASK"),
        ([GrammarMask(), TopP(), TopK()], r"got TOP_K \(TopK\) after TOP_P"),
        ([Temperature()], "expected one GrammarMask, got 0"),
        ([GrammarMask(), GrammarMask()], "expected one GrammarMask, got 2"),
        ([Revive(Stage.MASK)], "expected a GrammarMask at stage MASK, got Revive"),
    ],
)
def test_a_wrong_order_is_refused_when_built(processors: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pipeline(processors)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("where", [0, 77, 99])
def test_bad_logits_name_the_step(bad: float, where: int) -> None:
    logits = torch.zeros(2, 100)
    logits[1, where] = bad
    context = reference.context(SAMPLED, SAMPLED, vocab_size=100, positions=[4, 9])
    with pytest.raises(LogitsError, match=r"the forward pass: NaN or \+inf .* output position 9 of row 1") as caught:
        standard_pipeline().sample(context, logits)
    assert (caught.value.source, caught.value.position, caught.value.row) == ("the forward pass", 9, 1)


@pytest.mark.parametrize(("processor", "name"), [(Add(math.inf), "Add"), (Poison(), "Poison")])
def test_bad_logits_of_a_processor_name_it(processor: object, name: str) -> None:
    context = reference.context(SAMPLED, vocab_size=100)
    with pytest.raises(LogitsError, match=f"^{name}: NaN"):
        standard_pipeline([processor]).sample(context, torch.zeros(1, 100))  # type: ignore[list-item]


def test_logits_of_another_shape_are_refused() -> None:
    context = reference.context(SAMPLED, vocab_size=100)
    with pytest.raises(TypeError, match="Halve: expected it to return logits of shape"):
        standard_pipeline([Halve()]).sample(context, torch.zeros(1, 100))
    with pytest.raises(ValueError, match=r"logits: expected float32 of shape \(1, 100\)"):
        standard_pipeline().sample(context, torch.zeros(1, 99))
    with pytest.raises(ValueError, match=r"got torch.float64"):
        standard_pipeline().sample(context, torch.zeros(1, 100, dtype=torch.float64))


@pytest.mark.parametrize("config", [SAMPLED, SamplingConfig()])
def test_nothing_left_to_draw_is_an_error(config: SamplingConfig) -> None:
    nothing = np.zeros((1, 40), np.bool_)
    with pytest.raises(NoTokenAllowed, match="no token of the vocabulary is allowed at output position 0 of row 0"):
        standard_pipeline().sample(reference.context(config, vocab_size=40, allowed=nothing), torch.zeros(1, 40))
    some = nothing.copy()
    some[0, [3, 5]] = True
    logits = torch.zeros(1, 40)
    logits[0, [3, 5]] = -torch.inf
    with pytest.raises(LogitsError, match="the draw: -inf for every allowed token"):
        standard_pipeline().sample(reference.context(config, vocab_size=40, allowed=some), logits)


def test_what_the_draw_sees_can_be_looked_at() -> None:
    allowed = np.zeros((1, 40), np.bool_)
    allowed[0, [3, 5, 9]] = True
    context = reference.context(SamplingConfig(temperature=0.5, top_k=2), vocab_size=40, allowed=allowed)
    narrowed, logits = standard_pipeline().process(context, torch.arange(40.0)[None])
    assert narrowed.token_ids is not None
    assert narrowed.token_ids.tolist() == [[3, 5, 9]]
    assert logits.tolist() == [[-math.inf, -8.0, 0.0]]


def test_rows_of_a_batch_draw_what_they_draw_alone() -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(3, 5000, generator=generator) * 3
    allowed = np.ones((3, 5000), np.bool_)
    allowed[1, 10:] = False  # alone, this row would be gathered
    settings = [
        SamplingConfig(temperature=0.7, top_p=0.9, seed=1),
        SamplingConfig(temperature=1.0, seed=2),
        SamplingConfig(temperature=1.0, top_k=5, seed=3),
    ]
    for position in range(30):
        together = standard_pipeline().sample(
            reference.context(*settings, vocab_size=5000, allowed=allowed, positions=[position] * 3, streams=[7, 8, 9]),
            logits,
        )
        alone = [
            standard_pipeline().sample(
                reference.context(
                    settings[row],
                    vocab_size=5000,
                    allowed=allowed[row : row + 1],
                    positions=[position],
                    streams=[7 + row],
                ),
                logits[row : row + 1],
            )[0]
            for row in range(3)
        ]
        assert together == alone
