"""How the next token is chosen from the logits: one object, the same for the API and the command line.

>>> config = SamplingConfig(temperature=0.7, top_p=0.9, seed=7)
>>> SamplingConfig.model_validate_json(config.model_dump_json()) == config
True
>>> SamplingConfig().is_greedy
True
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from .watermark.config import WatermarkConfig

__all__ = ["SamplingConfig", "SamplingMethod"]

Value = TypeVar("Value")

SamplingMethod = Literal["local", "asap", "cars", "awrs", "smc"]
"""``local``: each token is drawn among the allowed ones, which favours texts that the model would hardly have begun.
The others draw whole texts with the probability that the model itself gives them among those that the grammar allows:
see :mod:`constrained.sampling`."""

_MOST_PENALTY = 100.0
_MOST_BIAS = 1000.0
_MOST_TOP_LOGPROBS = 100


def _refuse_bool_and_text(value: object) -> object:
    """``True`` is no temperature and ``"0.7"`` is no number: a config says what it means."""
    if isinstance(value, bool | str):
        raise PydanticCustomError("not_a_number", "expected a number, got {value}", {"value": repr(value)})
    return value


def _token_id(value: object) -> object:
    """A key of a JSON object is text, whatever it means."""
    return int(value) if isinstance(value, str) and value.isdecimal() else _refuse_bool_and_text(value)


def _refuse_one_text(value: object) -> object:
    """A text is a sequence of texts too, and never meant as one."""
    if isinstance(value, str):
        raise PydanticCustomError(
            "one_text", "expected a list of texts, got the text {value}; put it in a list", {"value": repr(value)}
        )
    return value


Number = Annotated[float, BeforeValidator(_refuse_bool_and_text), Field(allow_inf_nan=False)]
Integer = Annotated[int, BeforeValidator(_refuse_bool_and_text)]
TokenId = Annotated[int, BeforeValidator(_token_id)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_refuse_one_text)]


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
    repetition_penalty: Number = 1.0
    """Logits of tokens already drawn are divided by it if above 0, and multiplied if below; 1 changes nothing."""
    presence_penalty: Number = 0.0
    """Taken off the logit of each token already drawn."""
    frequency_penalty: Number = 0.0
    """Taken off the logit of a token as often as it was drawn."""
    logit_bias: dict[TokenId, Number] = Field(default_factory=dict)
    """Added to the logits of these token ids."""
    bad_words: Texts = ()
    """Texts that must not stand in the output, however it is cut into tokens."""
    sampling: SamplingMethod = "local"
    """Whether tokens or whole texts follow the model; see :data:`SamplingMethod`."""
    particles: Integer = 16
    """``sampling="smc"``: how many texts are written side by side."""
    max_draws: Integer = 100
    """``sampling="asap"`` and ``"cars"``: texts that are begun at most, for one that is given back."""
    n: Integer = 1
    """How many independent samples are wanted."""
    best_of: Integer | None = None
    """How many samples to draw, of which the ``n`` with the best mean log-probability are kept."""
    num_beams: Integer = 1
    """Above 1: keep so many texts at each step instead of drawing one, and give the most probable."""
    logprobs: bool = False
    """Whether the result has the log-probabilities of its tokens."""
    top_logprobs: Integer = 0
    """Of how many of the best tokens at each place, too."""
    watermark: WatermarkConfig | None = None
    """How the output is marked; ``None``: not at all."""

    @property
    def is_greedy(self) -> bool:
        """Whether the best token is always taken, so that nothing is random."""
        return self.temperature == 0.0

    def for_schema(self, digest: str) -> SamplingConfig:
        """The same settings, with marks that are tied to an output type's digest."""
        if self.watermark is None or not digest:
            return self
        return self.model_copy(update={"watermark": self.watermark.model_copy(update={"schema_digest": digest})})

    @property
    def has_penalties(self) -> bool:
        """Whether what was drawn before changes a logit."""
        return (self.repetition_penalty, self.presence_penalty, self.frequency_penalty) != (1.0, 0.0, 0.0)

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

    @field_validator("repetition_penalty")
    @classmethod
    def _check_repetition(cls, value: float) -> float:
        expected = f"{1 / _MOST_PENALTY} <= repetition_penalty <= {_MOST_PENALTY:g} (1 switches it off)"
        return _require(value, 1 / _MOST_PENALTY <= value <= _MOST_PENALTY, "repetition_penalty", expected)

    @field_validator("presence_penalty", "frequency_penalty")
    @classmethod
    def _check_penalty(cls, value: float) -> float:
        expected = f"a penalty from {-_MOST_PENALTY:g} to {_MOST_PENALTY:g} (0 switches it off)"
        return _require(value, abs(value) <= _MOST_PENALTY, "penalty", expected)

    @field_validator("logit_bias")
    @classmethod
    def _check_bias(cls, value: dict[int, float]) -> dict[int, float]:
        for token_id, bias in value.items():
            _require(token_id, token_id >= 0, "logit_bias", "token ids, which are 0 or more")
            remedy = "to forbid a text, use bad_words"
            expected = f"a bias from {-_MOST_BIAS:g} to {_MOST_BIAS:g}"
            _require(bias, abs(bias) <= _MOST_BIAS, "logit_bias", expected, remedy)
        return value

    @field_validator("bad_words")
    @classmethod
    def _check_bad_words(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            _require(word, word != "", "bad_words", "texts of at least one character")
        return value

    @field_validator("particles", "max_draws", "n", "num_beams")
    @classmethod
    def _check_count(cls, value: int) -> int:
        return _require(value, 1 <= value <= 4096, "count", "a whole number from 1 to 4096")

    @field_validator("top_logprobs")
    @classmethod
    def _check_top_logprobs(cls, value: int) -> int:
        return _require(value, 0 <= value <= _MOST_TOP_LOGPROBS, "top_logprobs", f"0 to {_MOST_TOP_LOGPROBS}")

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        for holds, message in self._rules():
            if not holds:
                raise PydanticCustomError("together", "{message}", {"message": message})
        return self

    def _rules(self) -> tuple[tuple[bool, str], ...]:
        """What fields mean for each other: whether each rule holds, and what is wrong where it does not."""
        marks = self.watermark
        is_exact = self.sampling != "local"
        truncates = self.top_k is not None or self.top_p < 1.0 or self.min_p > 0.0
        changes = truncates or self.has_penalties or bool(self.logit_bias)
        return (
            (
                marks is None or not marks.needs_temperature or not self.is_greedy,
                f"watermark: {marks and marks.scheme} marks the draw, and at temperature 0 nothing is drawn; pass a "
                "temperature above 0, or scheme='kgw'",
            ),
            (
                not is_exact or not self.is_greedy,
                f"sampling={self.sampling!r} draws texts, and at temperature 0 nothing is drawn; pass a temperature "
                "above 0",
            ),
            (
                not is_exact or not changes,
                f"sampling={self.sampling!r} follows the model's own distribution: expected no top_k, top_p, min_p, "
                "penalties or logit_bias",
            ),
            (
                not is_exact or marks is None,
                f"sampling={self.sampling!r} draws texts as a whole, and a watermark marks single draws; leave one out",
            ),
            (
                (self.best_of or self.n) == 1 or not self.is_greedy or self.num_beams > 1,
                f"n={self.n} and best_of={self.best_of} ask for several samples, and at temperature 0 all are the "
                "same; pass a temperature above 0, or num_beams",
            ),
            (
                marks is None or marks.scheme != "gumbel" or (self.best_of or self.n) <= marks.num_nonces,
                f"watermark: gumbel has {marks and marks.num_nonces} variants of a text, and n={self.n} and "
                f"best_of={self.best_of} ask for more; raise nonces",
            ),
            (
                self.best_of is None or self.n <= self.best_of <= 4096,
                f"expected n <= best_of <= 4096, got n={self.n} and best_of={self.best_of}",
            ),
            (
                self.num_beams == 1 or (self.is_greedy and not is_exact and marks is None and self.best_of is None),
                f"num_beams={self.num_beams} searches and draws nothing: expected temperature 0, and neither a "
                "watermark, best_of nor another sampling",
            ),
            (
                self.num_beams == 1 or self.n <= self.num_beams,
                f"expected n <= num_beams, got n={self.n} and num_beams={self.num_beams}",
            ),
        )


def _require(value: Value, holds: bool, field: str, expected: str, remedy: str = "") -> Value:
    """Return ``value`` if it ``holds``, else raise what pydantic shows for the field."""
    if not holds:
        message = "expected {expected}, got {got}" + ("; {remedy}" if remedy else "")
        got = int(value) if isinstance(value, float) and value.is_integer() else value
        raise PydanticCustomError(f"{field}_range", message, {"expected": expected, "got": str(got), "remedy": remedy})
    return value
