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
        repetition_penalty=st.floats(0.01, 100),
        presence_penalty=st.floats(-100, 100),
        frequency_penalty=st.floats(-100, 100),
        logit_bias=st.dictionaries(st.integers(0, 10**6), st.floats(-1000, 1000), max_size=3),
        bad_words=st.lists(st.text(min_size=1), max_size=3).map(tuple),
        logprobs=st.booleans(),
        top_logprobs=st.integers(0, 100),
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
        ({"repetition_penalty": 0.0}, "expected 0.01 <= repetition_penalty <= 100 .*got 0"),
        ({"presence_penalty": math.nan}, "finite number"),
        ({"frequency_penalty": 101.0}, "expected a penalty from -100 to 100 .*got 101"),
        ({"logit_bias": {-1: 1.0}}, "expected token ids, which are 0 or more, got -1"),
        ({"logit_bias": {5: -math.inf}}, "finite number"),
        ({"logit_bias": {5: 1001.0}}, "expected a bias from -1000 to 1000, got 1001; to forbid a text, use bad_words"),
        ({"bad_words": "no"}, "expected a list of texts, got the text 'no'; put it in a list"),
        ({"bad_words": [""]}, "expected texts of at least one character"),
        ({"n": 0}, "expected a whole number from 1 to 4096, got 0"),
        ({"n": 2}, "at temperature 0 all are the same"),
        ({"temperature": 1.0, "n": 3, "best_of": 2}, "expected n <= best_of"),
        ({"temperature": 1.0, "num_beams": 2}, "searches and draws nothing"),
        ({"sampling": "cars"}, "at temperature 0 nothing is drawn"),
        ({"sampling": "smc", "temperature": 1.0, "top_p": 0.9}, "follows the model's own distribution"),
        ({"sampling": "exact"}, "Input should be 'local', 'asap', 'cars', 'awrs' or 'smc'"),
        ({"top_logprobs": 101}, "expected 0 to 100, got 101"),
        ({"temprature": 1.0}, "temprature\n  Extra inputs are not permitted"),
    ],
)
def test_a_fault_says_what_was_expected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SamplingConfig(**settings)


def test_it_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        SamplingConfig().temperature = 1.0
