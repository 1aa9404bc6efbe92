"""Regular expressions that combine: both (``&``), not (``~``), but not (``-``), either (``|``)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal

from ..errors import UnsupportedOutputType
from .base import OutputType, digest_of

if TYPE_CHECKING:
    from grammars.ir import IR
    from grammars.ir.regular import Dfa

__all__ = ["CombinedRegex", "RegularType"]


_MAX_DEPTH = 200


class RegularType(OutputType[str]):
    """Text of a regular language. The operators make one that is computed exactly, as a finite automaton.

    ``a & b``: texts that both take; ``a | b``: that either takes; ``a - b``: that ``a`` takes and ``b`` does not;
    ``~a``: all texts (line breaks and all) that ``a`` does not take.
    """

    @abstractmethod
    def automaton(self) -> Dfa:
        """The least automaton over text. Raises :class:`grammars.errors.GrammarError`."""

    def __and__(self, other: RegularType) -> CombinedRegex:
        return CombinedRegex("&", self, other) if isinstance(other, RegularType) else NotImplemented

    def __or__(self, other: RegularType) -> CombinedRegex:
        return CombinedRegex("|", self, other) if isinstance(other, RegularType) else NotImplemented

    def __sub__(self, other: RegularType) -> CombinedRegex:
        return CombinedRegex("-", self, other) if isinstance(other, RegularType) else NotImplemented

    def __invert__(self) -> CombinedRegex:
        return CombinedRegex("~", self)


class CombinedRegex(RegularType):
    """What an operator makes of one or two regular languages; see :class:`RegularType`."""

    def __init__(self, operator: Literal["&", "|", "-", "~"], *operands: RegularType) -> None:
        self.operator = operator
        self.operands = operands
        self.depth: int = 1 + max(getattr(operand, "depth", 0) for operand in operands)
        if self.depth > _MAX_DEPTH:
            raise UnsupportedOutputType(f"regexes combined more than {_MAX_DEPTH} deep; combine them in a flatter way")
        self._digest = digest_of(f"regular {operator}", *(operand.digest for operand in operands))

    @property
    def digest(self) -> str:
        return self._digest

    @property
    def schema_text(self) -> None:
        return None

    def automaton(self) -> Dfa:
        from grammars.ir import regular

        if self.operator == "~":
            return regular.complement(self.operands[0].automaton())
        combine = {"&": regular.intersection, "|": regular.union, "-": regular.difference}[self.operator]
        left, right = self.operands
        return regular.minimise(combine(left.automaton(), right.automaton()))

    def lower(self, *, whitespace: str) -> IR:
        from grammars.ir import Builder
        from grammars.ir.regular import to_node

        builder = Builder()
        return builder.finish(to_node(self.automaton(), builder))

    def parse(self, text: str) -> str:
        return text

    def __repr__(self) -> str:
        if self.operator == "~":
            return f"~{self.operands[0]!r}"
        return f"({f' {self.operator} '.join(map(repr, self.operands))})"
