"""All that kernels need of a vocabulary, as one int32 array: tokens, tries, slices.

Layout in words::

    header | roots of the whole trie | roots of the trie without text | nodes of both | token offsets | token bytes
           | slices | twins | end tokens
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..errors import VocabularyError
from ..ir.nodes import Int32Array
from ..jit import kernel
from .text import text_length
from .trie import LONGEST_TOKEN, MOST_TOKENS, build_trie, root_nodes

__all__ = ["build_tables"]

TABLE_SIZE: Final = 0  # number of ids, the width of the logits
TABLE_WORDS: Final = 1  # int32 words of a token bitmask
ROOTS: Final = 2  # 2 x 256: the whole trie; the tokens that are not text
NODES: Final = 3
TOKEN_OFFSETS: Final = 4
TOKEN_BYTES: Final = 5  # one byte a word
SLICES: Final = 6  # row n: tokens of at most n characters of text
TWINS: Final = 7
NUM_TWINS: Final = 8
END_TOKENS: Final = 9
NUM_END_TOKENS: Final = 10
TABLE_HEADER: Final = 16

NUM_SLICES: Final = 130
LONGEST_TEXT: Final = NUM_SLICES - 2
"""Tokens of more characters than this count as not being text, so that they are always looked at."""


@kernel
def fill_slices(data: Int32Array, offsets: Int32Array, lengths: Int32Array, slices: Int32Array) -> None:
    """Set bits in ``slices`` (NUM_SLICES, words; zeros), and ``lengths`` (V,): characters of text, -1 if it is not."""
    for token in range(len(lengths)):
        count = -1
        if offsets[token + 1] > offsets[token]:
            count = text_length(data, offsets[token], offsets[token + 1])
        if count > LONGEST_TEXT:
            count = -1
        lengths[token] = count
        if count > 0:
            slices[count, token >> 5] |= np.int32(1) << np.int32(token & 31)
    for row in range(1, NUM_SLICES):
        for word in range(slices.shape[1]):
            slices[row, word] |= slices[row - 1, word]


def build_tables(tokens: Sequence[bytes | None], end_token_ids: Sequence[int]) -> Int32Array:
    """The tables of ``tokens`` (index = id; ``None`` and empty ones never match)."""
    if len(tokens) > MOST_TOKENS:
        raise VocabularyError(f"a vocabulary of {len(tokens):,} tokens; expected at most {MOST_TOKENS:,}")
    texts = [token or b"" for token in tokens]
    longest = max(map(len, texts), default=0)
    if longest > LONGEST_TOKEN:
        raise VocabularyError(f"a token of {longest:,} bytes; expected at most {LONGEST_TOKEN:,}")
    offsets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    data = np.frombuffer(b"".join(texts), np.uint8).astype(np.int32)
    num_words = (len(texts) + 31) // 32
    lengths = np.empty(len(texts), np.int32)
    slices = np.zeros((NUM_SLICES, num_words), np.int32)
    fill_slices(data, offsets, lengths, slices)
    order = np.array(sorted((id for id, text in enumerate(texts) if text), key=texts.__getitem__), np.int32)
    nodes, twins = build_trie(data, offsets, order)
    other_nodes, _ = build_trie(data, offsets, order[lengths[order] < 0])
    roots, other_roots = root_nodes(nodes), root_nodes(other_nodes)
    other_roots[other_roots >= 0] += len(nodes) // 2
    parts = {
        ROOTS: np.concatenate((roots, other_roots)),
        NODES: np.concatenate((nodes, other_nodes)),
        TOKEN_OFFSETS: offsets,
        TOKEN_BYTES: data,
        SLICES: slices.reshape(-1),
        TWINS: twins,
        END_TOKENS: np.array(sorted(set(end_token_ids)), np.int32),
    }
    header = np.zeros(TABLE_HEADER, np.int32)
    header[TABLE_SIZE], header[TABLE_WORDS] = len(texts), num_words
    header[NUM_TWINS], header[NUM_END_TOKENS] = len(twins) // 2, len(parts[END_TOKENS])
    offset = TABLE_HEADER
    for slot, part in parts.items():
        header[slot] = offset
        offset += len(part)
    return np.concatenate((header, *parts.values()))
