"""What is asked of the loop: one sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from constrained.arguments import budget_policy, forced_mode, optional_count, seconds, stop_texts
from constrained.loop.engine import TokenMatcher
from constrained.result import BudgetPolicy, ForcedMode
from constrained.sampling_config import SamplingConfig
from grammars.limits import DEFAULT_LIMITS

__all__ = ["MOST_DRAFTS", "Request"]

MOST_DRAFTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One sequence to generate; frozen. Raises ValueError for what cannot be meant.

    >>> Request(prompt_ids=[1, 2], max_tokens=0)
    Traceback (most recent call last):
    ...
    ValueError: max_tokens: expected at least 1, got 0
    """

    prompt_ids: Sequence[int]
    """At least one id."""
    matcher: TokenMatcher | None = None
    """Where the output starts in its grammar; ``None``: any text. The loop works on a fork of it."""
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    """Temperature, truncation and seed."""
    stream: int = 0
    """Which of the independent sequences of draws under the seed, from 0 to 2**64 - 1: the index of a sample, or a hash
    of a document; never a batch slot."""
    max_tokens: int = 1024
    """Most output tokens, forced ones included."""
    stop: tuple[str, ...] = ()
    """Texts that end the output; they may span tokens, and are cut off with all that follows."""
    max_rolled_back_tokens: int = DEFAULT_LIMITS.max_rolled_back_tokens
    """Output tokens that may be taken back where the text turned out to have no way on, all such places together."""
    forced: ForcedMode = "canonical"
    """How text that the grammar leaves no choice about is written; see :data:`constrained.result.ForcedMode`."""

    on_budget: BudgetPolicy = "cut"
    """What happens where a budget comes to its end; see :data:`constrained.result.BudgetPolicy`."""
    time_budget: float | None = None
    """Seconds from the row's start that it may take, its prefill included; ``None``: as long as it takes."""
    drafts: int = 0
    """Most tokens copied from the prompt that one pass checks on top of its own; 0: none. They change no output."""

    def __post_init__(self) -> None:
        if not self.prompt_ids:
            raise ValueError("prompt_ids: expected at least one id, got none; begin with the tokenizer's first token")
        if any(isinstance(token_id, bool) or not hasattr(token_id, "__index__") for token_id in self.prompt_ids):
            raise TypeError("prompt_ids: expected whole numbers; tokenize the text first")
        if optional_count(self.max_tokens, "max_tokens", least=1) is None:
            raise TypeError("max_tokens: expected a whole number, got None")
        if optional_count(self.stream, "stream", least=0, most=2**64 - 1) is None:
            raise TypeError("stream: expected a whole number, got None")
        if optional_count(self.max_rolled_back_tokens, "max_rolled_back_tokens", least=0) is None:
            raise TypeError("max_rolled_back_tokens: expected a whole number, got None")
        forced_mode(self.forced)
        if optional_count(self.drafts, "drafts", least=0, most=MOST_DRAFTS) is None:
            raise TypeError("drafts: expected a whole number, got None; 0 switches drafts off")
        seconds(self.time_budget, "time_budget")
        if budget_policy(self.on_budget) == "close" and self.matcher is None:
            raise ValueError(
                "on_budget: expected 'cut' for free text, got 'close': only a grammar says when a text is complete"
            )
        if isinstance(self.stop, str):
            raise ValueError(f"stop: expected a sequence of texts, got the text {self.stop!r}; write ({self.stop!r},)")
        stop_texts(self.stop)
