"""Triton kernels: attention of one token a row, and the packed token bitmask.

Imported where there is CUDA, or Triton's interpreter (``TRITON_INTERPRET=1``, as the tests do). Keys are cut into
chunks of a fixed length, one program for each chunk of each row and key/value head, so that a single long row keeps the
whole device busy (flash decoding, Dao et al. 2023); a second kernel joins the chunks in order. Neither the cut nor the
order depends on the batch.
"""

# ruff: noqa: N803 (constants of a kernel are written as such)
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, no-any-return"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["mask_logits", "split_attention"]

CHUNK = 256
"""Keys of one program."""
_BLOCK = 64
_NO_WINDOW = 1 << 30


@triton.jit
def _attend_chunk(
    queries, keys, values, positions, mixed, stats, scale, window,
    row_stride, head_stride, place_stride,
    HEADS_KV: tl.constexpr, GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, GROUP_PADDED: tl.constexpr,
    DIM_PADDED: tl.constexpr, CHUNK: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Softmax over one chunk: the unnormalised mix (float32), the greatest score and the sum of each query head."""
    pair, chunk = tl.program_id(0), tl.program_id(1)
    row, head = pair // HEADS_KV, pair % HEADS_KV
    position = tl.load(positions + row)
    lowest = tl.maximum(position + 1 - window, 0)
    group, dims = tl.arange(0, GROUP_PADDED), tl.arange(0, DIM_PADDED)
    inside = (group[:, None] < GROUP) & (dims[None, :] < HEAD_DIM)
    query = tl.load(queries + (pair * GROUP + group[:, None]) * HEAD_DIM + dims[None, :], mask=inside, other=0.0)
    greatest = tl.full((GROUP_PADDED,), float("-inf"), tl.float32)
    total = tl.zeros((GROUP_PADDED,), tl.float32)
    mix = tl.zeros((GROUP_PADDED, DIM_PADDED), tl.float32)
    base = row * row_stride + head * head_stride
    first = chunk * CHUNK
    if (first <= position) & (first + CHUNK > lowest):
        for start in range(0, CHUNK, BLOCK):
            places = first + start + tl.arange(0, BLOCK)
            seen = (places <= position) & (places >= lowest)
            offsets = base + places[:, None].to(tl.int64) * place_stride + dims[None, :]
            wanted = seen[:, None] & (dims[None, :] < HEAD_DIM)
            key = tl.load(keys + offsets, mask=wanted, other=0.0)
            scores = tl.dot(query, tl.trans(key), input_precision=PRECISION) * scale
            scores = tl.where(seen[None, :], scores, float("-inf"))
            higher = tl.maximum(greatest, tl.max(scores, 1))
            shift = tl.where(higher == float("-inf"), 0.0, higher)
            shares = tl.exp(scores - shift[:, None])
            fade = tl.exp(greatest - shift)
            value = tl.load(values + offsets, mask=wanted, other=0.0)
            mix = mix * fade[:, None] + tl.dot(shares.to(value.dtype), value, input_precision=PRECISION)
            total = total * fade + tl.sum(shares, 1)
            greatest = higher
    place = (pair * tl.num_programs(1) + chunk) * GROUP
    tl.store(mixed + (place + group[:, None]) * HEAD_DIM + dims[None, :], mix, mask=inside)
    tl.store(stats + 2 * (place + group), greatest, mask=group < GROUP)
    tl.store(stats + 2 * (place + group) + 1, total, mask=group < GROUP)


@triton.jit
def _join_chunks(
    mixed, stats, output, num_chunks,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, DIM_PADDED: tl.constexpr,
):  # fmt: skip
    """The mix of all chunks of one query head, the first chunk first."""
    pair, member = tl.program_id(0), tl.program_id(1)
    dims = tl.arange(0, DIM_PADDED)
    greatest = tl.full((1,), float("-inf"), tl.float32)
    total = tl.zeros((1,), tl.float32)
    mix = tl.zeros((DIM_PADDED,), tl.float32)
    for chunk in range(num_chunks):
        place = (pair * num_chunks + chunk) * GROUP + member
        here = tl.load(stats + 2 * place)
        if here > float("-inf"):
            higher = tl.maximum(greatest, here)
            fade, share = tl.exp(greatest - higher), tl.exp(here - higher)
            part = tl.load(mixed + place * HEAD_DIM + dims, mask=dims < HEAD_DIM, other=0.0)
            mix = mix * fade + part * share
            total = total * fade + tl.load(stats + 2 * place + 1) * share
            greatest = higher
    tl.store(output + (pair * GROUP + member) * HEAD_DIM + dims, mix / total, mask=dims < HEAD_DIM)


@triton.jit
def _mask(logits, words, output, size, num_words, BLOCK: tl.constexpr):
    """Copy a piece of a row, with -inf where its bit is 0."""
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < size
    packed = tl.load(words + row * num_words + columns // 32, mask=inside, other=0)
    allowed = (packed >> (columns % 32)) & 1
    values = tl.load(logits + row * size + columns, mask=inside, other=0.0)
    tl.store(output + row * size + columns, tl.where(allowed != 0, values, float("-inf")), mask=inside)


def split_attention(
    queries: Tensor, keys: Tensor, values: Tensor, positions: Tensor, *, window: int | None = None
) -> Tensor:
    """As :func:`constrained.model.cuda.attention.decode_attention`; ``keys`` and ``values`` of one layout.

    Positions lie below S, and what lies behind them is not read; a row at position -1 looks at nothing.
    """
    rows, heads, head_dim = queries.shape
    heads_kv, room = keys.shape[1], keys.shape[2]
    if keys.stride() != values.stride() or keys.stride(-1) != 1:
        raise ValueError(
            f"keys, values: expected one layout with dense last axes, got {keys.stride()}, {values.stride()}"
        )
    group, num_chunks, pairs = heads // heads_kv, triton.cdiv(room, CHUNK), rows * heads_kv
    queries = queries.contiguous()
    mixed = torch.empty((pairs, num_chunks, group, head_dim), device=queries.device, dtype=torch.float32)
    stats = torch.empty((pairs, num_chunks, group, 2), device=queries.device, dtype=torch.float32)
    output = torch.empty_like(queries)
    sizes: dict[str, Any] = {
        "GROUP": group,
        "HEAD_DIM": head_dim,
        "DIM_PADDED": max(16, triton.next_power_of_2(head_dim)),
    }
    _attend_chunk[(pairs, num_chunks)](
        queries, keys, values, positions, mixed, stats, head_dim**-0.5, _NO_WINDOW if window is None else window,
        keys.stride(0), keys.stride(1), keys.stride(2),
        HEADS_KV=heads_kv, GROUP_PADDED=max(16, triton.next_power_of_2(group)), CHUNK=CHUNK, BLOCK=_BLOCK,
        PRECISION="ieee" if queries.dtype == torch.float32 else "tf32", **sizes,
    )  # fmt: skip
    _join_chunks[(pairs, group)](mixed, stats, output, num_chunks, **sizes)
    return output


def mask_logits(logits: Tensor, words: Tensor) -> Tensor:
    """New logits (B, V) with -inf where the bit of ``words`` (B, ceil(V / 32)) int32, on the same device, is 0."""
    rows, size = logits.shape
    logits = logits.contiguous()
    output = torch.empty_like(logits)
    _mask[(rows, triton.cdiv(size, 1024))](logits, words, output, size, words.shape[1], BLOCK=1024)
    return output
