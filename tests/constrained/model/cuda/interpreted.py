"""Run by test_kernels.py with ``TRITON_INTERPRET=1``: exits with 1 where a kernel and its twin differ."""

from __future__ import annotations

import sys

import torch

from constrained.model.cuda.attention import decode_attention_tensor
from constrained.model.cuda.kernels import mask_logits, split_attention
from constrained.processors.mask import apply_token_bitmask_tensor

#: rows, heads, key/value heads, head size, room, window; several chunks of 256, odd sizes, one row and many
SHAPES = [(1, 4, 4, 16, 300, None), (3, 9, 3, 64, 600, None), (2, 8, 2, 24, 520, 100), (4, 8, 1, 128, 256, 7)]


def attention() -> int:
    for rows, heads, heads_kv, head_dim, room, window in SHAPES:
        queries = torch.randn(rows, heads, head_dim)
        block = torch.full((2, rows, heads_kv, room + 40, head_dim), torch.nan)[..., :room, :]  # a view, as slots are
        positions = torch.tensor([room - 1, 0, 255, 17][:rows])
        for row, position in enumerate(positions.tolist()):  # what lies beyond must not be read
            block[:, row, :, : position + 1] = torch.randn(2, heads_kv, position + 1, head_dim)
        keys, values = block
        expected = decode_attention_tensor(queries, keys, values, positions, window=window)
        torch.testing.assert_close(split_attention(queries, keys, values, positions, window=window), expected)
        idle = positions.clone()
        idle[-1] = -1
        kept = split_attention(queries, keys, values, idle, window=window)[:-1]
        torch.testing.assert_close(kept, expected[:-1])
    return len(SHAPES)


def mask() -> int:
    sizes = [1, 31, 32, 33, 1024, 2050]
    for size in sizes:
        logits = torch.randn(3, size)
        words = torch.randint(-(2**31), 2**31 - 1, (3, -(-size // 32)), dtype=torch.int32)
        assert torch.equal(mask_logits(logits, words), apply_token_bitmask_tensor(logits, words.numpy()))
    return len(sizes)


if __name__ == "__main__":
    torch.manual_seed(0)
    print("agreed on", {"attention": attention, "mask": mask}[sys.argv[1]](), "shapes")
