"""Sums over many numbers in one fixed order: 32 chains side by side, then halves onto halves.

Chain j takes the numbers j, j + 32, j + 64 ...; the 32 results are added 16 onto 16, 8 onto 8, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grammars.jit import CHECKED

from .exact import LANES, fused

__all__ = ["largest", "sum_of", "sum_of_squares"]

if CHECKED:

    def _reduce(x: Any, at: int, size: int, step: Any, join: Any, start: float) -> Any:
        lanes = np.full(LANES, start, np.float32)
        for block in x[at : at + size].reshape(-1, LANES):
            lanes = step(lanes, block)
        while len(lanes) > 1:
            lanes = join(lanes[: len(lanes) // 2], lanes[len(lanes) // 2 :])
        return lanes[0]

    def _larger(left: Any, right: Any) -> Any:
        return np.where(right > left, right, left)

    def sum_of(x: Any, at: int, size: int) -> Any:
        """The sum of ``size`` numbers from ``x[at]`` on, a multiple of 32."""
        return _reduce(x, at, size, np.add, np.add, 0.0)

    def sum_of_squares(x: Any, at: int, size: int) -> Any:
        """The sum of their squares, each added by a fused multiply-add."""
        return _reduce(x, at, size, lambda lanes, block: fused(block, block, lanes), np.add, 0.0)

    def largest(x: Any, at: int, size: int) -> Any:
        """The largest of them."""
        return _reduce(x, at, size, _larger, _larger, -np.inf)

else:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    from .llvm import INDEX, VECTOR, WORD, data_of, fused_lanes

    _cgutils: Any = cgutils

    def _reduction(step: Callable[..., Any], join: Callable[..., Any], start: float) -> Any:
        """``reduce(x, at, size)``: of ``size`` numbers from ``x[at]`` on, a multiple of 32."""

        @intrinsic
        def reduce(typing: Any, x: Any, at: Any, size: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                base = builder.gep(data_of(context, builder, signature.args[0], arguments[0]), [arguments[1]])
                lanes = _cgutils.alloca_once_value(builder, ir.Constant(VECTOR, [start] * LANES))
                blocks = _cgutils.for_range_slice(builder, INDEX(0), arguments[2], INDEX(LANES), INDEX)
                with blocks as (place, _):
                    address = builder.bitcast(builder.gep(base, [place]), VECTOR.as_pointer())
                    builder.store(step(builder, builder.load(lanes), builder.load(address, align=4)), lanes)
                rest, width = builder.load(lanes), LANES
                while width > 1:
                    width //= 2
                    rest = join(builder, _part(builder, rest, 0, width), _part(builder, rest, width, width))
                return builder.extract_element(rest, WORD(0))

            return types.float32(x, types.int64, types.int64), generate

        return reduce

    def _part(builder: Any, lanes: Any, first: int, width: int) -> Any:
        places = ir.Constant(ir.VectorType(WORD, width), list(range(first, first + width)))
        return builder.shuffle_vector(lanes, ir.Constant(lanes.type, ir.Undefined), places)

    def _sum(builder: Any, left: Any, right: Any) -> Any:
        return builder.fadd(left, right)

    def _plus_square(builder: Any, lanes: Any, block: Any) -> Any:
        return fused_lanes(builder, block, block, lanes)

    def _maximum(builder: Any, left: Any, right: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", right, left), right, left)

    sum_of = _reduction(_sum, _sum, 0.0)
    sum_of_squares = _reduction(_plus_square, _sum, 0.0)
    largest = _reduction(_maximum, _maximum, float("-inf"))
