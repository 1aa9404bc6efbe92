"""From finite automata to the intermediate form."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...errors import GrammarError
from ..builder import Builder
from ..charset import Charset
from ..nodes import NodeId
from ..utf8 import Fragment
from .dfa import Dfa, is_empty

__all__ = ["to_fragment", "to_node"]

Edges = list[tuple[int, Charset]]


def to_node(dfa: Dfa, builder: Builder, *, characters: Callable[[Charset], NodeId] | None = None) -> NodeId:
    """The texts of an automaton over :data:`~grammars.ir.regular.TEXT`, in the intermediate form.

    ``characters`` says how one character of a set is written; the default is ``builder.charset`` (UTF-8). A state that
    several others lead to becomes a rule, called in tail position only; a state that leads to itself, a repeat.
    """
    if is_empty(dfa):
        return builder.never
    writer = _Writer(dfa, builder, builder.charset if characters is None else characters)
    for head in writer.heads():
        writer.write(head)
    for state, rule in writer.rules.items():
        builder.define_rule(rule, writer.bodies[state])
    return writer.tail(dfa.start)


class _Writer:
    """Writes the states head by head: a head starts a chain of states with one way in and one way on."""

    def __init__(self, dfa: Dfa, builder: Builder, characters: Callable[[Charset], NodeId]) -> None:
        self.builder = builder
        self.characters = characters
        self.accepting: list[bool] = dfa.accepting.tolist()
        self.start = dfa.start
        edges = [dfa.edges(state) for state in range(len(self.accepting))]
        self.loops = [
            next((members for target, members in out if target == state), ()) for state, out in enumerate(edges)
        ]
        self.ways: list[Edges] = [[edge for edge in out if edge[0] != state] for state, out in enumerate(edges)]
        entries = [0] * len(edges)
        entries[self.start] = 1
        for out in self.ways:
            for target, _ in out:
                entries[target] += 1
        self.rules = {state: builder.declare_rule(f"state {state}") for state, count in enumerate(entries) if count > 1}
        self.bodies: dict[int, NodeId] = {}

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

    def write(self, head: int) -> None:
        builder = self.builder
        parts: list[NodeId] = []
        chain = self.chain(head)
        for state in chain:
            if self.loops[state]:
                parts.append(builder.repeat(self.characters(self.loops[state]), 0))
            if state != chain[-1]:
                parts.append(self.characters(self.ways[state][0][1]))
        last = chain[-1]
        ways = [builder.sequence(self.characters(members), self.tail(target)) for target, members in self.ways[last]]
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
    for source in (0, *range(1, len(dfa.accepting))):
        state = dfa.start if source == 0 else source
        edges.extend(
            (source and source + 1, low, high, target + 1)
            for target, members in dfa.edges(state)
            for low, high in members
        )
        if dfa.accepting[state]:
            edges.append((source and source + 1, 1, 0, 1))
    return count, tuple(edges)
