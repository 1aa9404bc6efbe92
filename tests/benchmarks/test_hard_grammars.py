"""The hard cases say what they mean: our engine takes each source, and each text is one of its language."""

from __future__ import annotations

import pytest

from benchmarks.engines import Ours, OurSession
from benchmarks.hard_cases import Timing, best_of, shares
from benchmarks.hard_grammars import CASES, HardCase
from grammars import Vocabulary

ENGINE = Ours(Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=[256]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_text_is_accepted_and_wrong_bytes_are_not(case: HardCase) -> None:
    session = case.compile(ENGINE)
    assert isinstance(session, OurSession)
    assert session.matcher.consume_bytes(case.text)
    assert session.accepts_end()
    assert not session.matcher.consume_bytes(b"\x00\xff")


def test_the_best_of_several_runs_ends_where_the_shortest_did() -> None:
    runs = [Timing("passed", 5.0, [1.0, 9.0, 3.0]), Timing("timed out", 4.0, [2.0, 4.0])]
    best = best_of(runs)
    assert (best.verdict, best.first, best.between) == ("timed out", 4.0, [1.0, 4.0])


def test_shares_are_taken_over_what_both_engines_came_to() -> None:
    ours, theirs = Timing("passed", 2.0, [1.0, 1.0, 100.0]), Timing("timed out", 4.0, [10.0, 10.0])
    assert shares(ours, theirs) == {"first": 0.5, "p50": 0.1, "p99": 0.1, "max": 0.1}
    assert shares(ours, Timing("refused")) == {}
