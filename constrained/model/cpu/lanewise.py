"""What is done to 32 numbers at once, each by itself: scale, add, copy, divide, exponential, gate.

No library's exponential is used, and nothing is left to a compiler's grouping: each of these numbers goes through the
same rounded operations, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grammars.jit import CHECKED

from .exact import LANES, fused

__all__ = ["add_lanes", "copy_lanes", "divide_lanes", "exponential_lanes", "gate_lanes", "scale_lanes"]

# e**x = 2**n * e**r with n whole and |r| <= ln 2 / 2; the series of e**r ends after r**7 / 7!, at 5e-9.
_LOG2_E = 1.4426950408889634
_LN_2_HIGH = 0.693359375  # ten bits: its product with a small whole number is exact
_LN_2_LOW = 0.6931471805599453 - 0.693359375
_ROUNDER = 3.0 * 2**22  # added to a small number, leaves no room for a fraction
_LEAST, _MOST = -87.0, 88.0
_SERIES = (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0, 1.0)
_LAST_OF_SERIES = 1 / 5040

if CHECKED:

    def _lanes(x: Any, at: int) -> Any:
        lanes = x[at : at + LANES]
        if len(lanes) != LANES:
            raise IndexError(f"32 numbers from {at} on lie outside of an array of {len(x)}")
        return lanes

    def _exponential(x: Any) -> Any:
        bounded = np.clip(x, np.float32(_LEAST), np.float32(_MOST))
        rounded = fused(bounded, np.float32(_LOG2_E), np.float32(_ROUNDER))
        whole = rounded - np.float32(_ROUNDER)
        rest = fused(whole, np.float32(-_LN_2_LOW), fused(whole, np.float32(-_LN_2_HIGH), bounded))
        series = np.full(LANES, _LAST_OF_SERIES, np.float32)
        for factor in _SERIES:
            series = fused(series, rest, np.float32(factor))
        return np.where(x >= np.float32(_LEAST), series * np.exp2(whole), np.float32(0))

    def scale_lanes(x: Any, at: int, y: Any, y_at: int) -> None:
        """``x *= y``."""
        _lanes(x, at)[:] *= _lanes(y, y_at)

    def add_lanes(x: Any, at: int, y: Any, y_at: int) -> None:
        """``x += y``."""
        _lanes(x, at)[:] += _lanes(y, y_at)

    def copy_lanes(x: Any, at: int, y: Any, y_at: int) -> None:
        """``x = y``."""
        _lanes(x, at)[:] = _lanes(y, y_at)

    def gate_lanes(x: Any, at: int, y: Any, y_at: int) -> None:
        """``x = silu(x) * y``, with ``silu(x) = x / (1 + e**-x)``."""
        lanes = _lanes(x, at)
        lanes[:] = lanes / (np.float32(1) + _exponential(-lanes)) * _lanes(y, y_at)

    def divide_lanes(x: Any, at: int, value: Any) -> None:
        """``x /= value``."""
        _lanes(x, at)[:] /= value

    def exponential_lanes(x: Any, at: int, value: Any) -> None:
        """``x = e**(x - value)``, to 2 units in the last place; 0 where the exponent is below -87."""
        lanes = _lanes(x, at)
        lanes[:] = _exponential(lanes - value)

else:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    from .llvm import INDEX, LANE_WORDS, VECTOR, data_of, fused_lanes, in_each_lane

    def _constant(value: float) -> Any:
        return ir.Constant(VECTOR, [float(np.float32(value))] * LANES)

    _rounder_bits = int(np.float32(_ROUNDER).view(np.int32))

    def _words(value: int) -> Any:
        return ir.Constant(LANE_WORDS, [value] * LANES)

    def _of_two(step: Callable[[Any, Any, Any], Any]) -> Any:
        """``x = step(x, y)`` for 32 numbers of each: ``(x, at, y, y_at)``."""

        @intrinsic
        def change(typing: Any, x: Any, at: Any, y: Any, y_at: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                target = _address(context, builder, signature.args[0], arguments[0], arguments[1])
                source = _address(context, builder, signature.args[2], arguments[2], arguments[3])
                value = step(builder, builder.load(target, align=4), builder.load(source, align=4))
                builder.store(value, target, align=4)
                return context.get_dummy_value()

            return types.void(x, types.int64, y, types.int64), generate

        return change

    def _of_number(step: Callable[[Any, Any, Any], Any]) -> Any:
        """``x = step(x, value)`` for 32 numbers and one: ``(x, at, value)``."""

        @intrinsic
        def change(typing: Any, x: Any, at: Any, value: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                target = _address(context, builder, signature.args[0], arguments[0], arguments[1])
                changed = step(builder, builder.load(target, align=4), in_each_lane(builder, arguments[2]))
                builder.store(changed, target, align=4)
                return context.get_dummy_value()

            return types.void(x, types.int64, types.float32), generate

        return change

    def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
        start = data_of(context, builder, kind, array)
        return builder.bitcast(builder.gep(start, [builder.add(at, INDEX(0))]), VECTOR.as_pointer())

    def _exponential_of(builder: Any, x: Any) -> Any:
        least, most = _constant(_LEAST), _constant(_MOST)
        bounded = builder.select(builder.fcmp_ordered("<", x, least), least, x)
        bounded = builder.select(builder.fcmp_ordered(">", bounded, most), most, bounded)
        rounded = fused_lanes(builder, bounded, _constant(_LOG2_E), _constant(_ROUNDER))
        whole = builder.fsub(rounded, _constant(_ROUNDER))
        rest = fused_lanes(builder, whole, _constant(-_LN_2_HIGH), bounded)
        rest = fused_lanes(builder, whole, _constant(-_LN_2_LOW), rest)
        series = _constant(_LAST_OF_SERIES)
        for factor in _SERIES:
            series = fused_lanes(builder, series, rest, _constant(factor))
        # The last bits of `rounded` are those of n; shifted behind the sign they are the exponent of 2**n.
        exponent = builder.add(builder.bitcast(rounded, LANE_WORDS), _words(127 - _rounder_bits))
        power = builder.bitcast(builder.shl(exponent, _words(23)), VECTOR)
        return builder.select(builder.fcmp_ordered(">=", x, least), builder.fmul(series, power), _constant(0.0))

    def _gate(builder: Any, gate: Any, up: Any) -> Any:
        minus = builder.fsub(_constant(-0.0), gate)
        return builder.fmul(builder.fdiv(gate, builder.fadd(_constant(1.0), _exponential_of(builder, minus))), up)

    scale_lanes = _of_two(lambda builder, x, y: builder.fmul(x, y))
    add_lanes = _of_two(lambda builder, x, y: builder.fadd(x, y))
    copy_lanes = _of_two(lambda builder, x, y: y)
    gate_lanes = _of_two(_gate)
    divide_lanes = _of_number(lambda builder, x, value: builder.fdiv(x, value))
    exponential_lanes = _of_number(lambda builder, x, value: _exponential_of(builder, builder.fsub(x, value)))
