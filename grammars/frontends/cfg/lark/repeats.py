"""Repeats as helper rules, the way Lark writes them: the LALR automaton has states for these rules as well."""

from __future__ import annotations

from typing import TypeAlias

from ....ir.regular.budget import Budget
from .ast import Repeat

__all__ = ["Repeats", "Symbol", "Tree"]

Symbol: TypeAlias = tuple[bool, str]
"""(whether it is a terminal, its name)."""

Tree: TypeAlias = tuple[str, object]
"""``("symbol", Symbol)``, ``("expansion", trees)`` or ``("expansions", trees)``: equal trees share helper rules."""

_REPEAT_BREAK, _FACTOR = 50, 5
"""Lark writes repeats of fewer than 50 out, and longer ones as sums of products with factors up to 5."""


class Repeats:
    """Makes the helper rules of one grammar: ``rules`` are their names and bodies."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.rules: list[tuple[str, Tree]] = []
        self.known: dict[object, Symbol] = {}

    def helper(self, key: object, what: str, rule: str, make: tuple[tuple[Tree, ...], ...] | None, body: Tree) -> Tree:
        """A helper rule, shared by equal keys; without ``make``, one that repeats the body."""
        symbol = self.known.get(key)
        if symbol is None:
            symbol = self.known[key] = (False, f"__{rule}_{what}_{len(self.rules)}")
            branches = make if make is not None else ((body,), (("symbol", symbol), body))
            tree: Tree = ("expansions", tuple(("expansion", branch) for branch in branches))
            self.rules.append((symbol[1], tree))
        return "symbol", symbol

    def of(self, node: Repeat, body: Tree, rule: str) -> Tree:
        """What stands for a repeat of ``body`` in a rule."""
        nothing: Tree = ("expansion", ())
        match node.written:
            case "?":
                return "expansions", (body, nothing)
            case "+":
                return self.helper(body, "plus", rule, None, body)
            case "*":
                return "expansions", (self.helper(body, "star", rule, None, body), nothing)
        low, high = node.minimum, node.maximum
        assert high is not None
        if high < _REPEAT_BREAK:
            self.budget.spend(high * (high - low + 1))
            return "expansions", tuple(("expansion", (body,) * count) for count in range(low, high + 1))
        return self.long_repeat(low, high, body, rule)

    def long_repeat(self, low: int, high: int, body: Tree, rule: str) -> Tree:
        least = body
        for a, b in _factors(low):
            least = self.helper((a, b, least, body), f"repeat_a{a}_b{b}", rule, ((least,) * a + (body,) * b,), body)
        if low == high:
            return least
        target: Tree = body
        upto: Tree = ("expansion", ())
        *steps, last = _factors(high - low + 1)
        for a, b in steps:
            upto = self.at_most(a, b, target, upto, body, rule)
            target = self.helper((a, b, target, body), f"repeat_a{a}_b{b}", rule, ((target,) * a + (body,) * b,), body)
        upto = self.at_most(*last, target, upto, body, rule)
        return "expansions", (("expansion", (least, upto)),)

    def at_most(self, a: int, b: int, target: Tree, upto: Tree, body: Tree, rule: str) -> Tree:
        branches = tuple((target,) * count + (upto,) for count in range(a))
        branches += tuple((target,) * a + (body,) * count for count in range(b))
        return self.helper((a, b, target, body, "opt"), f"repeat_a{a}_b{b}_opt", rule, branches, body)


def _factors(number: int) -> list[tuple[int, int]]:
    """[(a, b), ...] with number = (... (1 * a + b) * a + b ...), all of a and a + b small: as Lark takes them."""
    if number <= _FACTOR:
        return [(number, 0)]
    for a in range(_FACTOR, 1, -1):
        quotient, b = divmod(number, a)
        if a + b <= _FACTOR:
            return [*_factors(quotient), (a, b)]
    raise AssertionError(f"no factors of {number}")
