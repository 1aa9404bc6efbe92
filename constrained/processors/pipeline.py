"""The post-forward stage: from the logits of a pass to one token id for each row.

The order is fixed and checked when a pipeline is built:

    caller's processors -> grammar mask -> biases, penalties -> temperature -> top-k -> top-p -> min-p
    -> watermark -> digest -> draw

The mask comes after everything that a caller does to raw logits, so nothing can revive a forbidden token; what comes
after the mask only narrows or reweighs what it left. A processor of the caller that asks for a later place (by its
``stage``) gets it, and a -inf that it turns into something else is put back. One that says ``only_reads = True`` sees
the raw logits, before any other; it changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.errors import LogitsError, NoTokenAllowed
from constrained.processors import device
from constrained.processors.context import LogitsProcessor, Stage, StepContext, stage_of
from constrained.processors.draw import draw, draw_tensor
from constrained.processors.mask import GrammarMask
from constrained.processors.measure import log_mask_mass, note_logprobs
from constrained.processors.penalties import LogitBias, Penalties
from constrained.processors.record import RowRecord
from constrained.processors.sampling import MinP, Temperature, TopK, TopP
from constrained.processors.watermark import Watermark
from constrained.watermark.contexts import first_bytes_of, is_free
from grammars.jit import kernel

__all__ = ["Pipeline", "standard_pipeline"]

_NEVER_REVIVE = (LogitBias, Penalties, Temperature, TopK, TopP, MinP)
_FORWARD_PASS = "the forward pass"


def standard_pipeline(processors: Sequence[LogitsProcessor] = ()) -> Pipeline:
    """The mask and every setting of :class:`~constrained.SamplingConfig`, with the caller's ``processors`` added.

    Processors of one stage run in the order given.

    >>> [stage_of(processor).name for processor in standard_pipeline().processors]
    ['MASK', 'PENALTIES', 'PENALTIES', 'TEMPERATURE', 'TOP_K', 'TOP_P', 'MIN_P', 'WATERMARK']
    """
    own: list[LogitsProcessor] = [
        *(GrammarMask(), LogitBias(), Penalties(), Temperature(), TopK(), TopP(), MinP(), Watermark())
    ]
    return Pipeline(sorted([*processors, *own], key=stage_of))


class Pipeline:
    """Processors in their fixed order, then the draw. It holds no state: one may serve many generations.

    Raises ValueError where the order is wrong or the mask is not there exactly once.

    >>> Pipeline([Temperature(), GrammarMask()])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: processors: expected the order USER -> MASK -> ... -> DIGEST, got MASK (GrammarMask) after...
    """

    def __init__(self, processors: Sequence[LogitsProcessor]) -> None:
        self.processors = tuple(processors)
        _check_order(self.processors)
        stages = [stage_of(processor) for processor in self.processors]
        mask = self.processors[stages.index(Stage.MASK)]
        if not isinstance(mask, GrammarMask):
            raise ValueError(f"processors: expected a GrammarMask at stage MASK, got {type(mask).__name__}")
        self._mask = mask
        before = [self.processors[i] for i, stage in enumerate(stages) if stage < Stage.MASK]
        self._readers = [processor for processor in before if getattr(processor, "only_reads", False)]
        self._before = [processor for processor in before if processor not in self._readers]
        self._after = [self.processors[i] for i, stage in enumerate(stages) if stage > Stage.MASK]

    @torch.no_grad()
    def sample(self, context: StepContext, logits: Tensor) -> list[int]:
        """The next token id of each row, for raw ``logits`` (B, V) float32, which stay as they are.

        Each row's record gets a note of the draw. Raises :class:`~constrained.errors.LogitsError` where logits are NaN
        or +inf, or all allowed ones are -inf, and :class:`~constrained.errors.NoTokenAllowed` where a bitmask allows
        nothing.
        """
        faults: dict[str, Tensor] = {}
        seen, processed, masses = self._process(context, logits, faults)
        if device.has_kernels(processed):
            drawn, log_masses = draw(seen, processed), masses.tolist()
        else:  # one transfer for all that the step tells the CPU; a double holds every id
            told = [
                draw_tensor(seen, processed).double(),
                masses.double(),
                *(rows.double() for rows in faults.values()),
            ]
            ids, log_masses, *faulty = torch.stack(told).tolist()
            for source, rows in zip(faults, faulty, strict=True):
                _require_none(source, rows, context)
            drawn = [int(token_id) for token_id in ids]
        _require_drawn(drawn, context)
        for row, note in enumerate(seen.notes):
            logit = None if note.totals is None else float(logits[row, drawn[row]])
            note.finish(drawn[row], log_masses[row], logit)
        return drawn

    def process(self, context: StepContext, logits: Tensor) -> tuple[StepContext, Tensor]:
        """What the draw would see: logits (B, N), and the context that says which tokens their columns are."""
        faults: dict[str, Tensor] = {}
        with torch.no_grad():
            context, logits, _ = self._process(context, logits, faults)
        for source, rows in faults.items():
            _require_none(source, rows.long().tolist(), context)
        return context, logits

    def _process(
        self, context: StepContext, logits: Tensor, faults: dict[str, Tensor]
    ) -> tuple[StepContext, Tensor, Tensor]:
        """What the draw sees, and what each row's mask weighs (B,)."""
        _check_shape(context, logits)
        _note_faults(_FORWARD_PASS, logits, context, faults)
        context = _with_records(context)
        for reader in self._readers:
            reader(context, logits)
        if self._before:
            logits = logits.clone()  # the caller's processors own what they get; the pass's logits stay raw
        for processor in self._before:
            logits = _checked(processor, processor(context, logits), logits.shape)
            _note_faults(type(processor).__name__, logits, context, faults)
        raw = logits
        context, logits = self._mask.narrow(context, raw)
        masses = log_mask_mass(context, raw, logits)
        note_logprobs(context, raw, logits)
        for processor in self._after:
            if isinstance(processor, _NEVER_REVIVE):
                logits = processor(context, logits)
                continue
            if isinstance(processor, Watermark):
                context, logits = processor.mark(context, logits)
                continue
            forbidden = logits == -torch.inf
            logits = _checked(processor, processor(context, logits), logits.shape).masked_fill(forbidden, -torch.inf)
            _note_faults(type(processor).__name__, logits, context, faults)
        return context, logits, masses


def _with_records(context: StepContext) -> StepContext:
    """The context with a record of each row, in which a note for this step's draw is begun."""
    records = context.records or tuple(
        RowRecord.of_output_without_notes(context.output_ids[row] if context.output_ids else ())
        for row in range(context.batch_size)
    )
    first_bytes = None if context.vocabulary is None else first_bytes_of(context.vocabulary)
    notes = [
        record.begin(position, is_free=first_bytes is None or is_free(words, first_bytes))
        for record, position, words in zip(records, context.positions, context.token_bitmask, strict=True)
    ]
    return replace(context, records=records, notes=tuple(notes))


def _check_order(processors: Sequence[LogitsProcessor]) -> None:
    masks = [processor for processor in processors if stage_of(processor) is Stage.MASK]
    if len(masks) != 1:
        raise ValueError(f"processors: expected one GrammarMask, got {len(masks)}; use standard_pipeline")
    for first, second in itertools.pairwise(processors):
        if stage_of(first) > stage_of(second):
            raise ValueError(
                f"processors: expected the order {Stage.USER.name} -> {Stage.MASK.name} -> ... -> {Stage.DIGEST.name}, "
                f"got {stage_of(second).name} ({type(second).__name__}) after {stage_of(first).name} "
                f"({type(first).__name__}); use standard_pipeline, which puts each in its place"
            )


def _check_shape(context: StepContext, logits: Tensor) -> None:
    expected = (context.batch_size, context.vocab_size)
    if logits.shape != expected or logits.dtype != torch.float32:
        raise ValueError(
            f"logits: expected float32 of shape {expected}, got {logits.dtype} of shape {tuple(logits.shape)}"
        )


def _checked(processor: LogitsProcessor, logits: object, shape: torch.Size) -> Tensor:
    if not isinstance(logits, Tensor) or logits.shape != shape:
        got = f"shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else type(logits).__name__
        raise TypeError(f"{type(processor).__name__}: expected it to return logits of shape {tuple(shape)}, got {got}")
    return logits.float().contiguous()


@kernel
def _is_faulty(logits: NDArray[np.float32]) -> bool:
    """Whether a NaN or +inf is among (V,)."""
    faulty = 0
    for column in range(logits.shape[0]):
        if not logits[column] < np.inf:
            faulty += 1
    return faulty > 0


def _note_faults(source: str, logits: Tensor, context: StepContext, faults: dict[str, Tensor]) -> None:
    """Find rows with NaN or +inf. On the CPU they are refused at once; elsewhere without waiting for the device."""
    if device.has_kernels(logits):
        rows = [int(_is_faulty(row)) for row in logits.detach().contiguous().numpy()]
        _require_none(source, rows, context)
    else:
        faults[source] = ~(logits < torch.inf).all(dim=1)


def _require_none(source: str, faulty: Sequence[int], context: StepContext) -> None:
    for row, is_faulty in enumerate(faulty):
        if is_faulty:
            raise LogitsError(
                source=source, position=context.positions[row], row=row, what="NaN or +inf among the logits"
            )


def _require_drawn(drawn: Sequence[int], context: StepContext) -> None:
    for row, token_id in enumerate(drawn):
        if token_id < 0:
            if not context.token_bitmask[row].any():
                raise NoTokenAllowed(position=context.positions[row], row=row)
            raise LogitsError(
                source="the draw", position=context.positions[row], row=row, what="-inf for every allowed token"
            )
