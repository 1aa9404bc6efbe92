"""The mask: exactly the allowed ids keep their logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from constrained.processors import GrammarMask, apply_token_bitmask
from constrained.processors import mask as mask_module
from constrained.processors.mask import allowed_token_ids, apply_token_bitmask_tensor, bitmask_of
from constrained.sampling_config import SamplingConfig

from . import reference

allowed_rows = st.tuples(st.integers(1, 3), st.integers(1, 140)).flatmap(lambda shape: hnp.arrays(np.bool_, shape))


def bit(words: np.ndarray, token_id: int) -> bool:
    return bool((int(words[token_id // 32]) >> (token_id % 32)) & 1)


@given(allowed=allowed_rows)
def test_bits_say_what_is_allowed(allowed: np.ndarray) -> None:
    words = bitmask_of(allowed[0])
    assert words.dtype == np.int32
    assert len(words) == -(-allowed.shape[1] // 32)
    assert [bit(words, token_id) for token_id in range(allowed.shape[1])] == allowed[0].tolist()


@given(allowed=allowed_rows, data=st.data())
def test_exactly_the_allowed_keep_their_logits(allowed: np.ndarray, data: st.DataObject) -> None:
    values = data.draw(hnp.arrays(np.float32, allowed.shape, elements=st.floats(-9, 9, width=32)))
    logits, bitmask = torch.from_numpy(values), np.stack([bitmask_of(row) for row in allowed])
    expected = np.where(allowed, values, -np.inf)
    before = logits.clone()
    np.testing.assert_array_equal(apply_token_bitmask(logits, bitmask).numpy(), expected)
    np.testing.assert_array_equal(apply_token_bitmask_tensor(logits, bitmask).numpy(), expected)
    assert torch.equal(logits, before)


@given(allowed=allowed_rows, limit=st.integers(0, 150))
def test_allowed_ids_are_listed_ascending_up_to_the_limit(allowed: np.ndarray, limit: int) -> None:
    size = allowed.shape[1]
    expected = np.flatnonzero(allowed[0])
    listed = allowed_token_ids(bitmask_of(allowed[0]), size, limit=limit)
    if len(expected) > limit:
        assert listed is None
    else:
        assert listed is not None
        assert listed.tolist() == expected.tolist()


def test_bits_beyond_the_vocabulary_mean_nothing() -> None:
    everything = np.full((1, 2), -1, np.int32)
    assert apply_token_bitmask(torch.zeros(1, 33), everything).tolist() == [[0.0] * 33]
    listed = allowed_token_ids(everything[0], 33, limit=100)
    assert listed is not None
    assert listed.tolist() == list(range(33))


@given(allowed=allowed_rows, narrow=st.integers(0, 20))
def test_gathered_or_masked_says_the_same(allowed: np.ndarray, narrow: int) -> None:
    rows, size = allowed.shape
    context = reference.context(*[SamplingConfig()] * rows, vocab_size=size, allowed=allowed)
    logits = torch.arange(rows * size, dtype=torch.float32).reshape(rows, size)
    before = mask_module.NARROW
    mask_module.NARROW = narrow
    try:
        narrowed, columns = GrammarMask().narrow(context, logits)
    finally:
        mask_module.NARROW = before
    assert (narrowed.token_ids is None) == bool((allowed.sum(axis=1) > narrow).any())
    ids = torch.arange(size).expand(rows, -1) if narrowed.token_ids is None else narrowed.token_ids
    for row in range(rows):
        live = {int(ids[row, column]): float(columns[row, column]) for column in reference.kept(columns[row])}
        assert live == {int(token_id): float(logits[row, token_id]) for token_id in np.flatnonzero(allowed[row])}


@pytest.mark.parametrize(
    "bitmask", [np.zeros((1, 1), np.int32), np.zeros((2, 2), np.int32), np.zeros((1, 2), np.int64)], ids=str
)
def test_a_bitmask_of_another_shape_is_refused(bitmask: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"token_bitmask: expected int32 of shape \(1, 2\)"):
        apply_token_bitmask(torch.zeros(1, 40), bitmask)
