"""LALR(1) tables of plain productions, as Lark has them: which terminals each state looks for, and what conflicts cost.

Source: F. DeRemer, T. Pennello, "Efficient Computation of LALR(1) Look-Ahead Sets", TOPLAS 4(4), 1982. Conflicts
are settled as in Lark: a shift wins over a reduction, a reduction of higher priority over others; the terminals that a
reduction loses thereby are kept: the parser refuses them behind it. Sets of terminals are bits of integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....errors import CfgError
from ....ir.regular.budget import Budget
from ....limits import Limits
from .bnf import Bnf, Production

__all__ = ["Tables", "build_tables"]

Item = tuple[int, int]
"""(production, how many of its symbols are behind)."""


@dataclass(frozen=True, slots=True)
class Tables:
    """An LALR automaton of S states. Symbols are numbered: terminals below ``num_terminals``, rules from there on.

    ``productions[0]`` stands for the whole text. The end of the text is the bit ``num_terminals``.
    """

    terminals: tuple[str, ...]
    rules: tuple[str, ...]
    productions: tuple[tuple[int, tuple[int, ...]], ...]
    by_origin: dict[int, tuple[int, ...]]
    goto: tuple[dict[int, int], ...]
    looked_for: tuple[int, ...]
    """(S,) the terminals that a state shifts or reduces on, as bits."""
    lost: dict[tuple[int, int], int]
    """(state, production) to the terminals (bits, end of text included) that this reduction lost to others."""

    @property
    def num_terminals(self) -> int:
        """How many symbols are terminals."""
        return len(self.terminals)

    def looked_for_after(self) -> list[int]:
        """For each terminal all that may be looked for behind it, in any state, as bits."""
        result = [0] * self.num_terminals
        for goto in self.goto:
            for symbol, after in goto.items():
                if symbol < self.num_terminals:
                    result[symbol] |= self.looked_for[after]
        return result


def build_tables(bnf: Bnf, limits: Limits) -> Tables:
    """The tables. Raises :class:`~grammars.errors.CfgError` where two reductions are in conflict, as Lark does."""
    return _Analysis(bnf, limits).tables()


class _Analysis:
    def __init__(self, bnf: Bnf, limits: Limits) -> None:
        self.bnf = bnf
        self.budget = Budget(limits, "the LALR automaton", cost=4)
        needed = _needed(bnf)
        terminals = dict.fromkeys(name for one in needed for is_terminal, name in one.symbols if is_terminal)
        rules = dict.fromkeys(one.origin for one in needed)
        self.terminals, self.rules = tuple(terminals), tuple(rules)
        number = {(True, name): index for index, name in enumerate(self.terminals)}
        number |= {(False, name): len(terminals) + index for index, name in enumerate(self.rules)}
        self.first_rule = len(terminals)
        self.productions: list[tuple[int, tuple[int, ...]]] = [(-1, (number[False, bnf.start],))]
        self.priorities = [0]
        self.by_origin: dict[int, list[int]] = {index: [] for index in range(len(terminals), len(number))}
        for one in needed:
            self.by_origin[number[False, one.origin]].append(len(self.productions))
            self.productions.append((number[False, one.origin], tuple(number[symbol] for symbol in one.symbols)))
            self.priorities.append(one.priority)
        self.nullable = self.nullable_rules()
        self.goto: list[dict[int, int]] = []
        self.items: list[list[Item]] = []
        self.build_states()

    def nullable_rules(self) -> set[int]:
        found: set[int] = set()
        changed = True
        while changed:
            before = len(found)
            found.update(origin for origin, symbols in self.productions if found.issuperset(symbols))
            changed = len(found) > before
        return found

    # -- states -------------------------------------------------------------------------------------------------

    def closure(self, kernel: frozenset[Item]) -> list[Item]:
        items = dict.fromkeys(sorted(kernel))
        pending = list(items)
        opened: set[int] = set()
        while pending:
            production, place = pending.pop()
            symbols = self.productions[production][1]
            if place < len(symbols) and symbols[place] >= self.first_rule and symbols[place] not in opened:
                opened.add(symbols[place])
                for other in self.by_origin[symbols[place]]:
                    if (other, 0) not in items:
                        items[other, 0] = None
                        pending.append((other, 0))
        self.budget.spend(len(items))
        return list(items)

    def build_states(self) -> None:
        kernels: list[frozenset[Item]] = [frozenset([(0, 0)])]
        numbers = {kernels[0]: 0}
        for kernel in kernels:  # grows while it runs
            items = self.closure(kernel)
            moves: dict[int, set[Item]] = {}
            for production, place in items:
                symbols = self.productions[production][1]
                if place < len(symbols):
                    moves.setdefault(symbols[place], set()).add((production, place + 1))
            goto: dict[int, int] = {}
            for symbol, moved in moves.items():
                after = frozenset(moved)
                if after not in numbers:
                    numbers[after] = len(kernels)
                    kernels.append(after)
                goto[symbol] = numbers[after]
            self.goto.append(goto)
            self.items.append(items)

    # -- what follows -------------------------------------------------------------------------------------------

    def lookaheads(self) -> dict[tuple[int, int], int]:
        """(state, production) to the terminals on which the state may reduce it."""
        moves = [
            (state, symbol) for state, goto in enumerate(self.goto) for symbol in goto if symbol >= self.first_rule
        ]
        number = {move: index for index, move in enumerate(moves)}
        reads, direct = self.reads(moves, number)
        includes: list[set[int]] = [set() for _ in moves]
        lookback: list[list[tuple[int, int]]] = [[] for _ in moves]
        for index, (state, rule) in enumerate(moves):
            # Lark also follows the items that are begun already, so its sets can be larger than they need to be.
            for production, place in self.items[state]:
                origin, symbols = self.productions[production]
                if origin != rule:
                    continue
                here = state
                for at in range(place, len(symbols)):
                    inner = number.get((here, symbols[at]))
                    here = self.goto[here][symbols[at]]
                    if inner is not None and self.nullable.issuperset(symbols[at + 1 :]):
                        includes[inner].add(index)
                if place == 0:
                    lookback[index].append((here, production))
                self.budget.spend(len(symbols) + 1)
        follow = _unions(includes, _unions(reads, direct))
        found: dict[tuple[int, int], int] = {}
        for index, reductions in enumerate(lookback):
            for reduction in reductions:
                found[reduction] = found.get(reduction, 0) | follow[index]
        return found

    def reads(
        self, moves: list[tuple[int, int]], number: dict[tuple[int, int], int]
    ) -> tuple[list[set[int]], list[int]]:
        reads: list[set[int]] = []
        direct: list[int] = []
        for state, symbol in moves:
            after = self.goto[state][symbol]
            is_whole = state == 0 and symbol == self.productions[0][1][0]
            bits = 1 << len(self.terminals) if is_whole else 0
            for following in self.goto[after]:
                if following < self.first_rule:
                    bits |= 1 << following
            direct.append(bits)
            reads.append({number[after, following] for following in self.goto[after] if following in self.nullable})
        return reads, direct

    # -- conflicts ----------------------------------------------------------------------------------------------

    def tables(self) -> Tables:
        allowed = self.lookaheads()
        looked_for = [sum(1 << symbol for symbol in goto if symbol < self.first_rule) for goto in self.goto]
        lost: dict[tuple[int, int], int] = {}
        by_state: dict[int, list[int]] = {}
        for state, production in allowed:
            by_state.setdefault(state, []).append(production)
        for state, productions in by_state.items():
            shifts = looked_for[state]
            for production in productions:
                kept = allowed[state, production] & ~shifts
                for other in productions:
                    both = allowed[state, production] & allowed[state, other]
                    if other != production and both:
                        if self.priorities[other] == self.priorities[production] and not self.settled(
                            production, other, both, productions, allowed, state
                        ):
                            self.conflict(production, other, both)
                        if self.priorities[other] >= self.priorities[production]:
                            kept &= ~both
                if allowed[state, production] & ~kept:
                    lost[state, production] = allowed[state, production] & ~kept
                looked_for[state] |= kept & ~(1 << len(self.terminals))
        by_origin = {origin: tuple(some) for origin, some in self.by_origin.items()}
        productions_ = tuple(self.productions)
        return Tables(self.terminals, self.rules, productions_, by_origin, tuple(self.goto), tuple(looked_for), lost)

    def settled(
        self,
        one: int,
        other: int,
        both: int,
        productions: Sequence[int],
        allowed: dict[tuple[int, int], int],
        state: int,
    ) -> bool:
        """Whether a third reduction of higher priority takes all that two of the same priority share."""
        higher = 0
        for third in productions:
            if self.priorities[third] > max(self.priorities[one], self.priorities[other]):
                higher |= allowed[state, third]
        return not both & ~higher

    def conflict(self, one: int, other: int, both: int) -> None:
        names = (*self.terminals, "the end of the text")
        terminal = next(name for index, name in enumerate(names) if both >> index & 1)
        shown = " and ".join(sorted(self.shown(production) for production in (one, other)))
        remedy = "join the two, or give their rules priorities"
        place = max(
            self.bnf.places.get(self.rules[self.productions[which][0] - self.first_rule], 0) for which in (one, other)
        )
        raise CfgError(f"two rules end in the same place, before {terminal}: {shown}; {remedy}", self.bnf.text, place)

    def shown(self, production: int) -> str:
        origin, symbols = self.productions[production]
        names = (*self.terminals, *self.rules)
        return f"({names[origin]}: {' '.join(names[symbol] for symbol in symbols)})"


def _needed(bnf: Bnf) -> list[Production]:
    """The productions that the start needs."""
    by_origin: dict[str, list[Production]] = {}
    for production in bnf.productions:
        by_origin.setdefault(production.origin, []).append(production)
    seen = {bnf.start}
    order = [bnf.start]
    for rule in order:  # grows while it runs
        for production in by_origin[rule]:
            for is_terminal, name in production.symbols:
                if not is_terminal and name not in seen:
                    seen.add(name)
                    order.append(name)
    return [production for rule in order for production in by_origin[rule]]


def _unions(edges: list[set[int]], initial: list[int]) -> list[int]:
    """For each node the union of the sets of all nodes that it reaches: by strong components, iteratively (Tarjan)."""
    result = initial.copy()
    index = [0] * len(edges)
    count = 0
    path: list[int] = []
    for root in range(len(edges)):
        if index[root]:
            continue
        work = [(root, iter(edges[root]))]
        count += 1
        index[root] = count
        depth = {root: len(path)}
        path.append(root)
        lowest = {root: count}
        while work:
            node, rest = work[-1]
            target = next(rest, None)
            if target is None:
                work.pop()
                if lowest[node] == index[node]:
                    cut = depth[node]
                    for member in path[cut:]:
                        result[member] = result[node]
                        index[member] = len(edges) + count + 1  # done
                    del path[cut:]
                if work:
                    parent = work[-1][0]
                    result[parent] |= result[node]
                    lowest[parent] = min(lowest[parent], lowest[node])
            elif not index[target]:
                count += 1
                index[target] = lowest[target] = count
                depth[target] = len(path)
                path.append(target)
                work.append((target, iter(edges[target])))
            else:
                result[node] |= result[target]
                if index[target] <= count:
                    lowest[node] = min(lowest[node], index[target])
    return result
