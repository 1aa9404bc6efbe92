"""What a generation gives back: the text, what it means, why it ended, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["BudgetPolicy", "ForcedMode", "GenerationResult", "MarkedWith", "StopReason", "TokenLogprob", "Usage"]

StopReason = Literal["eos", "grammar", "length", "time", "stop_text"]
"""``eos``: the model ended; ``grammar``: nothing more may follow; ``length``: ``max_tokens`` or the model's context is
used up; ``time``: ``time_budget`` is; ``stop_text``: one of the stop texts came."""

BudgetPolicy = Literal["cut", "close"]
"""What happens where ``max_tokens``, the model's context or ``time_budget`` come to their end: ``cut``, the output ends
there, whole or not; ``close``, as the end comes near only such tokens are allowed as still leave room for a complete
output, so that it always is one."""

ForcedMode = Literal["canonical", "exact", "off"]
"""How text that the grammar leaves no choice about is written: ``canonical``, with the tokens that the tokenizer itself
writes for it; ``exact``, without a pass only where a single token id is allowed; ``off``, token by token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and times of one generation.

    Output tokens are ``sampled_tokens + forced_tokens - rolled_back_tokens``, less one if the end token was sampled
    (``eos``).
    """

    prompt_tokens: int
    """Tokens of the prompt."""
    sampled_tokens: int
    """Tokens that were drawn, each from the logits of one position."""
    forced_tokens: int
    """Tokens that the grammar forced; they were appended without a draw and rode along with the next pass."""
    rolled_back_tokens: int = 0
    """Tokens, of both kinds, that were taken back because the text had no way on with them."""
    cached_prompt_tokens: int = 0
    """Tokens of the prompt whose keys and values were there from an earlier prompt that began alike."""
    drafted_tokens: int = 0
    """Tokens copied from the prompt and checked by a pass beside its own."""
    accepted_tokens: int = 0
    """How many of them turned out to be the output: so many tokens needed no pass of their own."""
    narrowed_masks: int = 0
    """Token bitmasks from which a budget took something, so that the output could still be completed."""
    kv_bytes: int = 0
    """Memory that its keys and values took in the end, what is shared with other rows included."""
    forward_passes: int
    """Passes of the model, prefill included (a long prompt counts once)."""
    prefill_seconds: float
    """The passes that took the prompt, to the first draw. In a batch, passes count whole for each of their rows."""
    decode_seconds: float
    """All later steps together: pass, mask and draw."""
    mask_microseconds_mean: float
    """Time to fill one token bitmask, mean; 0 without a grammar."""
    mask_microseconds_max: float
    """Time to fill one token bitmask, the slowest; 0 without a grammar."""
    forced_mode: ForcedMode
    """How forced text was written."""

    @property
    def decode_steps(self) -> int:
        """Passes after the first."""
        return max(self.forward_passes - 1, 0)

    @property
    def seconds_per_decode_step(self) -> float:
        """Mean of the steps after the first; 0 if there was none."""
        return self.decode_seconds / self.decode_steps if self.decode_steps else 0.0

    @property
    def seconds_per_prompt_token(self) -> float:
        """Mean over the tokens of the prompt that were computed."""
        computed = self.prompt_tokens - self.cached_prompt_tokens
        return self.prefill_seconds / computed if computed else 0.0

    @property
    def seconds_per_output_token(self) -> float:
        """Mean over the output, forced and drafted tokens too, of the time after the prompt."""
        written = self.sampled_tokens + self.forced_tokens - 1
        return self.decode_seconds / written if written > 0 else 0.0

    @property
    def output_to_input_ratio(self) -> float:
        """How many tokens of a prompt took as much time as one of the output; 0 where that was not measured."""
        price = self.seconds_per_prompt_token
        return self.seconds_per_output_token / price if price else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return asdict(self) | {
            "decode_steps": self.decode_steps,
            "seconds_per_decode_step": self.seconds_per_decode_step,
            "seconds_per_prompt_token": self.seconds_per_prompt_token,
            "seconds_per_output_token": self.seconds_per_output_token,
            "output_to_input_ratio": self.output_to_input_ratio,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprob:
    """How probable an output token was to the model, at temperature 1."""

    token_id: int
    text: str
    """What it writes; parts of a character appear as U+FFFD."""
    logprob: float | None
    """Log-probability among the tokens that the grammar allowed; ``None`` for one that was forced without a draw."""
    unmasked_logprob: float | None
    """The same among all tokens."""
    top: tuple[tuple[int, float, float], ...] = ()
    """Of the best allowed tokens: id, and the two log-probabilities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedWith:
    """How an output is watermarked; neither says what the key is."""

    scheme: str
    fingerprint: str
    """Equal where a detector looks for the same marks."""
    nonce: int
    """Which variant of the marks it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationResult:
    """One finished generation."""

    text: str
    """The output as text; without end tokens, stop text and what followed it."""
    token_ids: tuple[int, ...]
    """The output as ids, without the end token; after ``stop_text`` they may spell more than ``text``."""
    stop_reason: StopReason
    """Why it ended."""
    complete: bool
    """Whether the output is whole: under a grammar, that the text is in its language and was not cut off."""
    usage: Usage
    """What it cost."""
    value: Any = None
    """The parsed and validated value, where an output type was asked for and the output is complete."""
    log_weight: float = 0.0
    """ln W, the log of the product of the probabilities, before each mask, of what it allowed, over all draws. 0: masks
    forbade nothing that the model would have written; far below: they led far from it. Forced tokens do not count."""
    logprobs: tuple[TokenLogprob, ...] | None = None
    """Of each output token, where ``logprobs`` or ``top_logprobs`` ask for them."""
    mean_logprob: float | None = None
    """Mean unmasked log-probability of the drawn tokens, where log-probabilities were noted."""
    choice_logprobs: dict[str, float] | None = None
    """Of each choice as a whole, where ``constrained.choice(..., score="sequence")`` was asked for; they sum to 1."""
    watermark: MarkedWith | None = None
    """How it is marked."""
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """With a source: where each string of the value stands in it, by JSON pointer: ``source[start:end]``. Of several
    places the first at which words begin and end. Strings that need not be in it are told where they happen to be."""
    samples: tuple[GenerationResult, ...] = ()
    """All that were asked for by ``n``, this one first."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON where ``value`` is."""
        return {
            "text": self.text,
            "value": self.value,
            "complete": self.complete,
            "stop_reason": self.stop_reason,
            "token_ids": list(self.token_ids),
            "usage": self.usage.to_dict(),
            "spans": {pointer: list(span) for pointer, span in self.spans.items()},
            "log_weight": self.log_weight,
            "logprobs": None if self.logprobs is None else [asdict(token) for token in self.logprobs],
            "watermark": None if self.watermark is None else asdict(self.watermark),
        }
