"""State of one sequence while it is generated."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from constrained.loop.dead_ends import DeadEnds
from constrained.loop.engine import Cache, Engine, TokenMatcher
from constrained.loop.request import Request
from constrained.loop.text import OutputText
from constrained.processors import RowRecord
from constrained.result import GenerationResult, StopReason, Usage

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
    cache: Cache | None = None
    output_ids: list[int] = field(default_factory=list)
    is_forced: list[bool] = field(default_factory=list)
    """Of each output id."""
    pieces: list[str] = field(default_factory=list)
    """The text that each output id settled."""
    record: RowRecord = field(default_factory=RowRecord)
    """What the post-forward stage keeps of this row's draws."""
    dead_ends: DeadEnds = field(default_factory=DeadEnds)
    stop_reason: StopReason | None = None
    bitmask: NDArray[np.int32] | None = None
    """(1, W) The mask of the next draw, where it had to be made before the pass."""
    step_start: int = 0
    """How many output ids were given out."""
    settled: int = 0
    """How many may be."""
    last_text: str = ""
    """What comes behind all pieces."""
    sampled_tokens: int = 0
    forced_tokens: int = 0
    rolled_back_tokens: int = 0
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
        return self.stop_reason is None

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
        """The output as bytes."""
        return b"".join(map(self.engine.token_bytes, self.output_ids))

    def append(self, token_id: int, *, forced: bool = False) -> None:
        """Add an id, drawn or forced, to the output."""
        self.output_ids.append(token_id)
        self.is_forced.append(forced)
        self.pending.append(token_id)
        self.pieces.append(self.text.feed(self.engine.token_bytes(token_id)))
        self.forced_tokens += forced

    def take_back(self) -> None:
        """Take the last id out of the output again; :meth:`begin_again` must follow."""
        for added in (self.output_ids, self.is_forced, self.pieces):
            del added[-1]
        self.rolled_back_tokens += 1

    def begin_again(self) -> None:
        """Bring cache, pending ids and text to where the output ends, after ids were taken back."""
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
        )
        self.step_start, self.last_text = self.settled, ""
        return step

    def fill(self, matcher: TokenMatcher, bitmask: NDArray[np.int32], row: int) -> None:
        """Fill one row of a bitmask, and note the time it took."""
        started = time.perf_counter()
        matcher.fill_next_token_bitmask(bitmask, row)
        if self.dead_ends:
            self.dead_ends.forbid(self.engine, bitmask[row], self.written)
        seconds = time.perf_counter() - started
        self.mask_fills += 1
        self.mask_seconds += seconds
        self.mask_seconds_max = max(self.mask_seconds_max, seconds)

    def note_step(self, seconds: float) -> None:
        """Count a finished step: the first is the prefill."""
        if self.forward_passes == 1:
            self.prefill_seconds += seconds
        else:
            self.decode_seconds += seconds

    def usage(self) -> Usage:
        """What it cost so far."""
        return Usage(
            prompt_tokens=len(self.request.prompt_ids),
            sampled_tokens=self.sampled_tokens,
            forced_tokens=self.forced_tokens,
            rolled_back_tokens=self.rolled_back_tokens,
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
