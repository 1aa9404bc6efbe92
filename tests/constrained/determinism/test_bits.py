"""The digest of bits and the best allowed tokens, against plain numpy; and the tensor form, for other devices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from constrained.determinism.bits import count_bits, digest_tensor, digest_words, read_row
from constrained.determinism.trace import _read_tensor
from constrained.processors.mask import bitmask_of

words = arrays.arrays(np.uint32, st.integers(1, 70))
finite = st.floats(-50, 50, width=32)


def spelled_out(values: np.ndarray) -> int:
    """The definition, in Python's whole numbers."""
    pairs = [int(value) for value in values]
    pairs += [0] * (len(pairs) % 2)
    total = len(pairs) // 2
    for index in range(len(pairs) // 2):
        state = ((index + 1) * 0x9E3779B97F4A7C15) % 2**64
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) % 2**64
        key = state ^ (state >> 31)
        low, high = pairs[2 * index], pairs[2 * index + 1]
        mixed = (low | high << 32) ^ key
        total += (mixed % 2**32) * (mixed >> 32) + (low << 32 | high)
    return total % 2**64


@given(words)
def test_the_digest_is_as_defined(values: np.ndarray) -> None:
    assert digest_words(values) == spelled_out(values)
    assert int(digest_tensor(torch.from_numpy(values.view(np.float32)[None]))[0]) % 2**64 == digest_words(values)


@given(words, st.data())
def test_every_flipped_bit_changes_it(values: np.ndarray, data: st.DataObject) -> None:
    place, bit = data.draw(st.integers(0, len(values) - 1)), data.draw(st.integers(0, 31))
    changed = values.copy()
    changed[place] ^= np.uint32(1 << bit)
    assert digest_words(changed) != digest_words(values)


@given(words, st.data())
def test_numbers_that_change_places_change_it(values: np.ndarray, data: st.DataObject) -> None:
    one, other = (data.draw(st.integers(0, len(values) - 1)) for _ in range(2))
    changed = values.copy()
    changed[[one, other]] = changed[[other, one]]
    assert (digest_words(changed) == digest_words(values)) == (values[one] == values[other])


def test_an_odd_row_of_a_batch_may_lie_anywhere() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 301)).astype(np.float32)
    assert [digest_words(row) for row in rows] == [digest_words(row.copy()) for row in rows]


@given(arrays.arrays(np.float32, st.integers(1, 700), elements=finite), st.data())
def test_the_best_allowed_are_those_of_a_sort(logits: np.ndarray, data: st.DataObject) -> None:
    share = data.draw(st.sampled_from([0.0, 0.02, 0.5, 1.0]))
    allowed = np.random.default_rng(len(logits)).random(len(logits)) < share
    masked = np.where(allowed, logits, -np.inf)
    order = [int(place) for place in np.argsort(-masked, kind="stable")[:8] if allowed[place]]
    best, digest = read_row(logits, bitmask_of(allowed), 8)
    assert [token_id for token_id, _ in best] == order
    assert [value for _, value in best] == logits[order].tolist()
    assert digest == digest_words(logits)
    assert count_bits(bitmask_of(allowed)) == allowed.sum()


@pytest.mark.parametrize("size", [320, 333])
def test_the_tensor_form_reads_the_same(size: int) -> None:
    generator = np.random.default_rng(size)
    logits = generator.normal(size=(3, size)).astype(np.float32)
    bitmask = np.stack([bitmask_of(generator.random(size) < 0.3) for _ in range(3)])
    for row, numbers in enumerate(_read_tensor(torch.from_numpy(logits), bitmask)):
        digest, *rest = numbers.tolist()
        best, expected = read_row(logits[row], bitmask[row], 8)
        assert digest % 2**64 == expected
        assert rest[:8] == [token_id for token_id, _ in best]
        assert np.array(rest[8:], np.int32).view(np.float32).tolist() == [value for _, value in best]
