"""What is noted of each draw while a request is generated: a processor that reads logits and leaves them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from constrained.loop import Request
from constrained.processors import Stage, StepContext
from constrained.processors.device import has_kernels
from constrained.processors.mask import apply_token_bitmask
from constrained.processors.record import DrawNote, RowRecord

from .bits import count_bits, digest_tensor, digest_words, read_row

__all__ = ["NUM_BEST", "StepNote", "StepObserver", "Trace", "Watch"]

NUM_BEST = 8
"""How many of the best allowed tokens are noted, with their logits."""
_THOUSANDTHS = 1000


@dataclass(frozen=True, slots=True)
class StepNote:
    """One draw."""

    position: int
    """Index of the token within the output."""
    forced: tuple[int, ...]
    """Ids that were appended without a draw since the draw before."""
    num_allowed: int
    """How many ids the mask allowed."""
    mask_digest: int
    """Of the token bitmask."""
    logits_digest: int
    """Of the raw logits, all of them, bit by bit."""
    best: tuple[tuple[int, int], ...]
    """The coarse digest: of the best allowed tokens, best first, id and raw logit in thousandths."""
    token_id: int
    """What was drawn."""


@dataclass(slots=True)
class _Step:
    """A draw that is being noted; what a device computes is fetched when it is asked for."""

    position: int
    forced: tuple[int, ...]
    num_allowed: int
    mask_digest: int
    note: DrawNote
    logits_digest: int = 0
    best: list[tuple[int, float]] = field(default_factory=list)
    on_device: Tensor | None = None
    """(1 + 2 k,) int64: the digest, k ids, the bits of k logits."""

    def finished(self) -> StepNote:
        logits_digest, best = self.logits_digest, self.best
        if self.on_device is not None:
            logits_digest, *rest = self.on_device.tolist()
            count = len(rest) // 2
            values = np.array(rest[count:], np.int64).astype(np.int32).view(np.float32)
            best = list(zip(rest[:count], values.tolist(), strict=True))
        rounded = ((token_id, round(_THOUSANDTHS * value)) for token_id, value in best if np.isfinite(value))
        return StepNote(
            self.position,
            self.forced,
            self.num_allowed,
            self.mask_digest,
            logits_digest % 2**64,
            tuple(rounded),
            self.note.token_id,
        )


@dataclass(slots=True)
class Trace:
    """The draws of one row, in the order in which they came; some may have been taken back."""

    record: RowRecord
    prompt_ids: Sequence[int]
    stream: int
    _steps: list[_Step] = field(default_factory=list)

    @classmethod
    def of_no_draw(cls, request: Request) -> Self:
        """Of a request whose output was forced, all of it."""
        return cls(RowRecord(), request.prompt_ids, request.stream)

    def __len__(self) -> int:
        return len(self._steps)

    def steps(self, start: int = 0) -> list[StepNote]:
        """All draws from index ``start`` on."""
        return [step.finished() for step in self._steps[start:]]

    def begin(self, position: int, output_ids: Sequence[int], note: DrawNote, *, num_allowed: int, mask: int) -> _Step:
        """Note that the token at ``position`` is about to be drawn."""
        last = self._steps[-1].position if self._steps else -1
        step = _Step(position, tuple(output_ids[last + 1 : position]), num_allowed, mask, note)
        self._steps.append(step)
        return step


@dataclass(slots=True, weakref_slot=True)
class Watch:
    """What was noted of one request, for as long as this is held."""

    prompt_ids: Sequence[int]
    """The very object of the request: it tells rows of a batch apart."""
    traces: list[Trace] = field(default_factory=list)
    """One for each time that it was begun; the last that was drawn from comes last."""


class StepObserver:
    """Notes the draws of requests that are watched, and changes nothing.

    >>> from constrained.loop import Engine, generate
    >>> from constrained.testing.tiny import tiny_llama, tiny_tokenizer
    >>> engine, request = Engine.from_model(tiny_llama(), tiny_tokenizer()), Request(prompt_ids=[5, 6], max_tokens=3)
    >>> observer = StepObserver()
    >>> watch = observer.watch(request)
    >>> result = generate(engine, request, processors=[observer])
    >>> [step.token_id for step in watch.traces[-1].steps()] == list(result.token_ids)
    True
    """

    stage: ClassVar[Stage] = Stage.USER
    only_reads: ClassVar[bool] = True

    def __init__(self) -> None:
        self._watches: WeakValueDictionary[int, Watch] = WeakValueDictionary()

    def watch(self, request: Request) -> Watch:
        """Note the draws of this request, whatever its stream, until the watch is let go."""
        watch = Watch(request.prompt_ids)
        self._watches[id(request.prompt_ids)] = watch
        return watch

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Raw logits (B, V) in, the same out."""
        if not self._watches:
            return logits
        found = [(row, self._watches.get(id(prompt_ids))) for row, prompt_ids in enumerate(context.prompt_ids)]
        steps = {row: _begin(context, row, watch.traces) for row, watch in found if watch is not None}
        if has_kernels(logits):
            plain = logits.detach().contiguous().numpy()
            for row, step in steps.items():
                step.best, step.logits_digest = read_row(plain[row], context.token_bitmask[row], NUM_BEST)
        elif steps:
            read = _read_tensor(logits[list(steps)], context.token_bitmask[list(steps)])
            for step, numbers in zip(steps.values(), read, strict=True):
                step.on_device = numbers
        return logits


def _begin(context: StepContext, row: int, traces: list[Trace]) -> _Step:
    record = context.records[row]
    if not traces or traces[-1].record is not record:
        found = next((trace for trace in traces if trace.record is record), None)
        if found is None:
            found = Trace(record, context.prompt_ids[row], context.streams[row])
        else:
            traces.remove(found)
        traces.append(found)
    words = context.token_bitmask[row]
    return traces[-1].begin(
        context.positions[row],
        context.output_ids[row],
        context.notes[row],
        num_allowed=count_bits(words),
        mask=digest_words(words),
    )


def _read_tensor(logits: Tensor, token_bitmask: np.ndarray[tuple[int, int], np.dtype[np.int32]]) -> Tensor:
    """(B, 1 + 2 k) int64: digest, best allowed ids and the bits of their logits; nothing waits for the device."""
    values, ids = apply_token_bitmask(logits, token_bitmask).topk(min(NUM_BEST, logits.shape[1]), dim=1)
    return torch.cat([digest_tensor(logits)[:, None], ids, values.view(torch.int32).long()], dim=1)
