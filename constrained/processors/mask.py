"""The mask: logits of forbidden ids become -inf, or are left out where few ids are allowed.

A token bitmask is int32 (B, ceil(V / 32)); bit ``id % 32`` of word ``id // 32`` is 1 where ``id`` is allowed.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.processors import device
from constrained.processors.context import Stage, StepContext
from constrained.token_bitmasks import list_allowed
from grammars.jit import kernel

__all__ = ["GrammarMask", "allowed_token_ids", "apply_token_bitmask", "bitmask_of"]

#: Up to so many allowed ids the logits are gathered, and later steps see these columns only.
NARROW = 4096


def bitmask_of(allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The bitmask (ceil(V / 32),) int32 of a boolean vector (V,).

    >>> bitmask_of(np.array([True, False, True]))
    array([5], dtype=int32)
    """
    padded = np.zeros(-(-len(allowed) // 32) * 32, np.bool_)
    padded[: len(allowed)] = allowed
    return np.packbits(padded, bitorder="little").view("<i4").astype(np.int32)


@kernel
def _mask_row(logits: NDArray[np.float32], words: NDArray[np.int32], out: NDArray[np.float32]) -> None:
    """Copy (V,) ``logits`` to ``out`` with -inf where the bit is 0."""
    size = logits.shape[0]
    forbidden = np.float32(-np.inf)
    for index in range(size // 32):
        word = words[index]
        start = 32 * index
        for bit in range(32):
            out[start + bit] = logits[start + bit] if (word >> np.int32(bit)) & np.int32(1) else forbidden
    for column in range(size // 32 * 32, size):
        word = words[column >> 5]
        out[column] = logits[column] if (word >> np.int32(column & 31)) & np.int32(1) else forbidden


def allowed_token_ids(words: NDArray[np.int32], vocab_size: int, *, limit: int) -> NDArray[np.int64] | None:
    """The allowed ids of one row (ceil(V / 32),), ascending; ``None`` if there are more than ``limit``.

    >>> allowed_token_ids(np.array([5, 1], np.int32), 33, limit=10)
    array([ 0,  2, 32])
    """
    ids = np.empty(min(limit, vocab_size), np.int64)
    count = list_allowed(words, vocab_size, ids)
    return None if count < 0 else ids[:count]


def apply_token_bitmask(logits: Tensor, token_bitmask: NDArray[np.int32]) -> Tensor:
    """New logits (B, V) float32 with -inf at every id whose bit is 0.

    >>> apply_token_bitmask(torch.tensor([[1.0, 2.0, 3.0]]), np.array([[5]], np.int32))
    tensor([[1., -inf, 3.]])
    """
    _check_width(token_bitmask, *logits.shape)
    if not device.has_kernels(logits):
        return apply_token_bitmask_tensor(logits, token_bitmask)
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    source, target = logits.detach().contiguous().numpy(), out.numpy()
    for row in range(len(source)):
        _mask_row(source[row], token_bitmask[row], target[row])
    return out


def apply_token_bitmask_tensor(logits: Tensor, token_bitmask: NDArray[np.int32]) -> Tensor:
    """The same as :func:`apply_token_bitmask` for any device; the bitmask travels packed.

    On CUDA a kernel unpacks it as it goes, elsewhere tensor operations do.
    """
    words = torch.from_numpy(token_bitmask).to(logits.device, non_blocking=True)  # (B, W)
    if logits.is_cuda and find_spec("triton") is not None:
        from constrained.model.cuda.kernels import mask_logits

        return mask_logits(logits, words)
    shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
    allowed = ((words[:, :, None] >> shifts) & 1).bool().flatten(1)  # (B, 32 W)
    return logits.masked_fill(~allowed[:, : logits.shape[1]], -torch.inf)


class GrammarMask:
    """The mask as a step of the pipeline."""

    stage: ClassVar[Stage] = Stage.MASK

    def __call__(self, context: StepContext, logits: Tensor) -> Tensor:
        """Logits (B, V) with -inf at forbidden ids."""
        return apply_token_bitmask(logits, context.token_bitmask)

    def narrow(self, context: StepContext, logits: Tensor) -> tuple[StepContext, Tensor]:
        """The allowed logits only: (B, N) with ``token_ids`` in the context, where every row allows few ids.

        Elsewhere the context as it was and the masked logits (B, V). Rows that allow fewer than N ids are filled up
        with -inf.
        """
        _check_width(context.token_bitmask, *logits.shape)
        listed = [allowed_token_ids(row, context.vocab_size, limit=NARROW) for row in context.token_bitmask]
        rows = [ids for ids in listed if ids is not None]
        if len(rows) < len(listed):
            return context, self(context, logits)
        width = max(1, *(len(ids) for ids in rows))
        columns = np.full((len(rows), width), context.vocab_size - 1, np.int64)
        for row, ids in enumerate(rows):
            columns[row, : len(ids)] = ids
        token_ids = torch.from_numpy(columns)
        if logits.device.type != "cpu":
            token_ids = token_ids.to(logits.device, non_blocking=True)
        gathered = logits.gather(1, token_ids)  # (B, N)
        for row, ids in enumerate(rows):
            if len(ids) < width:
                gathered[row, len(ids) :] = -torch.inf
        return replace(context, token_ids=token_ids), gathered


def _check_width(token_bitmask: NDArray[np.int32], batch_size: int, vocab_size: int) -> None:
    expected = (batch_size, -(-vocab_size // 32))
    if token_bitmask.shape != expected or token_bitmask.dtype != np.int32:
        raise ValueError(
            f"token_bitmask: expected int32 of shape {expected} for logits ({batch_size}, {vocab_size}), got "
            f"{token_bitmask.dtype} of shape {token_bitmask.shape}; allocate it as wide as the logits"
        )
