"""Which of torch's own operations give a row other bits when other rows are beside it, and from which number on not.

These classes are a property of a machine and a build of torch: they are tried, never assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from constrained.model.config import LlamaConfig

from .bits import digest_words

__all__ = ["OperationAudit", "audit_operations"]

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 33, 64)
_TILES = (1, 2, 4, 8, 16)
_POSITIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationAudit:
    """One operation of torch, at the sizes of a model."""

    name: str
    dtype: str
    classes: tuple[tuple[int, ...], ...]
    """Numbers of rows that give the first row the same bits, together."""
    smallest_safe_tile: int | None
    """Where rows are filled up to a multiple of so many, all batches agree; ``None``: none of 1, 2, 4, 8, 16 does."""

    @property
    def is_invariant(self) -> bool:
        """Whether it never matters how many rows there are."""
        return len(self.classes) == 1

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {**asdict(self), "is_invariant": self.is_invariant}


def audit_operations(
    config: LlamaConfig, *, dtypes: Sequence[torch.dtype] = (torch.float32, torch.bfloat16)
) -> list[OperationAudit]:
    """Try the operations of a forward pass, in its order, with seeded numbers of the model's sizes.

    >>> from constrained.testing.tiny import tiny_config
    >>> [found.name for found in audit_operations(tiny_config(), dtypes=[torch.float32])][:3]
    ['norm', 'query, key, value', 'attention']
    """
    return [_tried(name, make(), dtype) for dtype in dtypes for name, make in _operations(config, dtype).items()]


def _tried(name: str, operation: Callable[[int], Tensor], dtype: torch.dtype) -> OperationAudit:
    digests = {size: _digest(operation(size)[0]) for size in _SIZES}
    found: dict[int, list[int]] = {}
    for size, digest in digests.items():
        found.setdefault(digest, []).append(size)
    safe = [tile for tile in _TILES if len({digests[size] for size in _SIZES if size % tile == 0}) == 1]
    return OperationAudit(
        name=name,
        dtype=str(dtype).removeprefix("torch."),
        classes=tuple(map(tuple, found.values())),
        smallest_safe_tile=safe[0] if safe else None,
    )


def _digest(row: Tensor) -> int:
    return digest_words(row.float().contiguous().reshape(-1).numpy())


def _operations(config: LlamaConfig, dtype: torch.dtype) -> dict[str, Callable[[], Callable[[int], Tensor]]]:
    """Name -> what makes a function from a number of rows to results of so many; row 0 is always the same."""
    hidden, inner, head = config.hidden_size, config.intermediate_size, config.head_dim
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    generator = torch.Generator().manual_seed(0)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(dtype)

    def product(size_in: int, size_out: int) -> Callable[[], Callable[[int], Tensor]]:
        def make() -> Callable[[int], Tensor]:
            rows, weight = numbers(max(_SIZES), size_in), numbers(size_out, size_in) / size_in**0.5
            return lambda count: F.linear(rows[:count], weight)

        return make

    def norm() -> Callable[[int], Tensor]:
        rows, weight = numbers(max(_SIZES), hidden), numbers(hidden)
        return lambda count: F.rms_norm(rows[:count], (hidden,), weight, config.rms_norm_eps)

    def gate() -> Callable[[int], Tensor]:
        rows, others = numbers(max(_SIZES), inner), numbers(max(_SIZES), inner)
        return lambda count: F.silu(rows[:count]) * others[:count]

    def attention() -> Callable[[int], Tensor]:
        queries = numbers(max(_SIZES), heads, 1, head)
        keys, values = (numbers(max(_SIZES), kv_heads, _POSITIONS, head) for _ in range(2))
        return lambda count: F.scaled_dot_product_attention(
            queries[:count], keys[:count], values[:count], enable_gqa=True
        )

    width = heads * head
    return {
        "norm": norm,
        "query, key, value": product(hidden, width + 2 * kv_heads * head),
        "attention": attention,
        "output": product(width, hidden),
        "gate, up": product(hidden, 2 * inner),
        "silu": gate,
        "down": product(inner, hidden),
        "unembedding": product(hidden, config.vocab_size),
    }
