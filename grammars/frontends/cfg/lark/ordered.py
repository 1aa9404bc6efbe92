"""What a regular expression matches at the start of a text *first*, as backtracking finds it: not always the longest.

``a|ab`` matches only ``a`` of ``ab``. The automaton here follows all ways at once, in the order in which `re` would try
them, and drops those behind one that has matched (R. Cox, "Regular Expression Matching in the Wild", 2010). The match
of `re` is the longest prefix of the text that this automaton takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....errors import GrammarError
from ....ir.charset import Charset
from ....ir.regular import TEXT, Dfa, minimise
from ....ir.regular.alphabet import partition
from ....ir.regular.budget import Budget
from ....ir.regular.dfa import from_rows
from ....limits import Limits
from ...regex import ast as regex_ast
from ...regex import parse_regex
from ...regex.characters import character_variants, node_charset
from ...regex.traverse import Steps, run

__all__ = ["NotSupported", "first_match_automaton"]

_MATCH = 0


class NotSupported(GrammarError):
    """The expression looks at the text around its match in a way that is not supported."""


@dataclass(slots=True)
class _State:
    """Reads one character (``charset``), or goes on to several states in order; ``behind``: if the last was in a set,
    or was not."""

    charset: Charset | None = None
    targets: tuple[int, ...] = ()
    behind: tuple[Charset, bool] | None = None


def first_match_automaton(regexp: str, limits: Limits) -> Dfa:
    """The texts that ``re.match`` would take whole, whatever followed, over :data:`~grammars.ir.regular.TEXT`.

    Raises :class:`~grammars.errors.RegexError`, :class:`NotSupported`, :class:`~grammars.errors.LimitExceeded`.

    >>> from grammars.limits import DEFAULT_LIMITS
    >>> automaton = first_match_automaton('".*?"|a|ab', DEFAULT_LIMITS)
    >>> [automaton.accepts(map(ord, text)) for text in ('"x"', '"x"y"', "a", "ab")]
    [True, False, True, False]
    """
    pattern = parse_regex(regexp, limits=limits)
    compiling = _Compiling(pattern, limits)
    start = run(compiling.add(pattern.root, pattern.flags, _MATCH))
    return _Simulation(compiling.states, start, limits).dfa()


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
                return self.look(node, flags, after)
            case regex_ast.Assertion():
                raise NotSupported(f"{node.kind.value} looks at the text around the match; leave it out")
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

    def look(self, node: regex_ast.Lookaround, flags: regex_ast.Flags, after: int) -> int:
        """A look-behind at one character."""
        body = node.body
        while isinstance(body, regex_ast.Group):
            flags = regex_ast.apply_flags(flags, body.on, body.off)
            body = body.body
        charset: Charset | None = None
        if isinstance(body, regex_ast.Text) and len(body.text) == 1:
            charset = character_variants(body.text, self.pattern, flags)
        elif isinstance(body, (regex_ast.CharacterClass, regex_ast.Shorthand, regex_ast.AnyCharacter)):
            charset = node_charset(body, self.pattern, flags)
        written = self.pattern.text[node.span.start : node.span.end]
        if node.ahead:
            raise NotSupported(f"look-ahead {written} is not supported in terminals; write what may follow into a rule")
        if charset is None:
            raise NotSupported(f"look-behind {written} at more than one character is not supported in terminals")
        return self.state(_State(targets=(after,), behind=(charset, not node.negated)))


class _Simulation:
    """The subset construction on ordered lists of states."""

    def __init__(self, states: list[_State], start: int, limits: Limits) -> None:
        self.states = states
        sets: dict[Charset, int] = {}
        for state in states:
            for charset in (state.charset, state.behind[0] if state.behind else None):
                if charset:
                    sets.setdefault(charset, len(sets))
        self.alphabet, members = partition(TEXT, list(sets))
        self.members: dict[Charset, frozenset[int]] = {one: frozenset(members[index]) for one, index in sets.items()}
        self.members[()] = frozenset()
        self.budget = Budget(limits, "the automaton of a terminal", cost=8)
        self.numbers: dict[tuple[int, ...], int] = {(): 0}
        self.order: list[tuple[int, ...]] = [()]
        self.start = self.number(self.close([start], None))

    def number(self, threads: tuple[int, ...]) -> int:
        found = self.numbers.get(threads)
        if found is None:
            found = self.numbers[threads] = len(self.order)
            self.order.append(threads)
        return found

    def close(self, seeds: list[int], last: int | None) -> tuple[int, ...]:
        """The states that read or match, in order, behind the class ``last``; none behind the first match."""
        seen: set[int] = set()
        result: list[int] = []
        pending = seeds[::-1]
        while pending:
            index = pending.pop()
            if index in seen:
                continue
            seen.add(index)
            state = self.states[index]
            if index == _MATCH:
                result.append(index)
                break
            if state.charset is not None:
                result.append(index)
            elif state.behind is None:
                pending += state.targets[::-1]
            elif last is None:
                raise NotSupported("look-behind at the start of a terminal sees the text before it; leave it out")
            elif (last in self.members[state.behind[0]]) == state.behind[1]:
                pending += state.targets
        self.budget.spend(len(seen))
        return tuple(result)

    def dfa(self) -> Dfa:
        width = len(self.alphabet.classes)
        rows: list[list[int]] = [[0] * width]
        while len(rows) < len(self.order):
            threads = [self.states[index] for index in self.order[len(rows)] if index != _MATCH]
            row = [0] * width
            for index in range(width):
                seeds = [state.targets[0] for state in threads if index in self.members[state.charset or ()]]
                if seeds:
                    row[index] = self.number(self.close(seeds, index))
            self.budget.spend(width)
            rows.append(row)
        accepting = [bool(threads) and threads[-1] == _MATCH for threads in self.order]
        return minimise(from_rows(self.alphabet, rows, accepting, self.start))
