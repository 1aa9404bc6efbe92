"""The green lists that transformers' watermark makes on a CPU (``seeding_scheme="lefthash"``), without torch.

transformers seeds torch's generator with ``hashing_key`` times the token before, and takes the first tokens of a random
permutation. On a CPU that generator is a Mersenne twister seeded by the low 32 bits of the product, and the permutation
is Fisher and Yates' with remainders; numpy has the same twister, so the lists can be made bit for bit. (On CUDA the
lists are others.)
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grammars.jit import kernel

__all__ = ["left_green_ids", "torch_words"]


def torch_words(seed: int, count: int) -> NDArray[np.uint32]:
    """(count,) The 32-bit words that ``torch.Generator().manual_seed(seed)`` gives on a CPU."""
    twister = np.random.RandomState(seed & 0xFFFFFFFF)
    return twister.randint(0, 2**32, size=count, dtype=np.uint32)


@kernel
def _permute(ids: NDArray[np.int64], words: NDArray[np.uint32]) -> None:
    """Permute ``ids`` (N,) in place by ``words`` (N - 1,)."""
    size = ids.shape[0]
    for place in range(size - 1):
        other = place + int(words[place]) % (size - place)
        kept = ids[place]
        ids[place] = ids[other]
        ids[other] = kept


@lru_cache(maxsize=256)
def left_green_ids(previous: int, *, vocab_size: int, gamma: float, hashing_key: int) -> NDArray[np.int64]:
    """The ids that are green after the token ``previous``; ``vocab_size`` is the width of the model's logits.

    >>> len(left_green_ids(7, vocab_size=1000, gamma=0.25, hashing_key=15485863))
    250
    """
    ids = np.arange(vocab_size, dtype=np.int64)
    _permute(ids, torch_words((hashing_key * previous) % (2**64 - 1), vocab_size - 1))
    return ids[: int(vocab_size * gamma)]
