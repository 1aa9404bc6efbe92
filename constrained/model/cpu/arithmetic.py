"""Single numbers: the fused multiply-add, a packed weight, and arrays by their address."""

from __future__ import annotations

from typing import Any

import numpy as np

from grammars.jit import CHECKED, inlined

from .exact import fused

__all__ = ["array_at", "fma", "widened"]

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

    def _as_pointer(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return _types.CPointer(types.float32)(types.int64), generate

    _pointer: Any = intrinsic(_as_pointer)

    @inlined
    def array_at(address: int, size: int) -> Any:
        """The ``size`` float32 at an address."""
        return _numba.carray(_pointer(address), (size,), np.float32)
