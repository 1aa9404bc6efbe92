"""What Lark's contextual lexer does in each state of the parser, as finite automata over one shared alphabet.

In a state the lexer looks for the terminals that the state shifts or reduces on, and the ignored ones. It tries them in
an order (priority, greatest width, length of the expression, name) and takes the match of the first that matches; a
text that a regular expression takes whole is a keyword if the state looks for that keyword. So behind a lexeme the
text must not go on in such a way that the lexer would have taken more of it, or another terminal: what is left of the
lexer's state is an *obligation* on the text that follows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from ....errors import CfgError, LimitExceeded, RegexError
from ....ir.charset import Charset
from ....ir.regular import TEXT, Alphabet, Dfa, Nfa, minimise, one_of
from ....ir.regular.alphabet import partition
from ....ir.regular.budget import Budget
from ....limits import Limits
from .bnf import Bnf
from .ordered import FirstMatch, NotSupported, first_match_automaton
from .patterns import Pattern

__all__ = ["Lexer", "Lexers", "Terminal"]


@dataclass(frozen=True, slots=True)
class Terminal:
    """One terminal: its pattern, and the texts that the pattern takes, over the shared alphabet (dead state 0).

    A match that ends in a state of ``fails`` does not hold if a character of one of those classes comes next.
    """

    name: str
    pattern: Pattern
    order: tuple[float, ...]
    rows: list[list[int]]
    accepting: list[bool]
    start: int
    fails: dict[int, frozenset[int]]

    def holds(self, state: int) -> bool:
        """Whether a match that ends in the state holds whatever comes next."""
        return self.accepting[state] and state not in self.fails


@dataclass(frozen=True, slots=True)
class Lexer:
    """The lexer of one context as an automaton; state 0 is dead, state 1 starts.

    ``wins[state]`` is the terminal that the text so far would be, should the lexer stop here ("": none),
    ``skipped[state]`` whether it is ignored, and ``fails[state]`` the classes of characters that undo it if next.
    """

    rows: list[list[int]]
    wins: list[str]
    skipped: list[bool]
    fails: list[frozenset[int]]


class Lexers:
    """The lexers of all contexts, made when first asked for."""

    def __init__(self, bnf: Bnf, names: Iterable[str], limits: Limits) -> None:
        self.bnf = bnf
        self.limits = limits
        self.budget = Budget(limits, "the lexers of the grammar", cost=4)
        wanted = [name for name in dict.fromkeys([*names, *bnf.ignored]) if name not in bnf.islands]
        automata = {name: self.automaton(name) for name in wanted}
        self.alphabet, classes = _shared_alphabet(automata.values())
        self.terminals = {
            name: self.terminal(name, automaton, owners)
            for (name, automaton), owners in zip(automata.items(), classes, strict=True)
        }
        intervals = self.alphabet.intervals()
        self.lows = [low for low, _, _ in intervals]
        self.classes = [index for _, _, index in intervals]
        self.made: dict[frozenset[str], Lexer] = {}

    def pattern(self, name: str) -> Pattern:
        return self.bnf.patterns.get(name) or Pattern(False, "")

    def automaton(self, name: str) -> FirstMatch:
        """The texts of a terminal. Raises :class:`~grammars.errors.CfgError` where it cannot be one."""
        pattern = self.pattern(name)
        place = self.bnf.places.get(name, 0)
        try:
            if name in self.bnf.substrings:
                return _first_match(_substrings(self.bnf.substrings[name].chunks, self.limits))
            if pattern.widths[0] == 0:
                message = f"terminal {name} may be empty; make what uses it optional instead"
                raise CfgError(message, self.bnf.text, place)
            if pattern.is_string and not pattern.flags:
                return _first_match(one_of(TEXT, [map(ord, pattern.value)]))
            return first_match_automaton(pattern.regexp, self.limits)
        except (RegexError, NotSupported) as error:
            raise CfgError(f"terminal {name}: {error}", self.bnf.text, place) from None

    def terminal(self, name: str, automaton: FirstMatch, owners: list[int]) -> Terminal:
        pattern = self.pattern(name)
        order = (-self.bnf.priorities.get(name, 0), -pattern.widths[1], -len(pattern.value))
        rows = [[row[owner] for owner in owners] for row in automaton.rows]
        fails = {
            state: frozenset(index for index, owner in enumerate(owners) if owner in classes)
            for state, classes in automaton.fails.items()
        }
        return Terminal(name, pattern, order, rows, automaton.accepting, automaton.start, fails)

    def lexer(self, names: Iterable[str]) -> Lexer:
        """The lexer of a context that looks for these terminals, and the ignored ones."""
        key = frozenset(name for name in (*names, *self.bnf.ignored) if name in self.terminals)
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = self.make(key)
        return found

    def make(self, names: frozenset[str]) -> Lexer:
        ordered = sorted((self.terminals[name] for name in names), key=lambda one: (one.order, one.name))
        keywords, hidden = self.keywords(ordered)
        tried = [one for one in ordered if one.name not in hidden]
        tracked = [[self.terminals[name] for name in keywords.get(one.name, ())] for one in tried]
        return _Product(tried, tracked, self, self.budget).lexer()

    def keywords(self, ordered: list[Terminal]) -> tuple[dict[str, list[str]], set[str]]:
        """For each regular expression the texts that are terminals of their own, and those found only that way."""
        keywords: dict[str, list[str]] = {}
        hidden: set[str] = set()
        for one in ordered:
            if one.pattern.is_string:
                continue
            for text in ordered:
                same = text.order[0] == one.order[0]
                if same and text.pattern.is_string and self.first_match(one, text.pattern.value):
                    keywords.setdefault(one.name, []).append(text.name)
                    if text.pattern.flags <= one.pattern.flags:
                        hidden.add(text.name)
        return keywords, hidden

    def first_match(self, terminal: Terminal, text: str) -> bool:
        """Whether the terminal's expression, tried at the start of the text, takes all of it."""
        state = terminal.start
        for character in text:
            state = terminal.rows[state][self.class_of(ord(character))]
        return terminal.accepting[state]

    def class_of(self, code_point: int) -> int:
        """The class of the alphabet that a character is in."""
        return self.classes[bisect_right(self.lows, code_point) - 1]


class _Product:
    """All terminals of a context at once. A state: of each terminal (0: out of the race), then of each keyword."""

    def __init__(self, tried: list[Terminal], tracked: list[list[Terminal]], lexers: Lexers, budget: Budget) -> None:
        self.tried = tried
        self.tracked = tracked
        self.bnf = lexers.bnf
        self.width = len(lexers.alphabet.classes)
        self.budget = budget
        self.numbers: dict[tuple[tuple[int, ...], ...], int] = {(): 0}
        self.order: list[tuple[tuple[int, ...], ...]] = [()]
        self.wins = [""]
        self.skipped = [False]
        self.fails: list[frozenset[int]] = [frozenset()]

    def lexer(self) -> Lexer:
        start = tuple(
            (one.start, *(text.start for text in texts)) for one, texts in zip(self.tried, self.tracked, strict=True)
        )
        self.number(start)
        rows = [[0] * self.width]
        while len(rows) < len(self.order):
            rows.append([self.number(self.step(self.order[len(rows)], index)) for index in range(self.width)])
            self.budget.spend(self.width)
        if len(rows) == 1:  # nothing to look for: a start that leads nowhere
            return Lexer([rows[0], rows[0]], ["", ""], [False, False], [frozenset(), frozenset()])
        for state in range(len(rows)):
            self.check_others(state, rows[state])
        return Lexer(rows, self.wins, self.skipped, self.fails)

    def step(self, state: tuple[tuple[int, ...], ...], index: int) -> tuple[tuple[int, ...], ...]:
        moved: list[tuple[int, ...]] = []
        alive = False
        for place, own in enumerate(state):
            if not own or not own[0]:
                moved.append(())
                continue
            terminal = self.tried[place]
            undone = terminal.fails.get(own[0])
            matched = undone is not None and index not in undone
            after = terminal.rows[own[0]][index]
            if not after:
                moved.append(())
                if matched:
                    break
                continue
            alive = True
            texts = self.tracked[place]
            moved.append((after, *(text.rows[at][index] for text, at in zip(texts, own[1:], strict=True))))
            if matched or terminal.holds(after):
                break  # those behind in the order are never taken now
        return tuple(moved) if alive else ()

    def number(self, state: tuple[tuple[int, ...], ...]) -> int:
        while state and not state[-1]:
            state = state[:-1]
        found = self.numbers.get(state)
        if found is None:
            found = self.numbers[state] = len(self.order)
            self.order.append(state)
            self.budget.spend(len(state))
            winner, skipped, fails = self.winner(state)
            self.wins.append(winner)
            self.skipped.append(skipped)
            self.fails.append(fails)
        return found

    def winner(self, state: tuple[tuple[int, ...], ...]) -> tuple[str, bool, frozenset[int]]:
        for one, texts, own in zip(self.tried, self.tracked, state, strict=False):
            if own and one.accepting[own[0]]:
                taken = next(
                    (text.name for text, at in zip(texts, own[1:], strict=True) if text.accepting[at]), one.name
                )
                return taken, one.name in self.bnf.ignored, one.fails.get(own[0], frozenset())
        return "", False, frozenset()

    def check_others(self, number: int, row: list[int]) -> None:
        """Where the winner may be undone, another terminal that matches here must be sure to go on: it cannot win."""
        if not self.fails[number]:
            return
        state = self.order[number]
        matched = [one.name for one, own in zip(self.tried, state, strict=False) if own and one.accepting[own[0]]]
        for index in self.fails[number] if len(matched) > 1 else ():
            if not self.wins[row[index]] or self.fails[row[index]]:
                message = f"terminal {matched[0]} looks ahead where {matched[1]} could match in its place"
                place = self.bnf.places.get(matched[0], 0)
                raise CfgError(f"{message}; this is not supported, write it without", self.bnf.text, place)


def _first_match(dfa: Dfa) -> FirstMatch:
    return FirstMatch(dfa.alphabet, dfa.transitions.tolist(), dfa.accepting.tolist(), dfa.start, {})


def _shared_alphabet(automata: Iterable[FirstMatch]) -> tuple[Alphabet, list[list[int]]]:
    """An alphabet finer than those of all automata; for each automaton, which of its classes holds each class."""
    sets: dict[Charset, int] = {}
    owned = [[sets.setdefault(members, len(sets)) for members in automaton.alphabet.classes] for automaton in automata]
    alphabet, members = partition(TEXT, list(sets))
    owners: list[list[int]] = []
    for numbers in owned:
        column = [0] * len(alphabet.classes)
        for own, number in enumerate(numbers):
            for index in members[number]:
                column[index] = own
        owners.append(column)
    return alphabet, owners


def _substrings(chunks: tuple[str, ...], limits: Limits) -> Dfa:
    """Every run of neighbouring chunks, at least one."""
    if sum(map(len, chunks)) * 16 > limits.max_states:
        raise LimitExceeded("max_states", limits.max_states, "a substring of a long text (each character counts as 16)")
    nfa = Nfa(TEXT)
    borders = [nfa.add_state() for _ in range(len(chunks) + 1)]
    nfa.starts.extend(borders)
    nfa.finals.update(borders)
    for number, chunk in enumerate(chunks):
        state = borders[number]
        for place, character in enumerate(chunk):
            after = borders[number + 1] if place == len(chunk) - 1 else nfa.add_state()
            nfa.add_edge(state, ((ord(character), ord(character)),), after)
            state = after
    return minimise(nfa.determinise(limits=limits))
