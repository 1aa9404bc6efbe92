"""Reading token bitmasks: what the mask of the pipeline and the lists of watermarks have in common. Needs no torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammars.jit import kernel

__all__ = ["list_allowed"]


@kernel
def list_allowed(words: NDArray[np.int32], size: int, out: NDArray[np.int64]) -> int:
    """Write the allowed ids below ``size``, ascending, to ``out`` and return how many; -1 if they do not fit."""
    count = 0
    for index in range(words.shape[0]):
        word = words[index]
        if word == np.int32(0):
            continue
        start = 32 * index
        for bit in range(min(32, size - start)):
            if (word >> np.int32(bit)) & np.int32(1):
                if count == out.shape[0]:
                    return -1
                out[count] = start + bit
                count += 1
    return count
