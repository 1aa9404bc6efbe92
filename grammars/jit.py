"""The one numba decorator, and the checked mode.

With ``CONSTRAINED_CHECKED=1`` in the environment, kernels run as plain Python and every arena is wrapped so that
an index out of bounds or a value that does not fit raises. The tests run in both modes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

__all__ = ["CHECKED", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

CHECKED = os.environ.get("CONSTRAINED_CHECKED", "") not in ("", "0")

if CHECKED:

    def kernel(function: Function) -> Function:
        """Leave the function as plain Python: the checked mode."""
        return function

else:
    import numba

    def kernel(function: Function) -> Function:
        """Compile the function to machine code on first use, kept on disk; it sees arrays and integers only."""
        return cast(Function, numba.njit(cache=True, boundscheck=False, error_model="numpy")(function))
