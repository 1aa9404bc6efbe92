"""How long to search: one environment variable for all of it, small unless it says more."""

from __future__ import annotations

import os

__all__ = ["DEFAULT_EXAMPLES", "EXAMPLES_VARIABLE", "SEED_VARIABLE", "TimeUp", "examples_of", "seed_of"]

EXAMPLES_VARIABLE = "CONSTRAINED_EXAMPLES"
SEED_VARIABLE = "CONSTRAINED_SEED"
DEFAULT_EXAMPLES = 20


class TimeUp(BaseException):
    """No more examples: ends a search of Hypothesis at once, which takes any Exception for a fault to be shrunk."""


def examples_of(asked: int | None = None) -> int:
    """How many examples to draw: what was asked for, or what ``CONSTRAINED_EXAMPLES`` says, or 20.

    Raises ValueError for what is no positive number.
    """
    if asked is not None:
        if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
            raise ValueError(f"examples: expected a whole number above 0, got {asked!r}")
        return asked
    text = os.environ.get(EXAMPLES_VARIABLE, str(DEFAULT_EXAMPLES))
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{EXAMPLES_VARIABLE}: expected a whole number above 0, got {text!r}")
    return int(text)


def seed_of(asked: int | None = None) -> int:
    """The seed of a search: what was asked for, or what ``CONSTRAINED_SEED`` says, or 0.

    Raises ValueError for what is no whole number from 0 on.
    """
    if asked is not None:
        if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
            raise ValueError(f"seed: expected a whole number from 0 on, got {asked!r}")
        return asked
    text = os.environ.get(SEED_VARIABLE, "0")
    if not text.isdecimal():
        raise ValueError(f"{SEED_VARIABLE}: expected a whole number from 0 on, got {text!r}")
    return int(text)
