"""Between two lexemes: which texts of ignored matter and one terminal may follow, and what they oblige the text to.

A *boundary* is what counts of the text before: the obligations that are still open, and the lexer at work. From each
boundary the texts of one terminal that lead to one next boundary are a regular language, so a grammar with its lexer
comes down to a grammar over such languages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from ....ir.regular import Dfa, minimise
from ....ir.regular.budget import Budget
from ....ir.regular.dfa import from_rows
from ....limits import Limits
from .lexers import Lexer, Lexers, Terminal
from .obligations import FAILED, Obligations, ObligationStates

__all__ = ["Boundaries", "Gap", "group_contexts"]

BETWEEN = -1
"""As the state of a lexer: between two lexemes."""

_JSON_STARTS = '{["-0123456789tfn'


def group_contexts(
    lexers: Lexers, contexts: Iterable[int], names: tuple[str, ...], behind: list[int]
) -> tuple[list[int], dict[int, int]]:
    """Join the contexts (sets of terminals, as bits) in which every terminal has the same rivals.

    ``behind`` are for each terminal those that may be looked for behind it. Returns the joined sets, and which of them
    each context is in.
    """
    ignored = sum(1 << names.index(name) for name in dict.fromkeys(lexers.bnf.ignored))
    rivals = _Rivals(lexers, names, [bits | ignored for bits in behind]).all()
    groups: list[int] = []
    group_of: dict[int, int] = {}
    for context in sorted(set(contexts), key=lambda bits: -bits.bit_count()):
        whole = context | ignored
        for index, group in enumerate(groups):
            union = group | whole
            if all(
                union & rivals[name] == part & rivals[name]
                for part in (group, whole)
                for name in range(len(names))
                if part >> name & 1
            ):
                groups[index] = union
                group_of[context] = index
                break
        else:
            group_of[context] = len(groups)
            groups.append(whole)
    return groups, group_of


class _Rivals:
    """Which terminals another is a rival of: it may take a beginning of their texts, or more than their texts.

    More counts only as far as what may stand behind the text could be the rest of it.
    """

    def __init__(self, lexers: Lexers, names: tuple[str, ...], behind: list[int]) -> None:
        self.names = names
        self.terminals = [lexers.terminals.get(name) for name in names]
        self.behind = behind
        self.rests: dict[tuple[int, int], int] = {}
        self.budget = lexers.budget
        self.first = [
            sum(1 << index for index, target in enumerate(one.rows[one.start]) if target) if one else 0
            for one in self.terminals
        ]  # the classes of characters with which each terminal begins

    def all(self) -> list[int]:
        """For each terminal its rivals, as bits."""
        numbers = range(len(self.names))
        return [sum(1 << other for other in numbers if self.is_rival(one, other)) for one in numbers]

    def is_rival(self, one: int, other: int) -> bool:
        first, second = self.terminals[one], self.terminals[other]
        if first is None or second is None or first is second or not self.first[one] & self.first[other]:
            return False
        seen = {(first.start, second.start)}
        pending = list(seen)
        while pending:
            left, right = pending.pop()
            self.budget.spend(len(first.rows[left]))
            for pair in set(zip(first.rows[left], second.rows[right], strict=True)) - seen:
                if pair[0] and pair[1]:
                    seen.add(pair)
                    pending.append(pair)
                    if second.accepting[pair[1]]:
                        return True
                    if first.accepting[pair[0]] and self.rest(other, pair[1]) & self.behind[one]:
                        return True
        return False

    def rest(self, number: int, state: int) -> int:
        """The terminals (bits) whose texts may be the rest of one that is in a state, or a part of the rest."""
        found = self.rests.get((number, state))
        if found is None:
            found = 0
            for other, terminal in enumerate(self.terminals):
                if terminal is not None and self.may_be_rest(number, state, terminal):
                    found |= 1 << other
            self.rests[number, state] = found
        return found

    def may_be_rest(self, number: int, state: int, terminal: Terminal) -> bool:
        own = self.terminals[number]
        assert own is not None
        seen = {(state, terminal.start)}
        pending = list(seen)
        while pending:
            left, right = pending.pop()
            self.budget.spend(len(own.rows[left]))
            for pair in set(zip(own.rows[left], terminal.rows[right], strict=True)) - seen:
                if pair[0] and pair[1]:
                    if own.accepting[pair[0]] or terminal.accepting[pair[1]]:
                        return True
                    seen.add(pair)
                    pending.append(pair)
        return False


@dataclass(slots=True)
class Gap:
    """From one boundary: an automaton whose states say which terminals end there, and with what obligations.

    ``ends`` maps (terminal, obligations) to the states; the terminal "" is the end of the text, and islands (JSON in
    its place) have the states where they may begin.
    """

    rows: list[list[int]]
    ends: dict[tuple[str, ObligationStates], set[int]] = field(default_factory=dict)

    def left_by(self, terminal: str) -> list[ObligationStates]:
        """What the terminal may leave."""
        return [left for name, left in self.ends if name == terminal]


class Boundaries:
    """All gaps of a grammar, each made when first asked for."""

    def __init__(self, lexers: Lexers, groups: list[int], names: tuple[str, ...], limits: Limits) -> None:
        self.lexers = lexers
        self.names = names
        self.budget = Budget(limits, "what may follow lexemes", cost=4)
        self.group_names = [
            frozenset(name for index, name in enumerate(names) if group >> index & 1) for group in groups
        ]
        self.group_lexers: list[Lexer] = [lexers.lexer(some) for some in self.group_names]
        self.islands = [sorted(some & lexers.bnf.islands.keys()) for some in self.group_names]
        self.obligations = Obligations(self.group_lexers, len(lexers.alphabet.classes))
        self.steps = self.obligations.steps
        self.relevance = cache(self._relevance)
        self.plainest = cache(self._plainest)
        self.gaps: dict[tuple[ObligationStates, int], Gap] = {}

    # -- which obligations matter -------------------------------------------------------------------------------

    def relevant(self, open_obligations: ObligationStates, context: int) -> ObligationStates:
        """Those obligations that the terminals of a context (bits), or ignored ones, could make fail."""
        ignored = sum(1 << self.names.index(name) for name in set(self.lexers.bnf.ignored))
        followers = context | ignored
        ends_badly = self.obligations.ends_badly
        return frozenset(
            self.plainest(one, followers)
            for one in open_obligations
            if self.relevance(one) & followers or one in ends_badly
        )

    def _plainest(self, obligation: int, followers: int) -> int:
        """The least obligation that does the same to everything that the terminals ``followers`` begin with."""
        terminals = [self.lexers.terminals.get(name) for bit, name in enumerate(self.names) if followers >> bit & 1]
        for other in range(1, obligation):
            if all(self.alike(obligation, other, terminal) for terminal in terminals):
                return other
        return obligation

    def alike(self, one: int, other: int, terminal: Terminal | None) -> bool:
        """Whether two obligations fail alike while a terminal is read, and are the same behind it."""
        if terminal is None or (one in self.obligations.ends_badly) != (other in self.obligations.ends_badly):
            return one == other
        seen = {(one, other, terminal.start)}
        pending = list(seen)
        while pending:
            first, second, state = pending.pop()
            if first == second:
                continue
            if terminal.accepting[state]:
                return False
            for step in set(zip(self.steps[first], self.steps[second], terminal.rows[state], strict=True)) - seen:
                if step[2] and step[0] != step[1]:
                    if FAILED in step:
                        return False
                    seen.add(step)
                    pending.append(step)
        return True

    def _relevance(self, obligation: int) -> int:
        """The terminals (bits) with which the obligation may fail, or live to the end of them."""
        found = 0
        for number, name in enumerate(self.names):
            terminal = self.lexers.terminals.get(name)
            if terminal is None:  # an island of JSON
                classes = {self.lexers.class_of(ord(character)) for character in _JSON_STARTS}
                if any(self.steps[obligation][index] for index in classes):
                    found |= 1 << number
                continue
            seen = {(obligation, terminal.start)}
            pending = list(seen)
            while pending:
                left, right = pending.pop()
                for pair in set(zip(self.steps[left], terminal.rows[right], strict=True)) - seen:
                    if not pair[0] or not pair[1]:
                        continue
                    if pair[0] == FAILED or terminal.accepting[pair[1]]:
                        found |= 1 << number
                        pending.clear()
                        break
                    seen.add(pair)
                    pending.append(pair)
        return found

    # -- gaps ---------------------------------------------------------------------------------------------------

    def gap(self, open_obligations: ObligationStates, group: int) -> Gap:
        """What may follow a boundary."""
        key = (open_obligations, group)
        found = self.gaps.get(key)
        if found is None:
            found = self.gaps[key] = self._gap(open_obligations, group)
        return found

    def _gap(self, open_obligations: ObligationStates, group: int) -> Gap:
        lexer = self.group_lexers[group]
        width = len(self.lexers.alphabet.classes)
        start = frozenset([(open_obligations, BETWEEN)])
        numbers: dict[frozenset[tuple[ObligationStates, int]], int] = {frozenset(): 0, start: 1}
        order = [frozenset(), start]
        gap = Gap([[0] * width])
        while len(gap.rows) < len(order):
            pairs = order[len(gap.rows)]
            self.note_ends(gap, pairs, group, len(gap.rows))
            row = [0] * width
            for index in range(width):
                moved = self.moved(pairs, index, lexer, group)
                if moved not in numbers:
                    numbers[moved] = len(order)
                    order.append(moved)
                row[index] = numbers[moved]
            self.budget.spend(width * max(1, len(pairs)))
            gap.rows.append(row)
        return gap

    def moved(
        self, pairs: frozenset[tuple[ObligationStates, int]], index: int, lexer: Lexer, group: int
    ) -> frozenset[tuple[ObligationStates, int]]:
        result: set[tuple[ObligationStates, int]] = set()
        for before, state in pairs:
            after = lexer.rows[1 if state == BETWEEN else state][index]
            if not after:
                continue
            still = self.obligations.step(before, index)
            if still is None:
                continue
            result.add((still, after))
            if lexer.skipped[after]:
                result.add(((still | {self.obligations.left_of(group, after)}) - {0}, BETWEEN))
        return frozenset(result)

    def note_ends(self, gap: Gap, pairs: frozenset[tuple[ObligationStates, int]], group: int, number: int) -> None:
        lexer = self.group_lexers[group]
        for before, state in pairs:
            if state == BETWEEN:
                if self.obligations.ends_badly.isdisjoint(before):
                    gap.ends.setdefault(("", frozenset()), set()).add(number)
                for island in self.islands[group]:
                    bit = 1 << self.names.index(island)
                    if not any(self.relevance(one) & bit for one in before):
                        gap.ends.setdefault((island, frozenset()), set()).add(number)
            elif lexer.wins[state] and not lexer.skipped[state]:
                after = (before | {self.obligations.left_of(group, state)}) - {0}
                gap.ends.setdefault((lexer.wins[state], after), set()).add(number)

    def language(
        self, open_obligations: ObligationStates, group: int, name: str, lefts: frozenset[ObligationStates]
    ) -> Dfa:
        """The texts that lead from a boundary to a terminal, which leaves one of ``lefts``."""
        gap = self.gap(open_obligations, group)
        states = set().union(*(gap.ends[name, left] for left in lefts))
        accepting = [number in states for number in range(len(gap.rows))]
        return minimise(from_rows(self.lexers.alphabet, gap.rows, accepting, 1))
