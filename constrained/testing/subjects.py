"""What is tested: a grammar as users have it, and what its own parts say of a text."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grammars.ir import IR

if TYPE_CHECKING:
    from grammars import Vocabulary

__all__ = ["accepts_bytes", "byte_vocabulary", "ir_of"]


def ir_of(grammar: Any) -> IR:
    """The intermediate form of a grammar: itself, that of a :class:`grammars.CompiledGrammar`, or of an output type.

    JSON of an output type is written compactly. Raises :class:`~constrained.errors.UnsupportedOutputType` for what is
    no grammar.
    """
    if isinstance(grammar, IR):
        return grammar
    held = getattr(grammar, "ir", None)
    if isinstance(held, IR):
        return held
    from constrained.output_types import output_type_from

    return output_type_from(grammar).lower(whitespace="compact")


@lru_cache(maxsize=1)
def byte_vocabulary() -> Vocabulary:
    """The 256 bytes, and an end token: id 256."""
    from grammars import Vocabulary

    return Vocabulary.from_bytes([*(bytes((byte,)) for byte in range(256)), None], eos_token_ids=[256])


def accepts_bytes(ir: IR) -> Callable[[bytes], bool]:
    """A test of whole texts by our own engine, guards included."""
    from grammars import compile_ir

    compiled = compile_ir(ir, byte_vocabulary())

    def accepts(text: bytes) -> bool:
        matcher = compiled.matcher()
        return matcher.consume_bytes(text) and matcher.is_accepting

    return accepts
