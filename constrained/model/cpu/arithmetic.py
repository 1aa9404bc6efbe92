"""Float32 arithmetic that is the same on every machine: fused multiply-add, exponential, and what weights mean.

Only operations that IEEE 754 rounds rightly are used (no library's exponential, no reordering), so that a value does
not depend on how a compiler groups them into vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grammars.jit import CHECKED, inlined

from .exact import fused

__all__ = ["array_at", "exponential", "fma", "widened"]

if CHECKED:
    import ctypes

    def fma(a: Any, b: Any, c: Any) -> Any:
        """``a * b + c`` of float32, rounded once."""
        return np.float32(fused(a, b, c))

    def widened(weights: Any, index: int) -> Any:
        """One weight as float32: itself, the upper half of one (uint16), or a small integer (int8)."""
        value = weights[index]
        if weights.dtype == np.uint16:
            return (np.uint32(value) << np.uint32(16)).view(np.float32)
        return np.float32(value)

    def _power_of_two(rounded: Any) -> Any:
        """2**n, of ``_ROUNDER + n``."""
        return np.int32((int(rounded.view(np.int32)) - _ROUNDER_BITS + 127) << 23).view(np.float32)

    def array_at(address: int, size: int) -> Any:
        """The ``size`` float32 at an address."""
        memory: Any = (ctypes.c_float * int(size)).from_address(int(address))
        return np.frombuffer(memory, np.float32)

else:
    import numba
    from numba.core import types
    from numba.extending import intrinsic

    from .llvm import FLOAT, WORD, call, data_of

    _numba: Any = numba
    _types: Any = types

    @intrinsic
    def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
        """``a * b + c`` of float32, rounded once."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return call(builder, "llvm.fma.f32", FLOAT, *arguments)

        return types.float32(types.float32, types.float32, types.float32), generate

    @intrinsic
    def widened(typing: Any, weights: Any, index: Any) -> Any:
        """One weight as float32: itself, the upper half of one (uint16), or a small integer (int8)."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = data_of(context, builder, signature.args[0], arguments[0])
            value = builder.load(builder.gep(start, [arguments[1]]))
            if weights.dtype == types.uint16:
                return builder.bitcast(builder.shl(builder.zext(value, WORD), WORD(16)), FLOAT)
            return value if weights.dtype == types.float32 else builder.sitofp(value, FLOAT)

        return types.float32(weights, types.int64), generate

    @intrinsic
    def _power_of_two(typing: Any, rounded: Any) -> Any:
        """2**n, of ``_ROUNDER + n``: a float32's last bits are those of the whole number, its exponent is in front."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            exponent = builder.add(builder.bitcast(arguments[0], WORD), WORD(127 - _ROUNDER_BITS))
            return builder.bitcast(builder.shl(exponent, WORD(23)), FLOAT)

        return types.float32(types.float32), generate

    def _as_pointer(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return _types.CPointer(types.float32)(types.int64), generate

    _pointer: Any = intrinsic(_as_pointer)

    @inlined
    def array_at(address: int, size: int) -> Any:
        """The ``size`` float32 at an address."""
        return _numba.carray(_pointer(address), (size,), np.float32)


_LOG2_E = np.float32(1.4426950408889634)
_LN_2_HIGH = np.float32(0.693359375)  # ten bits: its product with a small whole number is exact
_LN_2_LOW = np.float32(0.6931471805599453 - 0.693359375)
_ROUNDER = np.float32(3 * 2**22)  # added to a small number, leaves no room for a fraction
_ROUNDER_BITS = int(np.float32(3 * 2**22).view(np.int32))
_LEAST, _MOST = np.float32(-87.0), np.float32(88.0)
_ONE, _HALF, _ZERO = np.float32(1), np.float32(1 / 2), np.float32(0)
_C3, _C4, _C5 = np.float32(1 / 6), np.float32(1 / 24), np.float32(1 / 120)
_C6, _C7 = np.float32(1 / 720), np.float32(1 / 5040)


@inlined
def exponential(x: Any) -> Any:
    """e**x of float32, to 2 units in the last place; 0 below -87, and e**88 from 88 on.

    e**x = 2**n * e**r with n whole and ``|r| <= ln 2 / 2``; the series of e**r ends after r**7 / 7!, at 5e-9.
    """
    bounded = min(max(x, _LEAST), _MOST)
    rounded = fma(bounded, _LOG2_E, _ROUNDER)
    whole = rounded - _ROUNDER
    rest = fma(whole, -_LN_2_LOW, fma(whole, -_LN_2_HIGH, bounded))
    series = fma(_C7, rest, _C6)
    series = fma(series, rest, _C5)
    series = fma(series, rest, _C4)
    series = fma(series, rest, _C3)
    series = fma(series, rest, _HALF)
    series = fma(series, rest, _ONE)
    series = fma(series, rest, _ONE)
    return series * _power_of_two(rounded) if x >= _LEAST else _ZERO
