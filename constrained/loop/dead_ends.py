"""Texts with no way on, and the tokens that would lead into them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrained.loop.engine import Engine

__all__ = ["DeadEnds"]


class DeadEnds:
    """What one output must not become, as text from its beginning: no other spelling of it in tokens is better."""

    def __init__(self) -> None:
        self._texts: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, text: bytes) -> None:
        """``text`` has no way on."""
        self._texts.add(text)

    def is_ahead(self, written: bytes) -> bool:
        """Whether going on from ``written`` may lead into one."""
        return any(text.startswith(written) for text in self._texts)

    def forbid(self, engine: Engine, bitmask: NDArray[np.int32], written: bytes) -> None:
        """Take out of a mask (W,) the tokens that lead from ``written`` into one."""
        for text in self._texts:
            if len(text) > len(written) and text.startswith(written):
                ids = engine.ids_that_begin(text[len(written) :])
                keep = ~np.left_shift(np.uint32(1), (ids & 31).astype(np.uint32))
                np.bitwise_and.at(bitmask.view(np.uint32), ids >> 5, keep)
