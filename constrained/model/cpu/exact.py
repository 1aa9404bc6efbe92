"""Fused multiply-add of float32 in numpy, to the last bit: what the checked mode and the tests compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LANES", "fused"]

LANES = 32
"""Numbers side by side: outputs of a panel, chains of a sum."""

_MINUS_INFINITY, _INFINITY = -np.inf, np.inf


def fused(a: Any, b: Any, c: Any) -> NDArray[np.float32]:
    """``a * b + c`` of float32, element by element, rounded once.

    The product of two float32 is exact in float64. The sum is rounded to odd (Boldo & Melquiond, "Emulation of FMA and
    correctly rounded sums", 2008), so that rounding it again, to float32, gives what one rounding would have given.

    >>> a = np.float32(1 + 2**-12)
    >>> float(fused(a, a, np.float32(-1))) == 2**-11 + 2**-24, float(a * a - np.float32(1)) == 2**-11
    (True, True)
    """
    with np.errstate(all="ignore"):
        product = np.multiply(a, b, dtype=np.float64)
        addend = np.asarray(c, np.float64)
        total = np.asarray(product + addend)
        back = total - product
        lost = (product - (total - back)) + (addend - back)
        is_even = (total.view(np.int64) & 1) == 0
        odd = np.where(lost > 0, np.nextafter(total, _INFINITY), np.nextafter(total, _MINUS_INFINITY))
        inexact = is_even & (lost != 0) & np.isfinite(total) & np.isfinite(lost)
        return np.where(inexact, odd, total).astype(np.float32)
