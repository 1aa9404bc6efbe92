"""The kernels and the tensor form give the words of the published generator."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from constrained.philox import MAX_POSITION, draw_key, philox_blocks, philox_word
from constrained.processors.philox import philox_words_tensor

from . import reference

words_64 = st.integers(0, 2**64 - 1)
positions = st.integers(0, MAX_POSITION)
token_ids = st.integers(0, 2**20)

# Known answers of the authors' distribution (Random123, kat_vectors, philox4x32 10): counter, key, result.
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_the_twin_gives_the_known_answers(counter: list[int], key: list[int], expected: list[int]) -> None:
    assert reference.philox4x32(counter, key) == expected


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_the_kernel_gives_the_known_answers(counter: list[int], key: list[int], expected: list[int]) -> None:
    stream, seed = counter[2] + (counter[3] << 32), key[0] + (key[1] << 32)
    block = [philox_word(4 * counter[0] + lane, np.array([seed, stream, counter[1]], np.uint64)) for lane in range(4)]
    assert [int(word) for word in block] == expected


def test_the_twin_agrees_with_numpy_at_the_width_that_numpy_has() -> None:
    counter, key = [3, 1, 4, 1], [59, 26]
    numpy_words = np.random.Philox(key=np.array(key, np.uint64), counter=np.array(counter, np.uint64)).random_raw(4)
    counter[0] += 1  # numpy counts up before its first block
    ours = reference.philox(
        counter,
        key,
        multipliers=(0xD2E7470EE14C6C93, 0xCA5A826395121157),
        weyl=(0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
        bits=64,
    )
    assert ours == numpy_words.tolist()


@given(seed=words_64, stream=words_64, position=positions, token_id=token_ids)
def test_one_word_is_the_twin_s(seed: int, stream: int, position: int, token_id: int) -> None:
    word = philox_word(token_id, draw_key(seed=seed, stream=stream, position=position))
    assert int(word) == reference.word(seed, stream, position, token_id)


@given(seed=words_64, stream=words_64, position=positions, first=st.integers(0, 2**18), count=st.integers(1, 9))
def test_blocks_are_the_words_of_their_ids(seed: int, stream: int, position: int, first: int, count: int) -> None:
    words = np.empty((4, count), np.uint32)
    philox_blocks(first, draw_key(seed=seed, stream=stream, position=position), *words)
    expected = [reference.word(seed, stream, position, 4 * first + offset) for offset in range(4 * count)]
    assert words.T.flatten().tolist() == expected


@given(
    rows=st.lists(st.tuples(words_64, words_64, positions, token_ids, token_ids), min_size=1, max_size=4),
)
def test_the_tensor_form_gives_the_same_words(rows: list[tuple[int, int, int, int, int]]) -> None:
    keys = np.array([row[:3] for row in rows], np.uint64).view(np.int64)
    words = philox_words_tensor(torch.tensor([row[3:] for row in rows]), torch.from_numpy(keys))
    expected = [
        [reference.word(seed, stream, position, token_id) for token_id in ids] for seed, stream, position, *ids in rows
    ]
    assert words.tolist() == expected
