"""How numba is told to compile a kernel once, however many kernels call it.

numba merges the code of a function into each of its callers, and optimises it there again. Our kernels call one
another through ten levels, so most of a cold start went into the same code, over and over. A *subroutine* is compiled
like any function, but its callers get no more than its declaration to link with, and call it by its name.

Two things follow. The name must be the same in every process, since a caller that lies on disk may have been compiled
in another one than what it calls; numba puts a running number into names, which a digest of all kernels replaces. And
when a caller is loaded from disk, what it calls must be loaded first: numba keeps a list of such things to do with
every library, writes it to disk, and runs it on loading, but does not put it back into the loaded library, whose own
callers need it too; ``remember_what_to_load`` does.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba.core import compiler, compiler_machinery, typed_passes

__all__ = ["CALLS_BY_NAME", "SubroutineCompiler", "remember_what_to_load", "stamp_of_kernels"]

CALLS_BY_NAME = numba.version_info.short >= (0, 63)
"""Whether this numba keeps such a list; with an older one, subroutines are merged into their callers as ever."""

_compiler: Any = compiler  # numba's types are not all known
_machinery: Any = compiler_machinery
_passes: Any = typed_passes


@lru_cache
def stamp_of_kernels(package: str) -> str:
    """Digest of all files of a top-level package that hold kernels.

    Machine code kept on disk contains kernels that it calls, but numba looks only at the file of the caller to see
    whether it is stale. A change in any kernel file must therefore make all of the package's stale.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(str(sys.modules[package].__file__)).parent.rglob("*.py")):
        text = path.read_bytes()
        if b"kernel" in text or b"subroutine" in text:
            digest.update(text)
    return digest.hexdigest()


@dataclass(frozen=True)
class _Load:
    """Has the machine code of a subroutine at hand: from disk, or compiled."""

    module: str
    name: str
    argument_types: tuple[Any, ...]

    def __call__(self) -> None:
        getattr(importlib.import_module(self.module), self.name).compile(self.argument_types)


def remember_what_to_load(result: Any, *, is_subroutine: bool) -> None:
    """Let those that will call a kernel, compiled or loaded (``result``), know what must be loaded before them."""
    library, descriptor = result.library, result.fndesc
    if not (hasattr(library, "_shared_module") and hasattr(library, "_reload_init")):
        raise RuntimeError(f"numba {numba.__version__}: expected a library to link with; use a tested version")
    library._reload_init.update(result.reload_init)
    if is_subroutine:
        library._reload_init.add(_Load(descriptor.modname, descriptor.qualname, result.signature.args))


@_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _LowerSubroutine(_passes.NativeLowering):  # type: ignore[misc]
    """To machine code, with a lasting name, and with only a declaration for callers to link with."""

    _name = "constrained_lower_subroutine"

    def run_pass(self, state: Any) -> bool:
        state.func_ir.func_id.unique_id = int(stamp_of_kernels(state.func_id.modname.partition(".")[0])[:12], 16)
        super().run_pass(state)
        descriptor, context, library = state.cr.fndesc, state.targetctx, state.library
        module = context.codegen()._create_empty_module(descriptor.llvm_func_name)
        context.declare_function(module, descriptor)
        library._shared_module = binding.parse_assembly(str(module))
        return True


class SubroutineCompiler(_compiler.CompilerBase):  # type: ignore[misc]
    """numba's own compiler, but for the step to machine code."""

    def define_pipelines(self) -> list[Any]:
        """The steps in order."""
        passes = _machinery.PassManager("subroutine")
        for step, description in _compiler.DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            passes.add_pass(_LowerSubroutine if step is _passes.NativeLowering else step, description)
        passes.finalize()
        return [passes]
