"""One config object: frozen, JSON in and out, helpful when it is wrong."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from constrained.sampling_config import SamplingConfig


@given(
    config=st.builds(
        SamplingConfig,
        temperature=st.floats(0, 1e6),
        top_k=st.none() | st.integers(1, 10**6),
        top_p=st.floats(0, 1, exclude_min=True),
        min_p=st.floats(0, 1),
        seed=st.integers(0, 2**64 - 1),
    )
)
def test_json_in_and_out(config: SamplingConfig) -> None:
    assert SamplingConfig.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -0.1}, "expected temperature >= 0 .*got -0.1"),
        ({"temperature": math.nan}, "finite number"),
        ({"temperature": math.inf}, "finite number"),
        ({"temperature": True}, "expected a number, got True"),
        ({"temperature": "0.7"}, "expected a number, got '0.7'"),
        ({"top_k": 0}, "expected top_k >= 1, or None"),
        ({"top_p": 0}, "expected 0 < top_p <= 1 .*got 0; to always take the best token, use temperature=0"),
        ({"top_p": 1.01}, "expected 0 < top_p <= 1 .*got 1.01"),
        ({"min_p": -1}, "expected 0 <= min_p <= 1 .*got -1"),
        ({"seed": -1}, "expected a whole number from 0"),
        ({"seed": 2**64}, "expected a whole number from 0"),
        ({"temprature": 1.0}, "temprature\n  Extra inputs are not permitted"),
    ],
)
def test_a_fault_says_what_was_expected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SamplingConfig(**settings)


def test_it_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        SamplingConfig().temperature = 1.0
