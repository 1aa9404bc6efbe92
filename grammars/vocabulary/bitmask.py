"""Token bitmasks: one bit a token id, 32 to an int32 word, bit 1 = allowed (as in xgrammar and llguidance)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["allocate_token_bitmask", "allowed_token_ids"]

TokenBitmask = npt.NDArray[np.int32]


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> TokenBitmask:
    """A bitmask (batch_size, ceil(vocab_size / 32)) in which every token is allowed.

    >>> allocate_token_bitmask(2, 70).shape
    (2, 3)
    """
    return np.full((batch_size, (vocab_size + 31) // 32), -1, np.int32)


def allowed_token_ids(bitmask_row: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """The ids whose bit is set in one row, ascending.

    >>> allowed_token_ids(np.array([5, 1], np.int32)).tolist()
    [0, 2, 32]
    """
    bits = np.unpackbits(np.ascontiguousarray(bitmask_row).view(np.uint8), bitorder="little")
    return np.flatnonzero(bits)
