r"""What a regular expression matches at the start of a text *first*, as backtracking finds it: not always the longest.

``a|ab`` matches only ``a`` of ``ab``. The automaton here follows all ways at once, in the order in which `re` would try
them, and drops those behind one that has matched (R. Cox, "Regular Expression Matching in the Wild", 2010). The match
of `re` is the longest prefix of the text that this automaton takes.

A look at the characters to come travels along a way until they have come. Where the match is over before, it holds only
if the next character is none of some: that is left to the lexer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ....errors import GrammarError
from ....ir.charset import Charset, complement
from ....ir.regular import TEXT, Alphabet, minimise
from ....ir.regular.alphabet import partition
from ....ir.regular.budget import Budget
from ....ir.regular.dfa import from_rows
from ....limits import Limits
from ...regex import ast as regex_ast
from ...regex import parse_regex
from ...regex.characters import character_variants, node_charset
from ...regex.classes import shorthand
from ...regex.traverse import Steps, run

__all__ = ["FirstMatch", "NotSupported", "first_match_automaton"]

_MATCH = 0

Chain: TypeAlias = tuple[Charset, ...]
"""Characters that must not come one after the other."""

Thread: TypeAlias = tuple[int, frozenset[Chain]]
"""A state, and what must not come behind the place where it is reached."""


class NotSupported(GrammarError):
    """The expression looks at the text around its match in a way that is not supported."""


@dataclass(frozen=True, slots=True, eq=False)
class FirstMatch:
    """An automaton (state 0 is dead) of what is matched; ``fails[state]`` are the classes of characters that must not
    come behind a match that ends in the state."""

    alphabet: Alphabet
    rows: list[list[int]]
    accepting: list[bool]
    start: int
    fails: dict[int, frozenset[int]]


@dataclass(slots=True)
class _State:
    """Reads one character (``charset``), or goes on to several states in order, under conditions.

    ``behind``: if the last character was in a set, or was not. ``ahead``: if none of some chains comes next.
    """

    charset: Charset | None = None
    targets: tuple[int, ...] = ()
    behind: tuple[Charset, bool] | None = None
    ahead: tuple[Chain, ...] = ()
    needs_next: bool = False  # and some character must come


def first_match_automaton(regexp: str, limits: Limits) -> FirstMatch:
    """The texts that ``re.match`` would take whole, over :data:`~grammars.ir.regular.TEXT`.

    Raises :class:`~grammars.errors.RegexError`, :class:`NotSupported`, :class:`~grammars.errors.LimitExceeded`.
    """
    pattern = parse_regex(regexp, limits=limits)
    compiling = _Compiling(pattern, limits)
    start = run(compiling.add(pattern.root, pattern.flags, _MATCH))
    return _Simulation(compiling.states, start, limits).automaton()


class _Compiling:
    """Builds states from the end: each node gets the state that follows it, and gives the state to begin with."""

    def __init__(self, pattern: regex_ast.Pattern, limits: Limits) -> None:
        self.pattern = pattern
        self.states = [_State()]  # state 0: matched
        self.budget = Budget(limits, "the automaton of a terminal", cost=128)

    def state(self, state: _State) -> int:
        self.budget.spend(1)
        self.states.append(state)
        return len(self.states) - 1

    def add(self, node: regex_ast.Node, flags: regex_ast.Flags, after: int) -> Steps[int]:
        match node:
            case regex_ast.Text():
                for character in reversed(node.text):
                    after = self.state(_State(character_variants(character, self.pattern, flags), (after,)))
                return after
            case regex_ast.Group():
                inside: int = yield self.add(node.body, regex_ast.apply_flags(flags, node.on, node.off), after)
                return inside
            case regex_ast.Concatenation():
                for part in reversed(node.parts):
                    after = yield self.add(part, flags, after)
                return after
            case regex_ast.Alternation():
                ways = []
                for branch in node.branches:
                    ways.append((yield self.add(branch, flags, after)))  # noqa: PERF401
                return self.state(_State(targets=tuple(ways)))
            case regex_ast.Repeat():
                repeated: int = yield self.repeat(node, flags, after)
                return repeated
            case regex_ast.Lookaround():
                chains = yield self.chains(node.body, flags, self.written(node))
                return self.look(node, chains, after)
            case regex_ast.Assertion():
                return self.assertion(node, flags, after)
            case _:
                return self.state(_State(node_charset(node, self.pattern, flags), (after,)))

    def repeat(self, node: regex_ast.Repeat, flags: regex_ast.Flags, after: int) -> Steps[int]:
        end = after
        if node.maximum is None:
            loop = self.state(_State())
            body = yield self.add(node.body, flags, loop)
            self.states[loop].targets = (end, body) if node.lazy else (body, end)
            after = loop
        else:
            for _ in range(node.maximum - node.minimum):
                body = yield self.add(node.body, flags, after)
                after = self.state(_State(targets=(end, body) if node.lazy else (body, end)))
        for _ in range(node.minimum):
            after = yield self.add(node.body, flags, after)
        return after

    # -- looks around -------------------------------------------------------------------------------------------

    def written(self, node: regex_ast.Lookaround | regex_ast.Assertion) -> str:
        return self.pattern.text[node.span.start : node.span.end]

    def chains(self, node: regex_ast.Node, flags: regex_ast.Flags, written: str) -> Steps[list[Chain]]:
        """The body of a look-around as characters in a row, one row for each alternative."""
        match node:
            case regex_ast.Text():
                return [tuple(character_variants(one, self.pattern, flags) for one in node.text)]
            case regex_ast.Group():
                inside: list[Chain] = yield self.chains(
                    node.body, regex_ast.apply_flags(flags, node.on, node.off), written
                )
                return inside
            case regex_ast.Alternation():
                found: list[Chain] = []
                for branch in node.branches:
                    found += yield self.chains(branch, flags, written)
                return found
            case regex_ast.Concatenation():
                rows: list[Chain] = [()]
                for part in node.parts:
                    more = yield self.chains(part, flags, written)
                    self.budget.spend(len(rows) * len(more))
                    rows = [row + other for row in rows for other in more]
                return rows
            case regex_ast.Repeat() | regex_ast.Assertion() | regex_ast.Lookaround():
                remedy = "look at characters, classes and alternatives of these"
                raise NotSupported(f"look-around {written} is not supported in terminals; {remedy}")
            case _:
                return [(node_charset(node, self.pattern, flags),)]

    def look(self, node: regex_ast.Lookaround, chains: list[Chain], after: int) -> int:
        if not node.ahead:
            if any(len(chain) != 1 for chain in chains):
                written = self.written(node)
                raise NotSupported(f"look-behind {written} at more than one character is not supported in terminals")
            return self.behind([chain[0] for chain in chains], not node.negated, after)
        if node.negated:
            if () in chains:
                return self.state(_State())  # a way that ends nowhere
            return self.state(_State(targets=(after,), ahead=tuple(chains)))
        if any(len(chain) != 1 for chain in chains):
            remedy = "look at one character, or write what must not come as (?!...)"
            raise NotSupported(f"look-ahead {self.written(node)} at several characters is not supported; {remedy}")
        return self.next_in([chain[0] for chain in chains], after)

    def behind(self, sets: list[Charset], holds: bool, after: int) -> int:
        """Go on if the last character is in one of the sets, or in none."""
        if holds:
            return self.state(_State(targets=tuple(self.state(_State(None, (after,), (one, True))) for one in sets)))
        for one in sets:
            after = self.state(_State(None, (after,), (one, False)))
        return after

    def next_in(self, sets: list[Charset], after: int) -> int:
        """Go on if a character of one of the sets comes next."""
        ways = [self.state(_State(targets=(after,), ahead=((complement(one),),), needs_next=True)) for one in sets]
        return self.state(_State(targets=tuple(ways)))

    def assertion(self, node: regex_ast.Assertion, flags: regex_ast.Flags, after: int) -> int:
        r"""``\b`` and ``\B``, by whether the last character is one of a word."""
        kinds = regex_ast.AssertionKind
        if node.kind not in (kinds.WORD_BOUNDARY, kinds.NOT_WORD_BOUNDARY):
            raise NotSupported(f"{node.kind.value} looks at the text around the match; leave it out")
        word = shorthand("w", self.pattern.dialect, flags)
        no_word = self.state(_State(targets=(after,), ahead=((word,),)))
        a_word = self.next_in([word], after)
        behind_word, behind_none = (no_word, a_word) if node.kind is kinds.WORD_BOUNDARY else (a_word, no_word)
        ways = (_State(None, (behind_word,), (word, True)), _State(None, (behind_none,), (word, False)))
        return self.state(_State(targets=tuple(self.state(way) for way in ways)))


class _Simulation:
    """The subset construction on ordered lists of threads."""

    def __init__(self, states: list[_State], start: int, limits: Limits) -> None:
        self.states = states
        sets: dict[Charset, int] = {}
        for state in states:
            for charset in (state.charset, state.behind[0] if state.behind else None):
                if charset:
                    sets.setdefault(charset, len(sets))
            for chain in state.ahead:
                for charset in chain:
                    if charset:
                        sets.setdefault(charset, len(sets))
        self.alphabet, members = partition(TEXT, list(sets))
        self.members: dict[Charset, frozenset[int]] = {one: frozenset(members[index]) for one, index in sets.items()}
        self.members[()] = frozenset()
        self.budget = Budget(limits, "the automaton of a terminal", cost=8)
        self.numbers: dict[tuple[Thread, ...], int] = {(): 0}
        self.order: list[tuple[Thread, ...]] = [()]
        self.start = self.number(self.close([(start, frozenset())], None))

    def number(self, threads: tuple[Thread, ...]) -> int:
        found = self.numbers.get(threads)
        if found is None:
            found = self.numbers[threads] = len(self.order)
            self.order.append(threads)
        return found

    def close(self, seeds: list[Thread], last: int | None) -> tuple[Thread, ...]:
        """The threads that read or match, in order, behind the class ``last``; none behind a match that holds."""
        seen: set[Thread] = set()
        result: list[Thread] = []
        pending = seeds[::-1]
        while pending:
            thread = pending.pop()
            if thread in seen:
                continue
            seen.add(thread)
            index, chains = thread
            state = self.states[index]
            if index == _MATCH:
                result.append(thread)
                if not chains:
                    break
            elif state.charset is not None:
                result.append(thread)
            else:
                if state.behind is not None:
                    if last is None:
                        raise NotSupported(
                            "look-behind at the start of a terminal sees the text before it; leave it out"
                        )
                    if (last in self.members[state.behind[0]]) != state.behind[1]:
                        continue
                more = chains | frozenset(state.ahead)
                if state.needs_next:
                    more |= {()}  # an empty chain: at the end of the text it would have come
                pending += [(target, more) for target in reversed(state.targets)]
        self.budget.spend(len(seen))
        return tuple(result)

    def step(self, threads: tuple[Thread, ...], index: int) -> tuple[Thread, ...]:
        """The threads behind one character of a class."""
        seeds: list[Thread] = []
        for number, chains in threads:
            left = self.left(chains, index)
            if number == _MATCH:
                if left is not None:
                    break  # the match holds, so those behind it are never tried
            elif left is not None and index in self.members[self.states[number].charset or ()]:
                seeds.append((self.states[number].targets[0], left))
        return self.close(seeds, index) if seeds else ()

    def left(self, chains: frozenset[Chain], index: int) -> frozenset[Chain] | None:
        """What must still not come behind a character; None if a chain has come whole."""
        result: set[Chain] = set()
        for chain in chains:
            if chain and index in self.members[chain[0]]:
                if len(chain) == 1:
                    return None
                result.add(chain[1:])
        return frozenset(result)

    def automaton(self) -> FirstMatch:
        width = len(self.alphabet.classes)
        rows: list[list[int]] = [[0] * width]
        while len(rows) < len(self.order):
            threads = self.order[len(rows)]
            self.budget.spend(width * max(1, len(threads)))
            rows.append([self.number(self.step(threads, index)) for index in range(width)])
        accepting = [any(index == _MATCH for index, _ in threads) for threads in self.order]
        fails = {number: self.fails(threads) for number, threads in enumerate(self.order) if accepting[number]}
        fails = {number: classes for number, classes in fails.items() if classes}
        if fails:
            return FirstMatch(self.alphabet, rows, accepting, self.start, fails)
        least = minimise(from_rows(self.alphabet, rows, accepting, self.start))
        return FirstMatch(least.alphabet, least.transitions.tolist(), least.accepting.tolist(), least.start, {})

    def fails(self, threads: tuple[Thread, ...]) -> frozenset[int]:
        """The classes of characters that undo every match that ends here."""
        result: frozenset[int] | None = None
        for index, chains in threads:
            if index == _MATCH:
                if () in chains:
                    raise NotSupported("look-ahead for a character behind the end of a terminal is not supported")
                if any(len(chain) > 1 for chain in chains):
                    remedy = "look at one character there"
                    raise NotSupported(f"look-ahead at several characters behind the end is not supported; {remedy}")
                own = frozenset().union(*(self.members[chain[0]] for chain in chains))
                result = own if result is None else result & own
        assert result is not None
        return result
