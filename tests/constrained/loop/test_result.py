"""Results and usage as plain values."""

from __future__ import annotations

import dataclasses
import json

import pytest

from constrained.result import GenerationResult, Usage

USAGE = Usage(
    prompt_tokens=9,
    sampled_tokens=3,
    forced_tokens=2,
    forward_passes=3,
    prefill_seconds=0.5,
    decode_seconds=0.25,
    mask_microseconds_mean=4.0,
    mask_microseconds_max=7.0,
    forced_mode="exact",
)


def test_steps_after_the_first_pass_are_decode_steps() -> None:
    assert (USAGE.decode_steps, USAGE.seconds_per_decode_step) == (2, 0.125)


@pytest.mark.parametrize("passes", [0, 1])
def test_without_decode_steps_there_is_no_time_of_one(passes: int) -> None:
    usage = Usage(**{field: getattr(USAGE, field) for field in USAGE.__slots__} | {"forward_passes": passes})
    assert (usage.decode_steps, usage.seconds_per_decode_step) == (0, 0.0)


def test_the_price_of_an_output_token_is_told_in_tokens_of_the_prompt() -> None:
    usage = dataclasses.replace(USAGE, cached_prompt_tokens=4)
    assert (usage.seconds_per_prompt_token, usage.seconds_per_output_token) == (0.1, 0.0625)
    assert usage.output_to_input_ratio == 0.625
    nothing = dataclasses.replace(USAGE, cached_prompt_tokens=9, sampled_tokens=0, forced_tokens=0)
    assert (nothing.seconds_per_prompt_token, nothing.seconds_per_output_token) == (0.0, 0.0)
    assert nothing.output_to_input_ratio == 0.0


def test_a_result_goes_through_json() -> None:
    result = GenerationResult(
        text="[1]", token_ids=(5, 6, 7), stop_reason="grammar", complete=True, usage=USAGE, value=[1]
    )
    data = json.loads(json.dumps(result.to_dict()))
    assert data["token_ids"] == [5, 6, 7]
    assert data["value"] == [1]
    assert data["usage"]["decode_steps"] == 2
    assert data["usage"]["forced_mode"] == "exact"
