"""How keys and values lie in memory: blocks of 32 positions, each with all layers and key/value heads.

Within a block, each layer and head has its keys as one panel (D, 32), a column for each position, and its values as
panels of 32 coordinates, (ceil(D / 32), 32, 32), a row for each position: both as tiles read them. What a cache has not
come to yet has no memory; caches that begin with the same tokens can share blocks.
"""

from __future__ import annotations

from grammars.jit import inlined

from .exact import LANES

__all__ = ["BLOCK_POSITIONS", "block_size", "head_at", "padded"]

BLOCK_POSITIONS = LANES
"""Positions of a block."""


@inlined
def padded(size: int) -> int:
    """The next multiple of 32."""
    return (size + LANES - 1) // LANES * LANES


@inlined
def _head_size(head_dim: int) -> int:
    return (head_dim + padded(head_dim)) * LANES


@inlined
def block_size(layers: int, kv_heads: int, head_dim: int) -> int:
    """Numbers of a block."""
    return layers * kv_heads * _head_size(head_dim)


@inlined
def head_at(layer: int, head: int, kv_heads: int, head_dim: int) -> int:
    """Place of a head's keys in a block; its values are ``head_dim * 32`` further."""
    return (layer * kv_heads + head) * _head_size(head_dim)
