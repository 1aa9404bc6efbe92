"""How the next token is chosen from the logits: one object, the same for the API and the command line.

>>> config = SamplingConfig(temperature=0.7, top_p=0.9, seed=7)
>>> SamplingConfig.model_validate_json(config.model_dump_json()) == config
True
>>> SamplingConfig().is_greedy
True
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

__all__ = ["SamplingConfig"]

Value = TypeVar("Value")


def _refuse_bool_and_text(value: object) -> object:
    """``True`` is no temperature and ``"0.7"`` is no number: a config says what it means."""
    if isinstance(value, bool | str):
        raise PydanticCustomError("not_a_number", "expected a number, got {value}", {"value": repr(value)})
    return value


Number = Annotated[float, BeforeValidator(_refuse_bool_and_text), Field(allow_inf_nan=False)]
Integer = Annotated[int, BeforeValidator(_refuse_bool_and_text)]


class SamplingConfig(BaseModel):
    """Settings of the post-forward stage, frozen; unknown fields are refused.

    A faulty setting raises ``pydantic.ValidationError`` (a ValueError) that names the field, what was expected and
    what came.

    >>> try:
    ...     SamplingConfig(top_p=0)
    ... except ValueError as error:
    ...     print(error.errors()[0]["msg"])
    expected 0 < top_p <= 1 (1 switches it off), got 0; to always take the best token, use temperature=0
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: Number = 0.0
    """Logits are divided by it. 0 takes the best token always (ties: the lowest id), as ``top_k=1`` does."""
    top_k: Integer | None = None
    """Keep only the ``top_k`` best tokens (ties at the edge: the lowest ids); ``None`` keeps all."""
    top_p: Number = 1.0
    """Keep the smallest set of best tokens whose probability is at least ``top_p``; 1 keeps all."""
    min_p: Number = 0.0
    """Keep tokens at least ``min_p`` times as probable as the best; 0 keeps all."""
    seed: Integer = 0
    """Names the randomness: the same seed, stream and logits give the same tokens. From 0 to 2**64 - 1."""

    @property
    def is_greedy(self) -> bool:
        """Whether the best token is always taken, so that nothing is random."""
        return self.temperature == 0.0

    @field_validator("temperature")
    @classmethod
    def _check_temperature(cls, value: float) -> float:
        return _require(value, value >= 0.0, "temperature", "temperature >= 0 (0 takes the best token always)")

    @field_validator("top_k")
    @classmethod
    def _check_top_k(cls, value: int | None) -> int | None:
        return _require(value, value is None or value >= 1, "top_k", "top_k >= 1, or None to switch it off")

    @field_validator("top_p")
    @classmethod
    def _check_top_p(cls, value: float) -> float:
        remedy = "" if value > 0.0 else "to always take the best token, use temperature=0"
        return _require(value, 0.0 < value <= 1.0, "top_p", "0 < top_p <= 1 (1 switches it off)", remedy)

    @field_validator("min_p")
    @classmethod
    def _check_min_p(cls, value: float) -> float:
        return _require(value, 0.0 <= value <= 1.0, "min_p", "0 <= min_p <= 1 (0 switches it off)")

    @field_validator("seed")
    @classmethod
    def _check_seed(cls, value: int) -> int:
        return _require(value, 0 <= value < 2**64, "seed", "a whole number from 0 to 2**64 - 1")


def _require(value: Value, holds: bool, field: str, expected: str, remedy: str = "") -> Value:
    """Return ``value`` if it ``holds``, else raise what pydantic shows for the field."""
    if not holds:
        message = "expected {expected}, got {got}" + ("; {remedy}" if remedy else "")
        got = int(value) if isinstance(value, float) and value.is_integer() else value
        raise PydanticCustomError(f"{field}_range", message, {"expected": expected, "got": str(got), "remedy": remedy})
    return value
