"""The token trie, flat, in the order of a depth-first walk.

A node is two words: ``byte | size << 8`` and ``token + 1 | depth << 20``. ``size`` is the number of nodes of the
subtree, so skipping a dead subtree is one addition; ``depth`` (0 at the first byte) says where on its path the walk
stands. A token that equals another byte for byte is kept apart as a twin.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..ir.nodes import Int32Array
from ..jit import kernel, subroutine

__all__ = ["DEPTH_SHIFT", "LONGEST_TOKEN", "MOST_TOKENS", "TOKEN_MASK", "build_trie", "root_nodes"]

DEPTH_SHIFT: Final = 20
TOKEN_MASK: Final = (1 << DEPTH_SHIFT) - 1
MOST_TOKENS: Final = TOKEN_MASK
LONGEST_TOKEN: Final = (1 << 11) - 1


@subroutine
def common_prefix(data: Int32Array, a: int, a_end: int, b: int, b_end: int) -> int:
    """Length of the common prefix of ``data[a:a_end]`` and ``data[b:b_end]``."""
    count = 0
    while a + count < a_end and b + count < b_end and data[a + count] == data[b + count]:
        count += 1
    return count


@kernel
def write_trie(
    data: Int32Array, offsets: Int32Array, order: Int32Array, nodes: Int32Array, twins: Int32Array, path: Int32Array
) -> tuple[int, int]:
    """Write the trie of tokens in byte order (``order``: ids, none empty); how many nodes and twins there are.

    ``path`` is scratch, as long as the longest token.
    """
    num_nodes = num_twins = depth = 0
    before = -1
    for index in range(len(order)):
        token = order[index]
        first, end = offsets[token], offsets[token + 1]
        shared = 0
        if before >= 0:
            shared = common_prefix(data, offsets[before], offsets[before + 1], first, end)
            if shared == end - first and shared == offsets[before + 1] - offsets[before]:
                twins[2 * num_twins] = before
                twins[2 * num_twins + 1] = token
                num_twins += 1
                continue
        while depth > shared:
            depth -= 1
            nodes[2 * path[depth]] |= (num_nodes - path[depth]) << 8
        for level in range(shared, end - first):
            path[level] = num_nodes
            nodes[2 * num_nodes] = data[first + level]
            nodes[2 * num_nodes + 1] = level << DEPTH_SHIFT
            num_nodes += 1
        depth = end - first
        nodes[2 * num_nodes - 1] |= token + 1
        before = token
    while depth > 0:
        depth -= 1
        nodes[2 * path[depth]] |= (num_nodes - path[depth]) << 8
    return num_nodes, num_twins


def build_trie(data: Int32Array, offsets: Int32Array, order: Int32Array) -> tuple[Int32Array, Int32Array]:
    """From tokens in byte order (``order``: ids, none empty): nodes (2 N,) and twins (2 T,): id, id of its double."""
    total = int((offsets[order + 1] - offsets[order]).sum())
    nodes, twins = np.empty(2 * total, np.int32), np.empty(2 * len(order), np.int32)
    num_nodes, num_twins = write_trie(data, offsets, order, nodes, twins, np.empty(LONGEST_TOKEN + 1, np.int32))
    return nodes[: 2 * num_nodes].copy(), twins[: 2 * num_twins].copy()


def root_nodes(nodes: Int32Array) -> Int32Array:
    """(256,) the node of each first byte, -1 where no token begins so."""
    roots = np.full(256, -1, np.int32)
    node = 0
    while 2 * node < len(nodes):
        word = int(nodes[2 * node])
        roots[word & 0xFF] = node
        node += word >> 8
    return roots
