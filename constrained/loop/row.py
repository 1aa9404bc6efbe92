"""State of one sequence while it is generated."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from constrained.errors import ConstrainedError
from constrained.loop.budget import Budget
from constrained.loop.dead_ends import DeadEnds
from constrained.loop.drafts import Drafter
from constrained.loop.engine import Cache, Engine, TokenMatcher
from constrained.loop.request import Request
from constrained.loop.text import OutputText
from constrained.processors import RowRecord
from constrained.result import GenerationResult, StopReason, Usage
from grammars.errors import GrammarError

__all__ = ["Row", "Step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step added to one row."""

    row: int
    """Index of the request."""
    token_ids: tuple[int, ...]
    """Output ids added: one that was drawn, then those that were forced; more where some had been held back."""
    num_forced: int
    """How many of them were forced."""
    text: str
    """Their text, as far as it is settled; none of it will be taken back."""
    result: GenerationResult | None
    """In the last step of a row, the whole of it."""
    error: ConstrainedError | GrammarError | None = None
    """In the last step of a row that could not be finished, why."""


@dataclass(slots=True, kw_only=True)
class Row:
    """One sequence: what was written, what the cache still lacks, why it ended, what it cost."""

    index: int
    engine: Engine
    request: Request
    matcher: TokenMatcher | None
    text: OutputText
    pending: list[int]
    """Ids that are part of the sequence and not yet in the cache; the next pass takes them."""
    holds_back: bool = False
    """Whether nothing is given out before the end."""
    budget: Budget | None = None
    cache: Cache | None = None
    drafter: Drafter | None = None
    ahead: list[int] = field(default_factory=list)
    """The draft: the last ids in the cache, which are not known to be part of the sequence."""
    logits: Tensor | None = None
    """(1 + len(ahead), V) After the last id that is part of the sequence, and after each of ``ahead``."""
    output_ids: list[int] = field(default_factory=list)
    is_forced: list[bool] = field(default_factory=list)
    """Of each output id."""
    pieces: list[str] = field(default_factory=list)
    """The text that each output id settled."""
    record: RowRecord = field(default_factory=RowRecord)
    """What the post-forward stage keeps of this row's draws."""
    dead_ends: DeadEnds = field(default_factory=DeadEnds)
    stop_reason: StopReason | None = None
    error: ConstrainedError | GrammarError | None = None
    bitmask: NDArray[np.int32] | None = None
    """(1, W) The mask of the next draw, where it had to be made before the pass."""
    is_narrowed: bool = False
    """Whether a budget took something from the last mask."""
    step_start: int = 0
    """How many output ids were given out."""
    settled: int = 0
    """How many may be."""
    last_text: str = ""
    """What comes behind all pieces."""
    sampled_tokens: int = 0
    forced_tokens: int = 0
    rolled_back_tokens: int = 0
    cached_prompt_tokens: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    forward_passes: int = 0
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    mask_fills: int = 0
    mask_seconds: float = 0.0
    mask_seconds_max: float = 0.0

    @classmethod
    def from_request(cls, engine: Engine, request: Request, *, index: int = 0, holds_back: bool = False) -> Row:
        """A row at the start of its output; the request's matcher is forked and stays as it is."""
        return cls(
            index=index,
            engine=engine,
            request=request,
            matcher=None if request.matcher is None else request.matcher.fork(),
            text=OutputText(stop=request.stop),
            pending=list(request.prompt_ids),
            holds_back=holds_back,
        )

    @property
    def is_live(self) -> bool:
        """Whether it goes on."""
        return self.stop_reason is None and self.error is None

    @property
    def can_draw(self) -> bool:
        """Whether the logits of its next token are there."""
        return self.logits is not None and self.is_live

    @property
    def max_output(self) -> int:
        """Most output tokens: what was asked for, or what the model's context leaves."""
        return min(self.request.max_tokens, self.engine.context_length - len(self.request.prompt_ids))

    @property
    def room(self) -> int:
        """Output tokens that may still follow."""
        return self.max_output - len(self.output_ids)

    @property
    def written(self) -> bytes:
        """The output as bytes, special tokens in their spelling: equal where the same may follow."""
        return b"".join(map(self.engine.spelled, self.output_ids))

    @contextmanager
    def on_its_own(self) -> Iterator[None]:
        """What goes wrong with this row ends it, and no other."""
        try:
            yield
        except (ConstrainedError, GrammarError) as error:
            self.error = error

    def append(self, token_id: int, *, forced: bool = False) -> None:
        """Add an id, drawn or forced, to the output; where it is what was drafted, it is in the cache already."""
        self.output_ids.append(token_id)
        self.is_forced.append(forced)
        self.pieces.append(self.text.feed(self.engine.token_bytes(token_id)))
        self.forced_tokens += forced
        if not self.pending and self.ahead and self.ahead[0] == token_id:
            assert self.logits is not None
            del self.ahead[0]
            self.logits = self.logits[1:]
            self.accepted_tokens += 1
            return
        self.drop_draft()
        self.pending.append(token_id)

    def drop_draft(self) -> None:
        """Take out of the cache what is left of the draft; there is nothing to draw from then."""
        if self.ahead:
            assert self.cache is not None
            self.cache.truncate(self.cache.length - len(self.ahead))
            self.ahead.clear()
        self.logits = None

    def take_back(self) -> None:
        """Take the last id out of the output again; :meth:`begin_again` must follow."""
        for added in (self.output_ids, self.is_forced, self.pieces):
            del added[-1]
        self.rolled_back_tokens += 1

    def begin_again(self) -> None:
        """Bring cache, pending ids and text to where the output ends, after ids were taken back."""
        self.drop_draft()
        ids = [*self.request.prompt_ids, *self.output_ids]
        assert self.cache is not None
        self.cache.truncate(min(self.cache.length, len(ids) - 1))  # the next pass needs an id to take
        self.pending[:] = ids[self.cache.length :]
        self.text = OutputText(stop=self.request.stop)
        self.pieces[:] = [self.text.feed(self.engine.token_bytes(token_id)) for token_id in self.output_ids]

    def settle(self) -> None:
        """Let all that was written be given out, unless some of it may have to be taken back."""
        if self.stop_reason is not None or not (
            self.holds_back or (self.matcher is not None and self.matcher.has_open_guard)
        ):
            self.settled = len(self.output_ids)

    def take_step(self, result: GenerationResult | None) -> Step:
        """What was settled since the last call."""
        added = slice(self.step_start, self.settled)
        step = Step(
            row=self.index,
            token_ids=tuple(self.output_ids[added]),
            num_forced=sum(self.is_forced[added]),
            text="".join(self.pieces[added]) + self.last_text,
            result=result,
            error=self.error,
        )
        self.step_start, self.last_text = self.settled, ""
        return step

    def fill(self, matcher: TokenMatcher, bitmask: NDArray[np.int32], place: int) -> None:
        """Fill one row of a bitmask with what may be drawn next, and note the time it took."""
        started = time.perf_counter()
        matcher.fill_next_token_bitmask(bitmask, place)
        if self.dead_ends:
            self.dead_ends.forbid(self.engine, bitmask[place], self.written)
        if self.budget is not None:
            self.is_narrowed = self.budget.narrow(
                matcher, bitmask, place, written=len(self.output_ids), pass_seconds=self.seconds_per_pass
            )
        seconds = time.perf_counter() - started
        self.mask_fills += 1
        self.mask_seconds += seconds
        self.mask_seconds_max = max(self.mask_seconds_max, seconds)

    def note_seconds(self, seconds: float) -> None:
        """Count the time of a pass or of a draw: up to the first draw it belongs to the prefill."""
        if self.sampled_tokens == 0:
            self.prefill_seconds += seconds
        else:
            self.decode_seconds += seconds

    @property
    def seconds_per_pass(self) -> float:
        """Mean of the passes after the first; 0 before there was one."""
        return self.decode_seconds / max(self.forward_passes - 1, 1)

    def usage(self) -> Usage:
        """What it cost so far."""
        return Usage(
            prompt_tokens=len(self.request.prompt_ids),
            sampled_tokens=self.sampled_tokens,
            forced_tokens=self.forced_tokens,
            rolled_back_tokens=self.rolled_back_tokens,
            cached_prompt_tokens=self.cached_prompt_tokens,
            drafted_tokens=self.drafted_tokens,
            accepted_tokens=self.accepted_tokens,
            kv_bytes=0 if self.cache is None else self.cache.num_bytes,
            narrowed_masks=0 if self.budget is None else self.budget.narrowed_masks,
            forward_passes=self.forward_passes,
            prefill_seconds=self.prefill_seconds,
            decode_seconds=self.decode_seconds,
            mask_microseconds_mean=1e6 * self.mask_seconds / max(self.mask_fills, 1),
            mask_microseconds_max=1e6 * self.mask_seconds_max,
            forced_mode=self.request.forced,
        )

    def release(self) -> None:
        """Let go of the cache and the matcher."""
        self.cache = None
        self.matcher = None
        self.bitmask = None
        self.logits = None
