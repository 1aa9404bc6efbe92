"""Words of LLVM's language that several of our intrinsics use."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from .exact import LANES

__all__ = ["FLOAT", "INDEX", "LANE_WORDS", "VECTOR", "WORD", "call", "data_of", "fused_lanes", "in_each_lane"]

FLOAT: Any = ir.FloatType()
WORD: Any = ir.IntType(32)
INDEX: Any = ir.IntType(64)
VECTOR: Any = ir.VectorType(FLOAT, LANES)
"""32 numbers: two registers of AVX-512, four of AVX2."""
LANE_WORDS: Any = ir.VectorType(WORD, LANES)

_cgutils: Any = cgutils


def call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """Call a function by name, one of LLVM's own or of the C library."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(_cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def fused_lanes(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` in each of 32 lanes, rounded once."""
    return call(builder, f"llvm.fma.v{LANES}f32", VECTOR, a, b, c)


def in_each_lane(builder: Any, value: Any) -> Any:
    """32 times the same number."""
    nothing = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, value, WORD(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(LANE_WORDS, [0] * LANES))


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Pointer to the first number of an array."""
    return context.make_array(kind)(context, builder, array).data
