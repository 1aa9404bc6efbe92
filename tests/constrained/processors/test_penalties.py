"""Penalties and biases: what they change, what they spare, and that they never empty the legal set."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from constrained.processors import RowRecord, StepContext, standard_pipeline
from constrained.sampling_config import SamplingConfig
from grammars.vocabulary import Vocabulary

from . import reference

extreme = st.one_of(st.floats(-50, 50, width=32), st.sampled_from([3.0e38, -3.0e38, 0.0]))


def after(context: StepContext, *outputs: list[int]) -> StepContext:
    return replace(context, output_ids=outputs, positions=tuple(map(len, outputs)))


@given(
    values=hnp.arrays(np.float32, 12, elements=extreme),
    allowed=hnp.arrays(np.bool_, 12).filter(np.any),
    drawn=st.lists(st.integers(0, 11), max_size=9),
    repetition=st.sampled_from([0.01, 0.8, 1.0, 1.3, 100.0]),
    presence=st.sampled_from([-100.0, 0.0, 0.7, 100.0]),
    frequency=st.sampled_from([-100.0, 0.0, 0.4, 100.0]),
    bias=st.dictionaries(st.integers(0, 11), st.sampled_from([-1000.0, 0.5, 1000.0]), max_size=3),
)
def test_they_are_the_twin_s_and_keep_the_legal_set(
    values: np.ndarray,
    allowed: np.ndarray,
    drawn: list[int],
    repetition: float,
    presence: float,
    frequency: float,
    bias: dict[int, float],
) -> None:
    config = SamplingConfig(
        temperature=1.0,
        repetition_penalty=repetition,
        presence_penalty=presence,
        frequency_penalty=frequency,
        logit_bias=bias,
    )
    context = after(reference.context(config, vocab_size=12, allowed=allowed[None]), drawn)
    narrowed, logits = standard_pipeline().process(context, torch.from_numpy(values)[None])
    assert narrowed.token_ids is not None
    ids = narrowed.token_ids[0].tolist()
    assert sorted(ids) == np.flatnonzero(allowed).tolist()
    assert bool((logits > -torch.inf).all())
    assert bool((logits < torch.inf).all())
    for token_id, logit in zip(ids, logits[0].tolist(), strict=True):
        wanted = float(values[token_id]) + bias.get(token_id, 0.0)
        count = drawn.count(token_id)
        if count:
            wanted = wanted / repetition if wanted > 0 else wanted * repetition
            wanted -= presence + frequency * count
        assert logit == pytest.approx(max(min(wanted, 3.0e38), -3.0e38), rel=1e-5, abs=1e-3)


def test_forced_text_is_neither_counted_nor_penalised() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"ab", b"b", None], eos_token_ids=[3])
    config = SamplingConfig(temperature=1.0, presence_penalty=5.0)
    record = RowRecord()
    for position, (token_id, free) in enumerate([(0, False), (2, True), (1, False)]):
        record.begin(position, is_free=free).token_id = token_id
    open_row, forced_row = np.array([[True, True, True, True]]), np.array([[True, True, False, False]])
    for allowed, expected in ((open_row, [0.0, 0.0, -5.0, 0.0]), (forced_row, [0.0, 0.0])):
        context = after(reference.context(config, vocab_size=4, allowed=allowed), [0, 2, 1])
        context = replace(context, vocabulary=vocabulary, records=(record,))
        assert standard_pipeline().process(context, torch.zeros(1, 4))[1].tolist() == [expected]


def test_a_bias_for_an_id_that_is_none_is_refused() -> None:
    context = reference.context(SamplingConfig(logit_bias={12: 1.0}), vocab_size=12)
    with pytest.raises(ValueError, match="logit_bias: expected token ids below 12, got 12"):
        standard_pipeline().sample(context, torch.zeros(1, 12))


def test_the_weight_of_a_mask_and_log_probabilities_are_noted() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0, 3.0]])
    allowed = np.array([[True, False, True, False]])
    chances = logits.softmax(1)[0].tolist()
    for narrow in (0, 4096):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("constrained.processors.mask.NARROW", narrow)
            record = RowRecord()
            config = SamplingConfig(logprobs=True, top_logprobs=3)
            context = replace(reference.context(config, vocab_size=4, allowed=allowed), records=(record,))
            assert standard_pipeline().sample(context, logits) == [2]
        (note,) = record.notes
        assert note.log_mass == pytest.approx(math.log(chances[0] + chances[2]), abs=1e-5)
        assert note.unmasked_logprob == pytest.approx(math.log(chances[2]), abs=1e-5)
        assert note.logprob == pytest.approx(math.log(chances[2] / (chances[0] + chances[2])), abs=1e-5)
        assert [token_id for token_id, _, _ in note.top] == [2, 0]


def test_a_record_forgets_what_was_taken_back() -> None:
    record = RowRecord()
    for position in range(5):
        record.note_context(record.begin(position, is_free=True), context=7)
    assert [note.is_first for note in record.notes] == [True, False, False, False, False]
    record.note_context(record.begin(0, is_free=True), context=7)
    assert [(note.position, note.is_first) for note in record.notes] == [(0, True)]
