"""What decides the marks of a token: the key, the schema, the nonce, and the free tokens before it.

A position is *free* where the allowed tokens do not all begin with the same byte. Elsewhere the grammar forces the next
byte: whoever writes such a text writes it so, and it can neither be marked nor tell anything. What counts as context
are free tokens only; the skeleton of a schema is the same in all of its documents, and a context made of it would give
them all the same marks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from constrained.philox import WATERMARK, draw_key
from grammars.jit import kernel
from grammars.vocabulary import Vocabulary

from .config import WatermarkConfig
from .key import WatermarkKey

__all__ = ["Marker", "first_bytes_of", "free_bitmask_of", "is_free", "nonce_of"]

_END = 256


@lru_cache(maxsize=8)
def first_bytes_of(vocabulary: Vocabulary) -> NDArray[np.int16]:
    """(V,) The first byte of each token; 256 for tokens without text, those that end a generation among them."""
    return np.array([token[0] if token else _END for token in vocabulary.tokens], np.int16)


@lru_cache(maxsize=8)
def free_bitmask_of(vocabulary: Vocabulary) -> NDArray[np.int32]:
    """(ceil(V / 32),) What may be drawn without a grammar: ids with a text, and those that end a generation."""
    allowed = np.zeros(-(-vocabulary.size // 32) * 32, np.bool_)
    allowed[: vocabulary.size] = [token is not None for token in vocabulary.tokens]
    allowed[list(vocabulary.eos_token_ids)] = True
    return np.packbits(allowed, bitorder="little").view("<i4").astype(np.int32)


@kernel
def is_free(words: NDArray[np.int32], first_bytes: NDArray[np.int16]) -> bool:
    """Whether two allowed tokens begin differently (or one is the end), for the bitmask of a row (ceil(V / 32),)."""
    seen = -1
    for index in range(words.shape[0]):
        word = words[index]
        if word == np.int32(0):
            continue
        start = 32 * index
        for bit in range(min(32, first_bytes.shape[0] - start)):
            if (word >> np.int32(bit)) & np.int32(1):
                first = int(first_bytes[start + bit])
                if seen < 0:
                    seen = first
                elif seen != first:
                    return True
    return False


def nonce_of(config: WatermarkConfig, *, seed: int, stream: int) -> int:
    """Which variant of the marks an output has: consecutive streams (samples, tries) have different ones.

    >>> [nonce_of(WatermarkConfig(key_file="k"), seed=0, stream=stream) for stream in range(3)]
    [10, 11, 12]
    """
    start = int.from_bytes(hashlib.blake2b(seed.to_bytes(8, "little"), digest_size=8).digest(), "little")
    return (start + stream + (stream >> 32)) % config.num_nonces


class Marker:
    """Gives the words that mark a token after its context, for one key, config and nonce.

    >>> config = WatermarkConfig(key_file="unused")
    >>> marker = Marker(config, WatermarkKey.from_text("00" * 16), nonce=0)
    >>> marker.context_of([1, 2, 3, 4, 5]) == marker.context_of([9, 2, 3, 4, 5])
    True
    >>> marker.context_of([2, 3, 4, 5]) == marker.context_of([3, 4, 5])
    False
    """

    def __init__(self, config: WatermarkConfig, key: WatermarkKey, *, nonce: int) -> None:
        secret = key.require_secret()
        self.config = config
        self.nonce = nonce
        self.fingerprint = config.fingerprint(key)
        self._secret = secret
        self._seed = _hashed(b"wm-words", secret, b"")
        digest = config.schema_digest.encode()
        self._head = len(digest).to_bytes(4, "little") + digest + nonce.to_bytes(4, "little")
        self._width = config.context_width

    def context_of(self, free_ids: Sequence[int]) -> int:
        """A number of 64 bits for the last free tokens, of which there may be fewer than the context is wide."""
        tail = np.array(free_ids[-self._width :], np.int64)
        return _hashed(b"wm-context", self._secret, self._head + tail.tobytes())

    def words_key(self, context: int) -> NDArray[np.uint64]:
        """(3,) What :func:`constrained.philox.philox_word` takes to give a token's word after this context."""
        return draw_key(seed=self._seed, stream=context, position=0, purpose=WATERMARK)


def _hashed(purpose: bytes, secret: bytes, data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=secret, person=purpose).digest(), "little")
