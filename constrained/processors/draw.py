"""The draw: one token id for each row, random only through (seed, stream, position, token id).

Gumbel-max: with h the id's Philox word, u = (h + 1/2) / 2**32 and g = -ln(-ln u), the id with the largest logit + g,
in float64, is a draw from softmax(logits); ties go to the lowest id. u is never 0 or 1, so g lies between -3.14 and
22.88 and a -inf stays -inf: what is masked cannot win. Since an id's noise does not depend on what else is allowed, on
the batch, or on how the ids are laid out, the draw depends on these neither.

Source: Maddison, Tarlow and Minka, "A* Sampling", NeurIPS 2014, section 2 (the Gumbel-max trick); keyed noise as in
counter-based random numbers, see :mod:`constrained.philox`.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.philox import draw_key, gumbel, philox_blocks, philox_word
from constrained.processors.context import StepContext
from constrained.processors.philox import philox_words_tensor
from grammars.jit import kernel

__all__ = ["draw", "draw_tensor"]

_CHUNK_BLOCKS = 64
_CHUNK = 4 * _CHUNK_BLOCKS
_BOUND_BITS = 12


# Upper bounds of the noise by the leading bits of the word; the slack is far above the rounding of logarithms.
_LAST_WORDS = np.arange(1, 2**_BOUND_BITS + 1, dtype=np.float64) * 2.0 ** (32 - _BOUND_BITS) - 1.0
_BOUNDS = -np.log(-np.log((_LAST_WORDS + 0.5) * 2.0**-32)) + 1e-9
_NOISE_MAX = float(_BOUNDS[-1])


@kernel
def _draw_wide(
    logits: NDArray[np.float32],
    best: int,
    key: NDArray[np.uint64],
    bounds: NDArray[np.float64],
    noise_max: float,
    words: NDArray[np.uint32],
) -> int:
    """The winning column of ``logits`` (V,) whose column j is token j; ``best`` is the column of the largest logit.

    Exact pruning: words are made only for chunks with an id that the largest noise could lift to the best score so
    far, and logarithms are taken only for ids whose bound, by the leading bits of their word, reaches it. (Sums are
    rounded alike on both sides, so a bound that is not below the noise gives a sum that is not below the score.)
    """
    size = logits.shape[0]
    best_score = float(logits[best]) + gumbel(philox_word(best, key))
    for start in range(0, size, _CHUNK):
        stop = min(start + _CHUNK, size)
        live = 0
        for column in range(start, stop):
            if float(logits[column]) + noise_max >= best_score:
                live += 1
        if live == 0:
            continue
        philox_blocks(start >> 2, key, words[0], words[1], words[2], words[3])
        for lane in range(4):
            lane_words = words[lane]
            live = 0
            for column in range(start + lane, stop, 4):
                word = lane_words[(column - start) >> 2]
                if float(logits[column]) + bounds[word >> np.uint32(32 - _BOUND_BITS)] >= best_score:
                    live += 1
            if live == 0:
                continue
            for column in range(start + lane, stop, 4):
                word = lane_words[(column - start) >> 2]
                if float(logits[column]) + bounds[word >> np.uint32(32 - _BOUND_BITS)] < best_score:
                    continue
                score = float(logits[column]) + gumbel(word)
                if score > best_score or (score == best_score and column < best):
                    best = column
                    best_score = score
    return best


@kernel
def _draw_narrow(
    logits: NDArray[np.float32],
    best: int,
    token_ids: NDArray[np.int64],
    key: NDArray[np.uint64],
    noise_max: float,
) -> int:
    """The winning column of ``logits`` (N,) whose column j is token ``token_ids[j]``, the ids ascending."""
    best_score = float(logits[best]) + gumbel(philox_word(token_ids[best], key))
    for column in range(logits.shape[0]):
        logit = float(logits[column])
        if logit + noise_max < best_score:
            continue
        score = logit + gumbel(philox_word(token_ids[column], key))
        if score > best_score or (score == best_score and column < best):
            best = column
            best_score = score
    return best


def draw(context: StepContext, logits: Tensor) -> list[int]:
    """One token id for each row of ``logits`` (B, N) float32 on the CPU; -1 where every logit is -inf.

    Rows with temperature 0 take the largest logit (ties: the lowest id). Logits hold neither NaN nor +inf.
    """
    rows = logits.contiguous().numpy()
    if context.token_ids is None:
        return [_draw_row(context, row, rows[row], None) for row in range(len(rows))]
    ids = context.token_ids.numpy()
    columns = [_draw_row(context, row, rows[row], ids[row]) for row in range(len(rows))]
    return [column if column < 0 else int(ids[row, column]) for row, column in enumerate(columns)]


def _draw_row(context: StepContext, row: int, logits: NDArray[np.float32], ids: NDArray[np.int64] | None) -> int:
    """The winning column of one row."""
    best = int(logits.argmax())
    if logits[best] == -np.inf:
        return -1
    if context.sampling[row].is_greedy:
        return best
    key = _key_of(context, row)
    if ids is not None:
        return int(_draw_narrow(logits, best, ids, key, _NOISE_MAX))
    words = np.empty((4, _CHUNK_BLOCKS), np.uint32)
    return int(_draw_wide(logits, best, key, _BOUNDS, _NOISE_MAX, words))


def draw_tensor(context: StepContext, logits: Tensor) -> Tensor:
    """The same as :func:`draw` in tensor operations, for any device; the ids are int64 (B,)."""
    device = logits.device
    greedy = torch.tensor([config.is_greedy for config in context.sampling], device=device)
    keys = np.stack([_key_of(context, row) for row in range(context.batch_size)]).view(np.int64)
    key_tensor = torch.from_numpy(keys).to(device, non_blocking=True)  # (B, 3)
    ids = context.token_ids
    if ids is None:
        ids = torch.arange(logits.shape[1], device=device).expand(logits.shape)  # (B, N)
    uniform = (philox_words_tensor(ids, key_tensor).double() + 0.5) * 2.0**-32
    noise = -torch.log(-torch.log(uniform))
    scores = logits.double() + noise.masked_fill_(greedy[:, None], 0.0)  # (B, N)
    columns = scores.argmax(dim=1, keepdim=True)  # the first of equal ones
    return ids.gather(1, columns)[:, 0].masked_fill(scores.amax(dim=1) == -torch.inf, -1)


def _key_of(context: StepContext, row: int) -> NDArray[np.uint64]:
    """(3,) What makes the noise of one row: its watermark's context where it has one here, else seed and stream."""
    if context.noise_keys and (key := context.noise_keys[row]) is not None:
        return key
    return draw_key(seed=context.sampling[row].seed, stream=context.streams[row], position=context.positions[row])
