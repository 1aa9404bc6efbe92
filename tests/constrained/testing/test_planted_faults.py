"""Every planted fault is found, each within a minute; a few of them are searched in every run, all in a long one."""

from __future__ import annotations

import os
import time

import pytest

from constrained.testing.faults import LawBroken

from .mutants import MOST_SECONDS, MUTANTS, Found, by_processors, by_walks

IS_LONG = os.environ.get("CONSTRAINED_HYPOTHESIS_PROFILE") == "fuzz"
ALWAYS = (
    *("roll-back undoes one too few", "a special id is allowed", "every mask goes to the first row"),
    *("maximum is one too high", "the best token is drawn always"),
)


@pytest.mark.parametrize("name", MUTANTS if IS_LONG else ALWAYS)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    mutant.plant(monkeypatch)
    started = time.monotonic()
    with pytest.raises((LawBroken, Found, AssertionError, RuntimeError, ValueError)) as found:
        mutant.search(0)
    seconds = time.monotonic() - started
    print(f"{name}: {seconds:.1f} s: {type(found.value).__name__}")
    assert seconds < 2 * MOST_SECONDS  # of a machine that may be busy with other things


@pytest.mark.parametrize("search", [by_walks, by_processors])
def test_without_a_fault_nothing_is_found(search: object) -> None:
    assert callable(search)
    search(0)


def test_there_are_twenty() -> None:
    assert len(MUTANTS) == 20
