"""From the intermediate form to finite automata."""

from __future__ import annotations

from itertools import pairwise

from ...errors import GrammarError
from ...limits import DEFAULT_LIMITS, Limits
from ..nodes import IR, UNBOUNDED, Kind
from .alphabet import BYTES
from .budget import Budget
from .dfa import Dfa
from .nfa import Nfa

__all__ = ["from_ir"]


def from_ir(ir: IR, *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """The automaton over bytes of a grammar that calls no rule on its way from the start.

    Raises :class:`~grammars.errors.GrammarError` for a call (and for whole JSON strings, which only the network spells
    out), :class:`~grammars.errors.LimitExceeded` when too large.
    """
    nfa = Nfa(BYTES)
    start, end = nfa.add_state(), nfa.add_state()
    reader = _Reader(ir, nfa)
    todo = [(int(ir.start), start, end)]
    budget = Budget(limits, "a grammar as a finite automaton", cost=64)
    while todo:
        before = len(nfa.edges)
        todo.extend(reader.add(*todo.pop()))
        budget.spend(len(nfa.edges) - before)
    nfa.starts.append(start)
    nfa.finals.add(end)
    return nfa.determinise(limits=limits)


class _Reader:
    """Adds the nodes of an IR to an automaton, one at a time, and says which are left."""

    def __init__(self, ir: IR, nfa: Nfa) -> None:
        self.nodes: list[list[int]] = ir.nodes.tolist()
        self.children: list[int] = ir.children.tolist()
        self.data = ir.data.tobytes()
        self.ir = ir
        self.nfa = nfa

    def add(self, node: int, source: int, target: int) -> list[tuple[int, int, int]]:
        """Add paths from ``source`` to ``target`` for the node; returns the (node, source, target) still to add."""
        nfa = self.nfa
        kind, a, b, c = self.nodes[node]
        if kind == Kind.EPSILON:
            nfa.add_epsilon(source, target)
        elif kind == Kind.LITERAL:
            for index, byte in enumerate(self.data[a : a + b]):
                after = target if index == b - 1 else nfa.add_state()
                nfa.add_edge(source, ((byte, byte),), after)
                source = after
        elif kind == Kind.FRAGMENT:
            self.add_fragment(a, source, target)
        elif kind == Kind.SEQUENCE:
            between = [source, *(nfa.add_state() for _ in range(b - 1)), target]
            return [(child, *ends) for child, ends in zip(self.children[a : a + b], pairwise(between), strict=True)]
        elif kind in (Kind.ALTERNATION, Kind.LITERALS):
            return [(child, source, target) for child in self.children[a : a + b]]
        elif kind == Kind.REPEAT:
            return self.add_repeat(a, b, c, source, target)
        elif kind != Kind.NEVER:
            what = f"a call of rule {self.ir.rule_names[a]!r}" if kind == Kind.CALL else Kind(kind).name
            raise GrammarError(f"expected a grammar that is a finite automaton, got {what}; write it out without that")
        return []

    def add_fragment(self, index: int, source: int, target: int) -> None:
        names = {0: source, 1: target}
        for start, low, high, end in self.ir.fragment_edges[
            self.ir.fragments[index] : self.ir.fragments[index + 1]
        ].tolist():
            first, last = (
                names[state] if state in names else names.setdefault(state, self.nfa.add_state())
                for state in (start, end)
            )
            if low > high:
                self.nfa.add_epsilon(first, last)
            else:
                self.nfa.add_edge(first, ((low, high),), last)

    def add_repeat(self, body: int, minimum: int, maximum: int, source: int, target: int) -> list[tuple[int, int, int]]:
        """A chain of fresh states, with a loop at its end if there is no maximum."""
        nfa = self.nfa
        copies = max(minimum, 1) if maximum == UNBOUNDED else maximum
        states = [nfa.add_state() for _ in range(copies + 1)]
        nfa.add_epsilon(source, states[0])
        for state in states[minimum:]:
            nfa.add_epsilon(state, target)
        if maximum == UNBOUNDED:
            nfa.add_epsilon(states[-1], states[-2])
        return [(body, first, last) for first, last in pairwise(states)]
