"""From finite automata to the intermediate form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...errors import GrammarError
from ...limits import DEFAULT_LIMITS, Limits
from ..builder import Builder
from ..charset import JSON_TEXT, Charset, contains, union
from ..nodes import NodeId
from ..utf8 import Fragment
from .budget import Budget
from .dfa import Dfa, is_empty
from .nfa import Nfa
from .text_ahead import text_ahead

__all__ = ["to_fragment", "to_node"]

Ways = list[tuple[int, Charset]]
"""Where a state leads, and on which symbols."""


@dataclass(frozen=True, slots=True)
class _Graph:
    """What :func:`to_node` writes: every state can be reached and can reach an accepting one."""

    ways: list[Ways]
    accepting: list[bool]
    start: int
    ahead: tuple[int, ...]
    """So many characters of string text may follow; 0: not known."""


def to_node(automaton: Dfa | Nfa, builder: Builder, *, characters: Callable[[Charset], NodeId] | None = None) -> NodeId:
    """The texts of an automaton over :data:`~grammars.ir.regular.TEXT`, in the intermediate form.

    ``characters`` says how one character of a set is written; the default is ``builder.charset`` (UTF-8). A state that
    several others lead to becomes a rule, called in tail position only; a state that leads to itself, a repeat.
    """
    graph = _graph_of_nfa(automaton, builder.limits) if isinstance(automaton, Nfa) else _graph_of_dfa(automaton)
    if not graph.ways:
        return builder.never
    writer = _Writer(graph, builder, builder.charset if characters is None else characters)
    for head in writer.heads():
        writer.write(head)
    for state, rule in writer.rules.items():
        builder.define_rule(rule, writer.bodies[state])
    return writer.tail(graph.start)


def _graph_of_dfa(dfa: Dfa) -> _Graph:
    ways = [[(target - 1, members) for target, members in edges] for edges in dfa.edges()[1:]]
    return _Graph(ways, dfa.accepting[1:].tolist(), dfa.start - 1, text_ahead(dfa)[1:])


def _graph_of_nfa(nfa: Nfa, limits: Limits = DEFAULT_LIMITS) -> _Graph:
    """Without epsilon edges: state 0 starts, the others are the states that something leads to."""
    budget = Budget(limits, "a finite automaton without epsilon edges", cost=4)
    charsets = list(nfa.charsets)
    number: dict[int, int] = {}
    order: list[list[int]] = [nfa.starts]
    ways: list[Ways] = []
    accepting: list[bool] = []
    while len(ways) < len(order):
        reached = {other for state in order[len(ways)] for other in nfa.closure(state)}
        found: dict[int, list[Charset]] = {}
        for state in reached:
            for charset, target in nfa.edges[state]:
                if target not in number:
                    number[target] = len(order)
                    order.append([target])
                found.setdefault(number[target], []).append(charsets[charset])
        budget.spend(len(reached) + len(found))
        ways.append([(target, sets[0] if len(sets) == 1 else union(*sets)) for target, sets in found.items()])
        accepting.append(not nfa.finals.isdisjoint(reached))
    return _trimmed(ways, accepting)


def _trimmed(ways: list[Ways], accepting: list[bool]) -> _Graph:
    """The states that can reach an accepting one; state 0 stays the start."""
    before: list[list[int]] = [[] for _ in ways]
    for state, out in enumerate(ways):
        for target, _ in out:
            before[target].append(state)
    alive = accepting.copy()
    todo = [state for state, accepts in enumerate(accepting) if accepts]
    while todo:
        for state in before[todo.pop()]:
            if not alive[state]:
                alive[state] = True
                todo.append(state)
    if not alive[0]:
        return _Graph([], [], 0, ())
    kept = [state for state, lives in enumerate(alive) if lives]
    number = {state: index for index, state in enumerate(kept)}
    kept_ways = [[(number[target], members) for target, members in ways[state] if alive[target]] for state in kept]
    return _Graph(kept_ways, [accepting[state] for state in kept], 0, (0,) * len(kept))


class _Writer:
    """Writes the states head by head: a head starts a chain of states with one way in and one way on."""

    def __init__(self, graph: _Graph, builder: Builder, characters: Callable[[Charset], NodeId]) -> None:
        self.builder = builder
        self.characters = characters
        self.accepting = graph.accepting
        self.ahead = graph.ahead
        self.start = graph.start
        self.loops = [
            next((members for target, members in out if target == state), ()) for state, out in enumerate(graph.ways)
        ]
        self.ways: list[Ways] = [[way for way in out if way[0] != state] for state, out in enumerate(graph.ways)]
        entries = [0] * len(self.ways)
        entries[self.start] = 1
        for out in self.ways:
            for target, _ in out:
                entries[target] += 1
        self.rules = {state: builder.declare_rule(f"state {state}") for state, count in enumerate(entries) if count > 1}
        self.bodies: dict[int, NodeId] = {}
        self.written: dict[int, NodeId] = {}  # sets by identity: the graph keeps them, and hashing large ones is slow

    def character(self, members: Charset) -> NodeId:
        """One character of the set."""
        node = self.written.get(id(members))
        if node is None:
            node = self.written[id(members)] = self.characters(members)
        return node

    def tail(self, state: int) -> NodeId:
        """What may follow once the state is reached; the body of a head that is no rule must be written by then."""
        rule = self.rules.get(state)
        return self.bodies[state] if rule is None else self.builder.call(rule)

    def chain(self, head: int) -> list[int]:
        """The states from a head to where the way parts, ends, or comes to a rule."""
        states = [head]
        while True:
            ways = self.ways[states[-1]]
            if len(ways) != 1 or self.accepting[states[-1]] or ways[0][0] in self.rules:
                return states
            states.append(ways[0][0])

    def heads(self) -> Iterator[int]:
        """Every head, behind the heads it leads to as far as there is no cycle."""
        seen = {self.start}
        stack = [(self.start, iter(self.ways[self.chain(self.start)[-1]]))]
        while stack:
            head, ways = stack[-1]
            target = next((target for target, _ in ways if target not in seen), None)
            if target is None:
                stack.pop()
                yield head
            else:
                seen.add(target)
                stack.append((target, iter(self.ways[self.chain(target)[-1]])))

    def stay(self, state: int) -> Iterator[NodeId]:
        """Any number of the characters that stay in a state, and what is known of the text that may follow there."""
        promise, loop = self.builder.text_ahead(self.ahead[state]), self.loops[state]
        if not loop:
            yield promise
        elif contains(loop, JSON_TEXT):  # a repeat of all text knows by itself what may follow
            yield self.builder.repeat(self.character(loop), 0)
        else:
            yield promise
            yield self.builder.repeat(self.builder.sequence(self.character(loop), promise), 0)

    def write(self, head: int) -> None:
        builder = self.builder
        parts: list[NodeId] = []
        chain = self.chain(head)
        for state in chain:
            parts.extend(self.stay(state))
            if state != chain[-1]:
                parts.append(self.character(self.ways[state][0][1]))
        last = chain[-1]
        ways = [builder.sequence(self.character(members), self.tail(target)) for target, members in self.ways[last]]
        if self.accepting[last]:
            ways.append(builder.epsilon)
        self.bodies[head] = builder.sequence(*parts, builder.alternation(*ways))


def to_fragment(dfa: Dfa) -> Fragment:
    """An automaton over :data:`~grammars.ir.regular.BYTES` as :meth:`~grammars.ir.builder.Builder.fragment` takes it.

    It must have a member: a fragment cannot match nothing at all.
    """
    if is_empty(dfa):
        raise GrammarError("expected an automaton with a member, got one that matches nothing; use builder.never")
    # state s is s + 1 (states start at 1); the start state has a twin, 0, that nothing leads to
    edges: list[tuple[int, int, int, int]] = []
    count = len(dfa.accepting) + 1
    ways = dfa.edges()
    for source in range(len(ways)):
        state = dfa.start if source == 0 else source
        edges.extend(
            (source and source + 1, low, high, target + 1) for target, members in ways[state] for low, high in members
        )
        if dfa.accepting[state]:
            edges.append((source and source + 1, 1, 0, 1))
    return count, tuple(edges)
