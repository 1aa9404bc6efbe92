"""Hypothesis strategy: members of a grammar's language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from grammars.ir.sentences import NEVER, Shape, draw_sentence

from ..subjects import accepts_bytes, ir_of

__all__ = ["sentences"]

T = TypeVar("T")


def sentences(grammar: Any, *, max_depth: int = 12, soft_length: int = 40) -> st.SearchStrategy[bytes]:
    """Random texts of a language; nothing at all if it has none.

    ``grammar`` is a :class:`grammars.CompiledGrammar`, an intermediate form, or an output type such as
    ``constrained.gbnf(...)`` or ``constrained.regex(...)``. Down to ``max_depth`` nodes below the start, and up to
    about ``soft_length`` bytes, every choice is drawn; beyond that the least deep way is taken, so that recursion ends.
    Examples shrink to short texts. Where a grammar asks something at the end of a value (``uniqueItems``, say), what it
    does not agree to is drawn again.

    >>> from hypothesis import find
    >>> import constrained
    >>> find(sentences(constrained.regex("(ab|cd)+[0-9]{3}")), lambda text: b"c" in text)
    b'cd000'
    """
    ir = ir_of(grammar)
    shape = Shape(ir)
    if shape.heights[ir.start] >= NEVER:
        return st.nothing()
    drawn = _sentences(shape, max_depth, soft_length)
    if ir.guards or ir.registers:
        return drawn.filter(accepts_bytes(ir))
    return drawn


class _Drawn:
    """Choices as Hypothesis draws them."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def one_of(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def edge(self, edges: Sequence[list[int]]) -> list[int]:
        return self.draw(st.sampled_from(edges))

    def byte(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


@st.composite
def _sentences(draw: st.DrawFn, shape: Shape, max_depth: int, soft_length: int) -> bytes:
    return draw_sentence(shape, _Drawn(draw), max_depth=max_depth, soft_length=soft_length)
