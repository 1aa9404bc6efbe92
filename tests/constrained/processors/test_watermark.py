"""The watermark as a step: no distortion, nothing masked ever wins, one answer on every device."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from constrained.errors import LogitsError, WatermarkError
from constrained.philox import gumbel
from constrained.processors import RowRecord, StepContext, device, standard_pipeline
from constrained.processors import mask as mask_module
from constrained.processors.watermark import Watermark
from constrained.sampling_config import SamplingConfig
from constrained.watermark import WatermarkConfig, WatermarkKey
from constrained.watermark.contexts import Marker
from grammars.jit import CHECKED
from grammars.vocabulary import Vocabulary

from . import reference

KEY = "5a" * 32
SCHEMES = ["gumbel", "kgw", "synthid", "lefthash"]


def vocabulary(size: int) -> Vocabulary:
    return Vocabulary.from_bytes([b"%c%d" % (65 + number % 26, number) for number in range(size)], eos_token_ids=[])


def config(scheme: str, **settings: float) -> SamplingConfig:
    width = {"context_width": 1} if scheme == "lefthash" else {}
    marks = WatermarkConfig(scheme=scheme, key_env="MARK", **width)  # type: ignore[arg-type]
    return SamplingConfig(temperature=1.0, watermark=marks, **settings)  # type: ignore[arg-type]


def step(
    settings: SamplingConfig, allowed: np.ndarray, output: list[int], record: RowRecord | None = None
) -> StepContext:
    size = allowed.shape[1]
    context = reference.context(settings, vocab_size=size, allowed=allowed, positions=[len(output)])
    if record is None:
        record = RowRecord.of_output_without_notes(output)
    return replace(context, vocabulary=vocabulary(size), records=(record,), output_ids=(output,), prompt_ids=([1],))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARK", KEY)


def set_key(patch: pytest.MonkeyPatch, scheme: str) -> None:
    patch.setenv("MARK", "15485863" if scheme == "lefthash" else KEY)


@given(
    scheme=st.sampled_from(SCHEMES),
    size=st.sampled_from([2, 5, 40, 300]),
    data=st.data(),
    narrow=st.sampled_from([0, 4096]),
    kernels=st.booleans(),
    height=st.sampled_from([-3.0e38, -100.0, 0.0, 3.0e38]),
)
def test_what_is_masked_never_wins(
    scheme: str, size: int, data: st.DataObject, narrow: int, kernels: bool, height: float
) -> None:
    """One or two allowed tokens, underflow, heights at the edge of float32."""
    kept = data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=2))
    allowed = np.zeros((1, size), np.bool_)
    allowed[0, sorted(kept)] = True
    values = data.draw(hnp.arrays(np.float32, (1, size), elements=st.sampled_from([height, 0.0, 200.0, -200.0])))
    output = data.draw(st.lists(st.integers(0, size - 1), max_size=5))
    with pytest.MonkeyPatch.context() as patch:
        set_key(patch, scheme)
        patch.setattr(mask_module, "NARROW", narrow)
        patch.setattr(device, "has_kernels", lambda _: kernels)
        (token_id,) = standard_pipeline().sample(step(config(scheme), allowed, output), torch.from_numpy(values))
    assert token_id in kept


@pytest.mark.parametrize("word", [0, 2**32 - 1])
@pytest.mark.parametrize("place", [0, 1])
def test_noise_at_both_ends_of_its_grid_revives_nothing(word: int, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A masked token has the best noise there is, an allowed one the worst."""
    assert math.isfinite(float(gumbel(word)))
    from constrained.processors import draw as draw_module

    words = {place: 2**32 - 1, 1 - place: word}
    monkeypatch.setattr(draw_module, "philox_word", lambda token_id, key: words[int(token_id)])
    monkeypatch.setattr(
        draw_module, "_draw_narrow", getattr(draw_module._draw_narrow, "py_func", draw_module._draw_narrow)
    )
    allowed = np.array([[place == 1, place == 0]])
    (token_id,) = standard_pipeline().sample(step(config("gumbel"), allowed, []), torch.zeros(1, 2))
    assert token_id == 1 - place


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_bad_logits_name_the_step(scheme: str, bad: float, monkeypatch: pytest.MonkeyPatch) -> None:
    set_key(monkeypatch, scheme)
    logits = torch.zeros(1, 40)
    logits[0, 7] = bad
    with pytest.raises(LogitsError, match=r"the forward pass: NaN or \+inf .* output position 0 of row 0"):
        standard_pipeline().sample(step(config(scheme), np.ones((1, 40), np.bool_), []), logits)


@given(
    scheme=st.sampled_from(SCHEMES),
    data=st.data(),
    size=st.sampled_from([3, 33, 200, 1500]),
    narrow=st.sampled_from([0, 4096]),
    top_p=st.sampled_from([1.0, 0.9]),
)
def test_tensor_operations_mark_as_the_kernels_do(
    scheme: str, data: st.DataObject, size: int, narrow: int, top_p: float
) -> None:
    generator = np.random.Generator(np.random.Philox(data.draw(st.integers(0, 2**32))))
    values = torch.from_numpy(generator.normal(size=(1, size)).astype(np.float32) * 3)
    allowed = generator.random((1, size)) < data.draw(st.sampled_from([0.05, 0.5, 1.0]))
    allowed[0, int(generator.integers(size))] = True
    output = generator.integers(0, size, 6).tolist()
    seen = []
    for kernels in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            set_key(patch, scheme)
            patch.setattr(mask_module, "NARROW", narrow)
            patch.setattr(device, "has_kernels", lambda _, kernels=kernels: kernels)
            context = step(config(scheme, top_p=top_p), allowed, output)
            processed = standard_pipeline().process(context, values)[1].double()
            seen.append((processed.softmax(1).numpy(), standard_pipeline().sample(context, values)))
    np.testing.assert_allclose(seen[0][0], seen[1][0], rtol=1e-3, atol=1e-9)
    assert seen[0][1] == seen[1][1]


def test_where_the_next_byte_is_forced_nothing_is_marked() -> None:
    tokens = Vocabulary.from_bytes([b"a", b"ab", b"abc", b"b"], eos_token_ids=[])
    allowed = np.array([[True, True, True, False]])
    for scheme in ("gumbel", "kgw", "synthid"):
        context = replace(step(config(scheme), allowed, []), vocabulary=tokens)
        seen, logits = standard_pipeline().process(context, torch.zeros(1, 4))
        assert not any(key is not None for key in seen.noise_keys)
        assert logits.tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("scheme", ["gumbel", "synthid"])
def test_a_repeated_context_is_drawn_as_without_a_mark(scheme: str) -> None:
    size, record = 50, RowRecord()
    allowed = np.ones((1, size), np.bool_)
    logits = torch.from_numpy(np.random.Generator(np.random.Philox(1)).normal(size=(1, size)).astype(np.float32))
    output = [7] * 12
    for position in range(12):
        context = step(config(scheme), allowed, output[:position], record)
        standard_pipeline().sample(context, logits)
    assert [note.is_first for note in record.notes] == [True] * 5 + [False] * 7
    plain = SamplingConfig(temperature=1.0)
    context = step(config(scheme), allowed, output[:11], record)
    assert standard_pipeline().sample(context, logits) == standard_pipeline().sample(
        step(plain, allowed, output[:11]), logits
    )


@pytest.mark.skipif(CHECKED, reason="2,500 draws are slow without machine code")
@pytest.mark.parametrize("scheme", ["gumbel", "synthid"])
def test_over_contexts_the_distribution_is_kept(scheme: str) -> None:
    """Chi-square with 4 degrees of freedom at 1e-6, under a mask."""
    size, draws = 8, 2_500
    allowed = np.array([[True, True, False, True, False, True, True, False]])
    logits = torch.tensor([[0.0, 1.0, 9.0, -1.0, 9.0, 0.5, -2.0, 9.0]])
    chances = torch.where(torch.from_numpy(allowed[0]), logits[0], -torch.inf).softmax(0).numpy()
    counts = np.zeros(size)
    pipeline = standard_pipeline()
    for number in range(draws):
        output = [number % 8, number // 8 % 8, number // 64 % 8, number // 512 % 8]
        context = step(config(scheme, seed=number), allowed, output)
        counts[pipeline.sample(context, logits)[0]] += 1
    live = allowed[0]
    expected = chances[live] * draws
    assert counts[~live].sum() == 0
    assert ((counts[live] - expected) ** 2 / expected).sum() < 33.4


def test_the_gumbel_mark_is_the_noise_of_the_draw() -> None:
    size, output = 60, [3, 1, 4, 1, 5]
    marks = config("gumbel").watermark
    assert marks is not None
    record = RowRecord.of_output_without_notes(output)
    record.marker = Marker(marks, WatermarkKey.from_text(KEY), nonce=3)
    logits = torch.from_numpy(np.random.Generator(np.random.Philox(2)).normal(size=(1, size)).astype(np.float32))
    context = step(config("gumbel"), np.ones((1, size), np.bool_), output, record)
    (token_id,) = standard_pipeline().sample(context, logits)
    key = record.marker.words_key(record.marker.context_of(output))
    scores = [
        float(logits[0, column]) + reference.gumbel(reference.philox4x32(
            [column // 4, int(key[2]), int(key[1]) % 2**32, int(key[1]) // 2**32],
            [int(key[0]) % 2**32, int(key[0]) // 2**32],
        )[column % 4])
        for column in range(size)
    ]  # fmt: skip
    assert token_id == int(np.argmax(scores))


def test_what_is_missing_is_told() -> None:
    context = reference.context(config("gumbel"), vocab_size=8)
    with pytest.raises(WatermarkError, match="expected a vocabulary in the step's context"):
        standard_pipeline().sample(context, torch.zeros(1, 8))
    lefthash = replace(step(config("lefthash"), np.ones((1, 8), np.bool_), []), prompt_ids=([],))
    with pytest.raises(WatermarkError, match="marks a token after the one before it"):
        standard_pipeline().sample(lefthash, torch.zeros(1, 8))
    assert Watermark().stage.name == "WATERMARK"
