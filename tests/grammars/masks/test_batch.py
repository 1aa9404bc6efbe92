"""Bitmasks of a batch, by many threads or by one: the same."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from grammars import BatchFiller, Limits, Matcher, allocate_token_bitmask, compile_ir
from tests.grammars.automaton.grammars_by_hand import ALL, END, byte_vocabulary

VOCABULARY = byte_vocabulary(b"aa", b"a+", b'a"', b"],[", b"((")


def matchers_in_many_states(count: int, limits: Limits) -> list[Matcher]:
    """Matchers of all the small grammars after random walks."""
    random_source = random.Random(3)
    compiled = [compile_ir(make(), VOCABULARY, limits=limits) for make in ALL.values()]
    matchers = []
    for index in range(count):
        matcher = compiled[index % len(compiled)].matcher()
        for _ in range(random_source.randrange(12)):
            allowed = [token for token in matcher.allowed_token_ids() if token != END]
            if not allowed:
                break
            matcher.consume(random_source.choice(allowed))
        matchers.append(matcher)
    return matchers


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize(
    "limits", [Limits(), Limits(max_configurations=40, max_cached_masks=5)], ids=["roomy", "tight"]
)
def test_threads_change_no_bit(threads: int, limits: Limits) -> None:
    expected = allocate_token_bitmask(90, VOCABULARY.size)
    for row, matcher in enumerate(matchers_in_many_states(90, Limits())):
        matcher.fill_next_token_bitmask(expected, row)
    with BatchFiller(threads=threads) as filler:
        for _ in range(3):
            matchers = matchers_in_many_states(90, limits)
            for grammar in {matcher.grammar for matcher in matchers}:
                grammar.forget_bitmasks()
            bitmask = np.zeros_like(expected)
            filler.fill(matchers, bitmask)
            np.testing.assert_array_equal(bitmask, expected)


def test_matchers_of_one_grammar_in_eight_threads() -> None:
    """Whoever shares a compiled grammar among Python threads gets the masks that one thread gets."""
    limits = Limits(max_configurations=60, max_cached_masks=8)
    compiled = [compile_ir(make(), VOCABULARY, limits=limits) for make in ALL.values()]

    def walk(seed: int) -> list[list[int]]:
        random_source = random.Random(seed)
        matcher = compiled[seed % len(compiled)].matcher()
        seen = []
        for _ in range(10):
            seen.append(matcher.allowed_token_ids())
            ways_on = [token for token in seen[-1] if token != END]
            if not ways_on:
                break
            matcher.consume(random_source.choice(ways_on))
        return seen

    alone = [walk(seed) for seed in range(64)]
    with ThreadPoolExecutor(8) as executor:
        assert list(executor.map(walk, range(64))) == alone


def test_a_row_without_a_grammar_is_open() -> None:
    bitmask = np.zeros((2, (VOCABULARY.size + 31) // 32), np.int32)
    with BatchFiller() as filler:
        filler.fill([None, None], bitmask)
    assert (bitmask == -1).all()


def test_too_few_rows() -> None:
    with BatchFiller() as filler, pytest.raises(ValueError, match="at least 2 rows"):
        filler.fill([None, None], np.zeros((1, 9), np.int32))
