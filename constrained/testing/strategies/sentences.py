"""Hypothesis strategy: members of a grammar's language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

from grammars.ir import IR
from grammars.ir.sentences import NEVER, Shape, draw_sentence

__all__ = ["sentences"]

T = TypeVar("T")


def sentences(ir: IR, *, max_depth: int = 12, soft_length: int = 40) -> st.SearchStrategy[bytes]:
    """Random texts of the language of ``ir``; nothing at all if it has none.

    Down to ``max_depth`` nodes below the start, and up to about ``soft_length`` bytes, every choice is drawn; beyond
    that the least deep way is taken, so that recursion ends.
    """
    shape = Shape(ir)
    if shape.heights[ir.start] >= NEVER:
        return st.nothing()
    return _sentences(shape, max_depth, soft_length)


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
