"""How marks are configured, where the key comes from, and what names both without giving them away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from constrained.errors import WatermarkKeyError
from constrained.sampling_config import SamplingConfig
from constrained.watermark import WatermarkConfig, WatermarkKey

KEY = WatermarkKey.from_text("00112233445566778899aabbccddeeff")


def test_json_in_and_out_within_the_sampling_config() -> None:
    config = SamplingConfig(temperature=1.0, watermark=WatermarkConfig(scheme="kgw", key_env="NAME", delta=1.5))
    assert SamplingConfig.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "expected one of key_file and key_env: a watermark's key is never a default"),
        ({"key_file": "a", "key_env": "B"}, "expected one of key_file and key_env"),
        ({"key_file": " "}, "expected the name of a file"),
        ({"key_file": "a", "gamma": 1.0}, "expected 0 < gamma < 1, got 1.0"),
        ({"key_file": "a", "delta": 0.0}, "expected 0 < delta <= 50"),
        ({"key_file": "a", "layers": 33}, "expected 1 <= layers <= 32, got 33"),
        ({"key_file": "a", "nonces": 0}, "expected 1 <= nonces"),
        ({"key_file": "a", "context_width": 0}, "without a context the marks of a text repeat"),
        ({"key_file": "a", "scheme": "lefthash"}, "expected context_width=1"),
        ({"key_file": "a", "gama": 0.5}, "Extra inputs are not permitted"),
        ({"key_file": "a", "scheme": "exp"}, "Input should be 'gumbel', 'kgw', 'synthid' or 'lefthash'"),
    ],
)
def test_a_fault_says_what_was_expected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        WatermarkConfig(**settings)


def test_what_cannot_go_together_is_refused() -> None:
    marks = WatermarkConfig(key_file="a")
    for settings, message in (
        ({"watermark": marks}, "at temperature 0 nothing is drawn"),
        ({"watermark": marks, "temperature": 1.0, "n": 17}, "gumbel has 16 variants of a text, and n=17"),
        ({"watermark": marks, "temperature": 1.0, "sampling": "cars"}, "leave one out"),
    ):
        with pytest.raises(ValidationError, match=message):
            SamplingConfig(**settings)
    assert SamplingConfig(watermark=WatermarkConfig(scheme="kgw", key_file="a")).is_greedy


def test_keys_come_from_files_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(KEY.text + "\n")
    monkeypatch.setenv("MARK", KEY.text)
    assert WatermarkConfig(key_file=str(tmp_path / "key")).load_key() == KEY
    assert WatermarkConfig(key_env="MARK").load_key() == KEY
    assert WatermarkKey.from_text("15485863").require_number() == 15485863
    assert WatermarkKey.generate() != WatermarkKey.generate()


@pytest.mark.parametrize("text", ["", "abc", "zz" * 16, "0" * 30, "0" * 129, "0" * 33])
def test_what_is_no_key_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(WatermarkKeyError, match="expected 32 to 128 hexadecimal digits") as caught:
        WatermarkKey.from_text(text)
    assert not text or text not in str(caught.value)


def test_a_missing_key_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MARK", raising=False)
    with pytest.raises(WatermarkKeyError, match="cannot be read: No such file"):
        WatermarkConfig(key_file=str(tmp_path / "none")).load_key()
    with pytest.raises(WatermarkKeyError, match="the environment variable MARK is not set"):
        WatermarkConfig(key_env="MARK").load_key()
    with pytest.raises(WatermarkKeyError, match="which only lefthash takes"):
        WatermarkKey.from_text("7").require_secret()
    with pytest.raises(WatermarkKeyError, match="lefthash: expected a key that is a whole number"):
        KEY.require_number()


def test_fingerprints_tell_what_a_detector_must_share() -> None:
    config = WatermarkConfig(scheme="kgw", key_file="a")
    own = config.fingerprint(KEY)
    assert own == WatermarkConfig(scheme="kgw", key_env="B", delta=7.0, layers=3).fingerprint(KEY)
    others = [
        config.model_copy(update=change).fingerprint(KEY)
        for change in (
            {"gamma": 0.5},
            {"context_width": 3},
            {"nonces": 2},
            {"schema_digest": "x"},
            {"scheme": "gumbel"},
        )
    ]
    others.append(config.fingerprint(WatermarkKey.from_text("11" * 16)))
    assert len({own, *others}) == 7
    assert KEY.text not in repr(KEY)
