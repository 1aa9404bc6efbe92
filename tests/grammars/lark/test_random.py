"""Random grammars with terminals that get in each other's way: the same verdicts as `lark`, or refused by both."""

from __future__ import annotations

import random
from itertools import islice

import lark
import pytest

from grammars.errors import CfgError, GrammarError, UnsatisfiableGrammar
from grammars.frontends.cfg.lark.bnf import bnf_from_document
from grammars.frontends.cfg.lark.parser import parse_lark
from grammars.ir.sentences import sample

from .matching import lark_ir, our_verdict, their_verdict

PIECES = ["a", "b", "c", "ab", "[ab]", "[a-c]", "a?", "b*", "(ab|a)", "(a|ab)"]
PIECES += ["(b|bc)?", "c+", "a+?", "[^b]", "(?i:b)"]
LOOKS = ["(?!a)", "(?!ab|c)", "(?=b)", r"\b", r"\B", "(?<!a)", "(?<=b)"]


class Writer:
    """Writes a random grammar."""

    def __init__(self, seed: int) -> None:
        self.generator = random.Random(seed)
        self.terminals = ["T", "U", "V", "W"][: self.number(1, 4)]
        self.rules = ["start", "x", "y"][: self.number(1, 3)]

    def number(self, low: int, high: int) -> int:
        return self.generator.randint(low, high)

    def pick(self, *options: str) -> str:
        return self.generator.choice(options)

    def expression(self) -> str:
        """Mostly characters; one in four has a look around behind its first piece."""
        pieces = [f"(?:{self.pick(*PIECES)}){self.pick('', '', '', '+', '*?')}" for _ in range(self.number(1, 3))]
        if self.generator.random() < 0.25:
            pieces.insert(1, self.pick(*LOOKS))
        return "".join(pieces)

    def terminal(self) -> str:
        kind = self.generator.random()
        if kind < 0.45:
            return f"/{self.expression()}/{self.pick('', '', 'i')}"
        text = "".join(self.pick(*"abc") for _ in range(self.number(1, 3)))
        return f'"{text}"{self.pick("", "", "i")}' if kind < 0.8 else f'"{text}" | /{self.expression()}/'

    def atom(self, depth: int) -> str:
        kind = self.generator.random()
        if kind < 0.4:
            return self.pick(*self.terminals)
        if kind < 0.55:
            return f'"{self.pick("a", "b", "c", "ab", "bc")}"'
        if kind < 0.8 or depth > 1:
            return self.pick(*self.rules)
        return f"({self.body(depth + 1)})" if kind < 0.9 else f"[{self.body(depth + 1)}]"

    def body(self, depth: int = 0) -> str:
        branches = []
        for _ in range(self.number(1, 3)):
            count = self.number(0 if self.generator.random() < 0.15 else 1, 3)
            branches.append(" ".join(self.atom(depth) + self.pick("", "", "", "", *"*+?") for _ in range(count)))
        return " | ".join(branches)

    def grammar(self) -> str:
        lines = [f"{name}{self.pick('', '', '', '.1', '.2')}: {self.body()}" for name in self.rules]
        lines += [f"{name}{self.pick('', '', '', '.1', '.-1')}: {self.terminal()}" for name in self.terminals]
        lines += ['%ignore " "'] if self.generator.random() < 0.5 else []
        lines += ["%ignore /[ b]+/"] if self.generator.random() < 0.2 else []
        return "\n".join(lines)


def refuses(grammar: str) -> bool:
    """Whether `lark` refuses the grammar."""
    try:
        lark.Lark(grammar, parser="lalr", lexer="contextual")
    except (lark.exceptions.LarkError, AssertionError):
        return True
    return False


def may_reduce_without_end(grammar: str) -> bool:
    """Whether a rule comes back to itself over parts that may be empty: `lark` may then reduce without end."""
    productions = bnf_from_document(parse_lark(grammar)).productions
    nullable: set[str] = set()
    for _ in productions:
        nullable |= {
            one.origin
            for one in productions
            if all(not is_terminal and name in nullable for is_terminal, name in one.symbols)
        }
    ways: dict[str, set[str]] = {}
    doubtful: set[tuple[str, str]] = set()
    for one in productions:
        for place, (is_terminal, name) in enumerate(one.symbols):
            if not is_terminal:
                ways.setdefault(one.origin, set()).add(name)
                if place or all(not after[0] and after[1] in nullable for after in one.symbols[place + 1 :]):
                    doubtful.add((one.origin, name))
            if is_terminal or name not in nullable:
                break
    for origin, target in doubtful:
        reached, pending = {target}, [target]
        while pending:
            new = ways.get(pending.pop(), set()) - reached
            reached |= new
            pending += new
        if origin in reached:
            return True
    return False


@pytest.mark.parametrize("first", range(0, 600, 60))
def test_same_verdicts(first: int) -> None:
    compared = 0
    for seed in range(first, first + 60):
        writer = Writer(seed)
        grammar = writer.grammar()
        if refuses(grammar) or may_reduce_without_end(grammar):
            continue
        try:
            ir = lark_ir(grammar)
            ours = our_verdict(ir)
        except UnsatisfiableGrammar:
            continue
        except CfgError as error:
            assert "look" in str(error), (grammar, error)  # noqa: PT017
            continue
        theirs = their_verdict(grammar)
        for sentence in islice(sample(ir, seed=seed, soft_length=10), 6):
            text = sentence.decode()
            assert theirs(text), (grammar, text)
            assert ours(text), (grammar, text)
        for _ in range(30):
            text = "".join(writer.pick(*"aabbcA B") for _ in range(writer.number(0, 8)))
            assert ours(text) == theirs(text), (grammar, text)
        compared += 1
    assert compared > 3


def test_what_lark_refuses_does_no_harm() -> None:
    for seed in range(200):
        grammar = Writer(seed).grammar()
        if refuses(grammar):
            try:
                lark_ir(grammar)
            except GrammarError as error:
                assert " at " in str(error) or "no text at all" in str(error)  # noqa: PT017
