"""The innermost loop of every product: some rows times one panel of 32 outputs.

``y[t, j] = sum over k of x[t, k] * panel[k, j]``, and each of these sums is one chain of fused multiply-adds, k = 0, 1,
2 ... in turn. So a sum's bits do not depend on how many rows are multiplied at once, or on what they hold; several rows
only share the reading of the panel. Vectors run across the 32 outputs: two registers of AVX-512, four of AVX2.

The loop is written in LLVM's own language, for its shape is what matters: accumulators that never leave their
registers. In the checked mode numpy does the same, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grammars.jit import CHECKED, inlined

from .exact import LANES, fused

__all__ = ["LANES", "MOST_ROWS", "rows_at_once", "run_tile"]

MOST_ROWS = 8
"""Rows of a tile at most."""

_AHEAD = 2048
"""Weights between the one that is read and the one asked for from memory, where rows are too few bytes to foresee."""

if CHECKED:

    def _tile(rows: int) -> Any:
        def tile(
            onto: bool,
            x: Any,
            x_at: int,
            x_row: int,
            panel: Any,
            panel_at: int,
            size: int,
            y: Any,
            y_at: int,
            y_row: int,
        ) -> None:
            values = panel[panel_at : panel_at + size * LANES].reshape(size, LANES)
            if values.dtype == np.uint16:
                values = (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
            for row in range(rows):
                inputs = x[x_at + row * x_row : x_at + row * x_row + size]
                outputs = y[y_at + row * y_row : y_at + row * y_row + LANES]
                if len(inputs) != size or len(outputs) != LANES:
                    raise IndexError(f"row {row} of a tile lies outside of its array")
                total = outputs.copy() if onto else np.zeros(LANES, np.float32)
                for value, weights in zip(inputs, values.astype(np.float32), strict=True):
                    total = fused(value, weights, total)
                outputs[:] = total

        return tile

    def rows_at_once() -> int:
        """How many rows a tile takes on this machine without running out of registers."""
        return MOST_ROWS

else:
    from llvmlite import binding, ir
    from numba.core import types
    from numba.extending import intrinsic

    from .llvm import INDEX, LANE_WORDS, VECTOR, WORD, call, data_of, fused_lanes, in_each_lane

    def rows_at_once() -> int:
        """How many rows a tile takes on this machine without running out of registers."""
        features = binding.get_host_cpu_features()
        return MOST_ROWS if features.get("avx512f") else 2  # of 16 registers of AVX2, 3 rows would take 12 and more

    def _tile(rows: int) -> Any:
        """``tile(onto, x, x_at, x_row, panel, panel_at, size, y, y_at, y_row)``, merged into the caller.

        ``x_at``, ``panel_at`` and ``y_at`` say where in the flat arrays the first row, the panel and its first output
        are, ``x_row`` and ``y_row`` how far rows are apart. Sums start from 0, or with ``onto`` from what ``y`` has.
        """

        @intrinsic
        def tile(
            typing: Any,
            onto: Any,
            x: Any,
            x_at: Any,
            x_row: Any,
            panel: Any,
            panel_at: Any,
            size: Any,
            y: Any,
            y_at: Any,
            y_row: Any,
        ) -> Any:
            whole = types.int64
            signature = types.void(types.boolean, x, whole, whole, panel, whole, whole, y, whole, whole)

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                def data(place: int) -> Any:
                    return data_of(context, builder, signature.args[place], arguments[place])

                def starts(base: Any, first: Any, stride: Any) -> list[Any]:
                    return [
                        builder.gep(base, [builder.add(first, builder.mul(stride, INDEX(row)))]) for row in range(rows)
                    ]

                inputs = starts(data(1), arguments[2], arguments[3])
                weights = builder.gep(data(4), [arguments[5]])
                outputs = [
                    builder.bitcast(start, VECTOR.as_pointer()) for start in starts(data(7), arguments[8], arguments[9])
                ]
                totals = _initial(builder, arguments[0], outputs)
                totals = _chains(builder, totals, inputs, weights, arguments[6])
                for total, output in zip(totals, outputs, strict=True):
                    builder.store(total, output, align=4)
                return context.get_dummy_value()

            return signature, generate

        return tile

    def _initial(builder: Any, onto: Any, outputs: list[Any]) -> list[Any]:
        """What the sums start from: what the outputs hold (``onto``), or zeros."""
        before = builder.block
        with builder.if_then(onto):
            held = [builder.load(output, align=4) for output in outputs]
            loaded = builder.block
        zeros = ir.Constant(VECTOR, [0.0] * LANES)
        totals = []
        for value in held:
            total = builder.phi(VECTOR)
            total.add_incoming(zeros, before)
            total.add_incoming(value, loaded)
            totals.append(total)
        return totals

    def _chains(builder: Any, initial: list[Any], inputs: list[Any], weights: Any, size: Any) -> list[Any]:
        """The loop over k; the sums after it."""
        before = builder.block
        head, body, end = (builder.append_basic_block(name) for name in ("chains", "step", "sums"))
        builder.branch(head)
        builder.position_at_end(head)
        k = builder.phi(INDEX)
        k.add_incoming(INDEX(0), before)
        totals = []
        for value in initial:
            total = builder.phi(VECTOR)
            total.add_incoming(value, before)
            totals.append(total)
        builder.cbranch(builder.icmp_signed("<", k, size), body, end)
        builder.position_at_end(body)
        values = _weights(builder, weights, builder.mul(k, INDEX(LANES)))
        for total, row in zip(totals, inputs, strict=True):
            value = in_each_lane(builder, builder.load(builder.gep(row, [k])))
            total.add_incoming(fused_lanes(builder, value, values, total), body)
        k.add_incoming(builder.add(k, INDEX(1)), body)
        builder.branch(head)
        builder.position_at_end(end)
        return totals

    def _weights(builder: Any, base: Any, offset: Any) -> Any:
        """32 weights as float32."""
        kind = base.type.pointee
        address = builder.gep(base, [offset])
        size = 4 if isinstance(kind, ir.FloatType) else kind.width // 8
        packed = builder.load(builder.bitcast(address, ir.VectorType(kind, LANES).as_pointer()), align=size)
        if size == 4:  # enough bytes for the machine to foresee by itself
            return packed
        _ask_for(builder, builder.gep(base, [builder.add(offset, INDEX(_AHEAD))]))
        if size == 2:  # the upper half of a float32
            shifted = builder.shl(builder.zext(packed, LANE_WORDS), ir.Constant(LANE_WORDS, [16] * LANES))
            return builder.bitcast(shifted, VECTOR)
        return builder.sitofp(builder.sext(packed, LANE_WORDS), VECTOR)

    def _ask_for(builder: Any, address: Any) -> None:
        """Have memory brought into the caches, if there is any at this address."""
        pointer = builder.bitcast(address, ir.IntType(8).as_pointer())
        call(builder, "llvm.prefetch", ir.VoidType(), pointer, WORD(0), WORD(3), WORD(1))


_tile_1, _tile_2, _tile_3, _tile_4 = _tile(1), _tile(2), _tile(3), _tile(4)
_tile_5, _tile_6, _tile_7, _tile_8 = _tile(5), _tile(6), _tile(7), _tile(8)


@inlined
def run_tile(
    rows: int,
    onto: bool,
    x: Any,
    x_at: int,
    x_row: int,
    panel: Any,
    panel_at: int,
    size: int,
    y: Any,
    y_at: int,
    y_row: int,
) -> None:
    """The tile of 1 to 8 ``rows``; ``size`` numbers each, times a panel of ``size`` by 32. See the file's head."""
    if rows == 1:
        _tile_1(onto, x, x_at, x_row, panel, panel_at, size, y, y_at, y_row)
    elif rows == 2:
        _tile_2(onto, x, x_at, x_row, panel, panel_at, size, y, y_at, y_row)
    elif rows == 3:
        _tile_3(onto, x, x_at, x_row, panel, panel_at, size, y, y_at, y_row)
    elif rows == 4:
        _tile_4(onto, x, x_at, x_row, panel, panel_at, size, y, y_at, y_row)
    elif rows == 5:
        _tile_5(onto, x, x_at, x_row, panel, panel_at, size, y, y_at, y_row)
    elif rows == 6:
        _tile_6(onto, x, x_at, x_row, panel, panel_at, size, y, y_at, y_row)
    elif rows == 7:
        _tile_7(onto, x, x_at, x_row, panel, panel_at, size, y, y_at, y_row)
    else:
        _tile_8(onto, x, x_at, x_row, panel, panel_at, size, y, y_at, y_row)
