"""All that kernels need of a vocabulary, as one int32 array: tokens, tries, slices.

Layout in words::

    header | roots of four tries | nodes of all | token offsets | token bytes | slices | leads | twins | end tokens
           | rests

The tries: all tokens; those that are not string text; of these, those that do not even begin with text; and the *rests*
of those that do, what is left of them behind their text. Wherever any text leads back to one state, all tokens with
the same rest are allowed or none is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..errors import VocabularyError
from ..ir.nodes import Int32Array
from ..jit import kernel
from .text import NUM_LEADS, lead_of_byte, text_length
from .trie import LONGEST_TOKEN, MOST_TOKENS, build_trie, root_nodes

__all__ = ["build_tables"]

TABLE_SIZE: Final = 0  # number of ids, the width of the logits
TABLE_WORDS: Final = 1  # int32 words of a token bitmask
ROOTS: Final = 2  # 4 x 256: all; not text; not beginning with text; rests
NODES: Final = 3
TOKEN_OFFSETS: Final = 4
TOKEN_BYTES: Final = 5  # one byte a word
SLICES: Final = 6  # row n: tokens of at most n characters of text
TWINS: Final = 7
NUM_TWINS: Final = 8
END_TOKENS: Final = 9
NUM_END_TOKENS: Final = 10
RESTS: Final = 11  # where the tokens of each rest begin in REST_TOKENS, and the end of the last
NUM_RESTS: Final = 12
REST_TOKENS: Final = 13  # the ids of the tokens, by rest
LEAD_TOKENS: Final = 14  # row n: the tokens of text in which a character begins with the byte of number n
TABLE_HEADER: Final = 16

OTHERS: Final = 256  # from ROOTS to the roots of the tokens that are not text
OPENERS: Final = 512  # of those that do not begin with text
ENDINGS: Final = 768  # of the rests

NUM_SLICES: Final = 130
LONGEST_TEXT: Final = NUM_SLICES - 2
"""Tokens of more characters than this count as not being text, so that they are always looked at."""


@kernel
def fill_slices(
    data: Int32Array, offsets: Int32Array, lengths: Int32Array, slices: Int32Array, leads: Int32Array
) -> None:
    """Set ``lengths`` (V,): characters of text, -1 if it is not; and bits of text tokens, where all were zeros.

    ``slices`` (NUM_SLICES, words): by how many characters they have at most; ``leads`` (NUM_LEADS, words): by the bytes
    that these begin with.
    """
    for token in range(len(lengths)):
        count = -1
        if offsets[token + 1] > offsets[token]:
            count = text_length(data, offsets[token], offsets[token + 1])
        if count > LONGEST_TEXT:
            count = -1
        lengths[token] = count
        if count > 0:
            bit = np.int32(1) << np.int32(token & 31)
            slices[count, token >> 5] |= bit
            for place in range(offsets[token], offsets[token + 1]):
                if not 0x80 <= data[place] < 0xC2:  # no continuation of a character
                    leads[lead_of_byte(data[place]), token >> 5] |= bit
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
    leads = np.zeros((NUM_LEADS, num_words), np.int32)
    fill_slices(data, offsets, lengths, slices, leads)
    order = np.array(sorted((id for id, text in enumerate(texts) if text), key=texts.__getitem__), np.int32)
    nodes, twins = build_trie(data, offsets, order)
    others = order[lengths[order] < 0]
    openers, rests = _split(texts, others.tolist())
    tries = [nodes, *(build_trie(data, offsets, some)[0] for some in (others, openers)), _trie_of(list(rests))]
    parts = {
        ROOTS: _roots_of(tries),
        NODES: np.concatenate(tries),
        TOKEN_OFFSETS: offsets,
        TOKEN_BYTES: data,
        SLICES: slices.reshape(-1),
        LEAD_TOKENS: leads.reshape(-1),
        TWINS: twins,
        END_TOKENS: np.array(sorted(set(end_token_ids)), np.int32),
        RESTS: np.cumsum([0, *map(len, rests.values())], dtype=np.int32),
        REST_TOKENS: np.array([token for some in rests.values() for token in some], np.int32),
    }
    header = np.zeros(TABLE_HEADER, np.int32)
    header[TABLE_SIZE], header[TABLE_WORDS] = len(texts), num_words
    header[NUM_RESTS] = len(rests)
    header[NUM_TWINS], header[NUM_END_TOKENS] = len(twins) // 2, len(parts[END_TOKENS])
    offset = TABLE_HEADER
    for slot, part in parts.items():
        header[slot] = offset
        offset += len(part)
    return np.concatenate((header, *parts.values()))


_TEXT = re.compile(
    rb"(?:[\x20\x21\x23-\x5b\x5d-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*"
)
"""Whole characters of string text."""


def _split(texts: Sequence[bytes], tokens: Sequence[int]) -> tuple[Int32Array, dict[bytes, list[int]]]:
    """Of tokens that are not text: those that do not begin with any, and the others by what is behind their text.

    A token that is text after all, but too long for a slice, is taken as its last character behind the others.
    """
    openers: list[int] = []
    rests: dict[bytes, list[int]] = {}
    for token in tokens:
        text = texts[token]
        found = _TEXT.match(text)
        length = found.end() if found is not None else 0
        if length == len(text):
            length = len(text.decode()[:-1].encode())
        if length:
            rests.setdefault(text[length:], []).append(token)
        else:
            openers.append(token)
    return np.array(openers, np.int32), rests


def _trie_of(texts: Sequence[bytes]) -> Int32Array:
    """The nodes of a trie of distinct texts, none empty, numbered as they come."""
    offsets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    data = np.frombuffer(b"".join(texts), np.uint8).astype(np.int32)
    order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int32)
    return build_trie(data, offsets, order)[0]


def _roots_of(tries: Sequence[Int32Array]) -> Int32Array:
    """The roots of tries whose nodes lie one behind the other."""
    parts = []
    shift = 0
    for nodes in tries:
        roots = root_nodes(nodes)
        roots[roots >= 0] += shift
        parts.append(roots)
        shift += len(nodes) // 2
    return np.concatenate(parts)
