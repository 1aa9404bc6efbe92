"""The numba decorators, and the checked mode.

- ``kernel``: what Python calls.
- ``subroutine``: what only kernels call; compiled once, and called by name.
- ``inlined``: the same for a few lines, merged into each caller.

With ``CONSTRAINED_CHECKED=1`` in the environment, kernels run as plain Python and every arena is wrapped so that
an index out of bounds or a value that does not fit raises. The tests run in both modes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

__all__ = ["CHECKED", "copy_words", "inlined", "is_compiled", "kernel", "prepare", "subroutine", "threaded_kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

CHECKED = os.environ.get("CONSTRAINED_CHECKED", "") not in ("", "0")

if CHECKED:

    def kernel(function: Function) -> Function:
        """Leave the function as plain Python: the checked mode."""
        return function

    threaded_kernel = subroutine = inlined = kernel

    def is_compiled(function: Callable[..., Any]) -> bool:
        """Plain Python needs no compiling."""
        return True

    def prepare(function: Callable[..., Any], *examples: Any) -> None:
        """Plain Python needs no compiling."""

    def copy_words(target: Any, at: int, source: Any, first: int, count: int) -> None:
        """``target[at : at + count] = source[first : first + count]``, word by word and checked."""
        for index in range(count):
            target[at + index] = source[first + index]

else:
    import numba
    from numba.core import cgutils, types
    from numba.core.errors import TypingError
    from numba.extending import intrinsic

    from .subroutines import CALLS_BY_NAME, SubroutineCompiler, remember_what_to_load, stamp_of_kernels

    def kernel(function: Function) -> Function:
        """Compile the function to machine code on first use, kept on disk; it sees arrays and integers only."""
        return _compiled(function)

    def threaded_kernel(function: Function) -> Function:
        """A kernel that releases the interpreter lock: it must write only to memory that is its caller's own."""
        return _compiled(function, nogil=True)

    def subroutine(function: Function) -> Function:
        """For kernels to call, not for Python; compiled once, not again with each caller."""
        if not CALLS_BY_NAME:
            return inlined(function)
        return _uncallable(_compiled(function, no_cpython_wrapper=True, pipeline_class=SubroutineCompiler))

    def inlined(function: Function) -> Function:
        """As a subroutine, but small: its code is merged into that of its callers."""
        return _uncallable(_compiled(function, no_cpython_wrapper=True))

    def _compiled(function: Function, **options: Any) -> Function:
        options |= {"cache": True, "boundscheck": False, "error_model": "numpy", "no_cfunc_wrapper": True}
        dispatcher: Any = cast(Any, numba).njit(**options)(function)
        cache_file = getattr(dispatcher._cache, "_cache_file", None)
        if cache_file is None:
            raise RuntimeError(f"numba {numba.__version__}: expected a cache file, found none; use a tested version")
        cache_file._source_stamp = stamp_of_kernels(function.__module__.partition(".")[0])
        compile_for = dispatcher.compile

        def compile_widened(signature: tuple[Any, ...]) -> Any:
            widened = _widened(signature)
            entry = compile_for(widened)
            if CALLS_BY_NAME:
                remember_what_to_load(dispatcher.overloads[widened], is_subroutine="pipeline_class" in options)
            return entry

        dispatcher.compile = compile_widened
        return cast(Function, dispatcher)

    def _uncallable(function: Function) -> Function:
        """Make a call from Python, for which there is no code, an error."""

        def refuse(*_: object) -> None:
            raise TypeError(f"{function.__name__} is called by kernels only: it has no entry for Python")

        dispatcher = cast(Any, function)
        dispatcher._insert = lambda *_: None  # or the call would find the missing code
        dispatcher._compile_for_args = refuse
        return function

    def is_compiled(function: Callable[..., Any]) -> bool:
        """Whether machine code of the kernel is at hand: in this process, or on disk and not stale."""
        dispatcher = cast(Any, function)
        return bool(dispatcher.overloads) or bool(dispatcher._cache._cache_file._load_index())

    def prepare(function: Callable[..., Any], *examples: Any) -> None:
        """Have machine code of the kernel at hand for arguments like these, without running it."""
        cast(Any, function).compile(tuple(map(cast(Any, numba).typeof, examples)))

    def _widened(signature: tuple[Any, ...]) -> tuple[Any, ...]:
        """The signature with every integer as int64.

        numba compiles a function once for each mixture of int32, int64 and literals it is called with, which doubled
        the time of a cold start; a call with a narrower integer is converted instead.
        """
        plain = map(cast(Any, types).unliteral, signature)
        return tuple(types.int64 if isinstance(argument, types.Integer) else argument for argument in plain)

    @intrinsic
    def copy_words(typing: Any, target: Any, at: Any, source: Any, first: Any, count: Any) -> Any:
        """``target[at : at + count] = source[first : first + count]`` of contiguous arrays of one dtype, by memcpy.

        A loop over 4,008 words takes 2.0 us, memcpy 0.6 us, and a token bitmask is copied at every step.
        """
        if target.dtype != source.dtype or target.layout != "C" or source.layout != "C":
            raise TypingError("copy_words: expected two contiguous arrays of one dtype")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def address(array_type: Any, value: Any, index: Any, index_type: Any) -> Any:
                array = context.make_array(array_type)(context, builder, value)
                offset = context.cast(builder, index, index_type, types.intp)
                return cast(Any, cgutils).gep_inbounds(builder, array.data, offset)

            to = address(signature.args[0], arguments[0], arguments[1], signature.args[1])
            source_at = address(signature.args[2], arguments[2], arguments[3], signature.args[3])
            number = context.cast(builder, arguments[4], signature.args[4], types.intp)
            cast(Any, cgutils).raw_memcpy(builder, to, source_at, number, target.dtype.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(target, at, source, first, count), generate
