"""The watermark as the last step before the draw.

It acts inside what the mask and the truncation left: ``gumbel`` chooses the noise of the draw, ``kgw`` and ``lefthash``
raise the logits of green tokens, ``synthid`` plays its tournament. Nothing of it needs the model; what it needs of the
past are the free tokens in the row's record. Where the grammar forces the next byte, and (but for green lists) where a
context comes a second time in an output, the draw is an ordinary one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.errors import WatermarkError
from constrained.processors import device
from constrained.processors.context import Stage, StepContext
from constrained.processors.philox import philox_words_tensor
from constrained.processors.record import DrawNote, RowRecord
from constrained.watermark.config import WatermarkConfig
from constrained.watermark.contexts import Marker, nonce_of
from constrained.watermark.green import add_to_green, few_allowed, green_of_few, threshold_of
from constrained.watermark.lefthash import left_green_ids
from constrained.watermark.tournament import play

__all__ = ["Watermark"]

_NO_IDS = np.empty(0, np.int64)
_BLOCKS = 1024


class Watermark:
    """Marks each row as its ``SamplingConfig.watermark`` says."""

    stage: ClassVar[Stage] = Stage.WATERMARK

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits (B, N) in, logits (B, N) out; see :meth:`mark`, which says more."""
        return self.mark(context, logits)[1]

    def mark(self, context: StepContext, logits: Tensor) -> tuple[StepContext, Tensor]:
        """The context with the noise of the draw, and the logits (B, N), changed in place."""
        keys: list[NDArray[np.uint64] | None] = [None] * context.batch_size
        for row, config in enumerate(context.sampling):
            if config.watermark is None:
                continue
            if config.watermark.scheme == "lefthash":
                _add_to_left_green(context, row, logits, config.watermark)
                continue
            record, note = context.records[row], context.notes[row]
            if not note.is_free:
                continue
            key = _words_key(context, row, record, note, config.watermark)
            if config.watermark.scheme == "kgw":
                _add_to_green(context, row, logits, key, config.watermark)
            elif not note.is_first:
                continue
            elif config.watermark.scheme == "gumbel":
                keys[row] = key
            else:
                _play(context, row, logits, key, config.watermark.layers)
        return (replace(context, noise_keys=tuple(keys)) if any(key is not None for key in keys) else context), logits


def _words_key(
    context: StepContext, row: int, record: RowRecord, note: DrawNote, config: WatermarkConfig
) -> NDArray[np.uint64]:
    """What gives the words of the tokens at this position."""
    if context.vocabulary is None:
        raise WatermarkError("watermark: expected a vocabulary in the step's context, to know what is free, got none")
    if record.marker is None:
        nonce = nonce_of(config, seed=context.sampling[row].seed, stream=context.streams[row])
        record.marker = Marker(config, config.load_key(), nonce=nonce)
    tail = record.last_free_ids(context.output_ids[row], before=note.position, count=config.context_width)
    record.note_context(note, record.marker.context_of(tail))
    assert note.context is not None
    return record.marker.words_key(note.context)


def _columns(context: StepContext, row: int) -> NDArray[np.int64]:
    """The ids of the columns, for the kernels: empty where column j is token j."""
    return _NO_IDS if context.token_ids is None else context.token_ids[row].numpy()


def _add_to_green(
    context: StepContext, row: int, logits: Tensor, key: NDArray[np.uint64], config: WatermarkConfig
) -> None:
    assert context.vocabulary is not None
    allowed = few_allowed(context.token_bitmask[row], context.vocabulary)
    if allowed is not None and len(allowed) < 2:
        return
    if allowed is not None:
        _add_at(context, row, logits, allowed[green_of_few(allowed, key, config.gamma)], config.delta)
        return
    threshold = threshold_of(config.gamma)
    if device.has_kernels(logits):
        words = np.empty((4, _BLOCKS), np.uint32)
        ids = _columns(context, row)
        add_to_green(logits.numpy()[row], ids, key, threshold, np.float32(config.delta), words)
        return
    green = _words_tensor(context, row, logits, key) < threshold
    logits[row] += green * config.delta  # -inf stays


def _add_at(context: StepContext, row: int, logits: Tensor, ids: NDArray[np.int64], delta: float) -> None:
    """Add to the columns of these ids; each has one."""
    columns = ids
    if context.token_ids is not None:
        columns = np.searchsorted(context.token_ids[row].cpu().numpy(), ids)
    if device.has_kernels(logits):
        logits.numpy()[row][columns] += np.float32(delta)
        return
    logits[row, torch.from_numpy(columns).to(logits.device)] += delta


def _play(context: StepContext, row: int, logits: Tensor, key: NDArray[np.uint64], layers: int) -> None:
    if device.has_kernels(logits):
        play(logits.numpy()[row], _columns(context, row), key, layers)
        return
    bits = _words_tensor(context, row, logits, key)
    weights_row = torch.softmax(logits[row].double(), 0)
    for layer in range(layers):
        bit = ((bits >> layer) & 1).double()
        weights_row = weights_row * (1.0 + bit - (weights_row * bit).sum().clamp(max=1.0))
    logits[row] = torch.where(logits[row] > -torch.inf, weights_row.log().float(), logits[row])


def _words_tensor(context: StepContext, row: int, logits: Tensor, key: NDArray[np.uint64]) -> Tensor:
    """(N,) The words of the columns' tokens, on the logits' device."""
    ids = context.token_ids
    wanted = torch.arange(logits.shape[1], device=logits.device) if ids is None else ids[row]
    keys = torch.from_numpy(key.view(np.int64)[None]).to(logits.device, non_blocking=True)
    return philox_words_tensor(wanted[None], keys)[0]


def _add_to_left_green(context: StepContext, row: int, logits: Tensor, config: WatermarkConfig) -> None:
    """transformers' own green list, after the token before, whether it is free or not."""
    before = context.output_ids[row] if context.output_ids and context.output_ids[row] else ()
    before = before or (context.prompt_ids[row] if context.prompt_ids else ())
    if not before:
        raise WatermarkError("watermark: lefthash marks a token after the one before it, and there is none")
    number = config.load_key().require_number()
    green = left_green_ids(before[-1], vocab_size=context.vocab_size, gamma=config.gamma, hashing_key=number)
    if context.token_ids is not None:
        columns = torch.from_numpy(np.isin(context.token_ids[row].cpu().numpy(), green)).to(logits.device)
        logits[row] += columns * config.delta
        return
    logits[row, torch.from_numpy(green).to(logits.device)] += config.delta
