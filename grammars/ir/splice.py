"""A whole grammar as a part of a larger one."""

from __future__ import annotations

from collections.abc import Hashable

from ..errors import GrammarError
from .builder import Builder
from .nodes import IR, UNBOUNDED, Kind, NodeId, RegisterStep, RuleId
from .utf8 import Fragment

__all__ = ["splice"]


def splice(ir: IR, builder: Builder, *, begins: Hashable | None = None) -> NodeId:
    """Write everything that the start of ``ir`` needs into ``builder``; the node that stands for the start.

    ``begins``: a guard to put before it if guards are asked inside (see :class:`grammars.guards.JsonBegins`).

    >>> inner = Builder()
    >>> ir = inner.finish(inner.literal("b"))
    >>> outer = Builder()
    >>> outer.sequence(outer.literal("a"), splice(ir, outer)) == outer.literal("ab")
    True
    """
    splicing = _Splicing(ir, builder)
    node = splicing.start()
    return builder.sequence(builder.guard(begins), node) if begins is not None and splicing.asks_guards else node


class _Splicing:
    def __init__(self, ir: IR, builder: Builder) -> None:
        self.ir = ir
        self.builder = builder
        self.nodes: list[list[int]] = ir.nodes.tolist()
        self.listed: list[int] = ir.children.tolist()
        self.bodies: list[int] = ir.rules.tolist()
        self.data = ir.data.tobytes()
        self.rules: dict[int, RuleId] = {}
        self.registers: dict[int, int] = {}
        self.made: dict[int, NodeId] = {}
        self.asks_guards = False

    def start(self) -> NodeId:
        """Copy what is reached, children before parents, rules when all nodes are there."""
        needed = self.reached()
        for node in sorted(needed):
            self.made[node] = self.copy(node)
        for rule, copied in self.rules.items():
            self.builder.define_rule(copied, self.made[self.bodies[rule]])
        return self.made[int(self.ir.start)]

    def reached(self) -> set[int]:
        seen: set[int] = set()
        pending = [int(self.ir.start)]
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            kind, first, count, _ = self.nodes[node]
            if kind in (Kind.SEQUENCE, Kind.ALTERNATION):
                pending += self.listed[first : first + count]
            elif kind in (Kind.REPEAT, Kind.LIMITED):
                pending.append(first)
            elif kind == Kind.CALL:
                pending.append(self.bodies[first])
                if first not in self.rules:
                    self.rules[first] = self.builder.declare_rule(self.ir.rule_names[first])
        return seen

    def copy(self, node: int) -> NodeId:
        """One node whose children are copied already."""
        builder = self.builder
        kind, first, second, third = self.nodes[node]
        match kind:
            case Kind.NEVER:
                return builder.never
            case Kind.EPSILON:
                return builder.text_ahead(first)
            case Kind.LITERAL:
                return builder.literal(self.data[first : first + second])
            case Kind.FRAGMENT:
                return builder.fragment(self.fragment(first), covers_text=bool(second))
            case Kind.LIMITED:
                return builder.limited(self.fragment(self.nodes[first][1]), second)
            case Kind.SPECIAL:
                return builder.special(self.ir.specials[first])
            case Kind.SEQUENCE:
                return builder.sequence(*(self.made[child] for child in self.listed[first : first + second]))
            case Kind.ALTERNATION:
                return builder.alternation(*(self.made[child] for child in self.listed[first : first + second]))
            case Kind.REPEAT:
                return builder.repeat(self.made[first], second, None if third == UNBOUNDED else third)
            case Kind.CALL:
                return builder.call(self.rules[first])
            case Kind.LITERALS:
                return builder.literals(self.literal(child) for child in self.listed[first : first + second])
            case Kind.JSON_STRINGS:
                texts = [self.literal(child).decode() for child in self.listed[first : first + second]]
                make = builder.other_json_strings if third & 2 else builder.json_strings
                return make(texts, every_spelling=bool(third & 1), only_ascii=bool(third & 4))
            case Kind.GUARD:
                self.asks_guards = True
                return builder.guard(self.ir.guards[first])
            case Kind.REGISTER:
                if second not in self.registers:
                    self.registers[second] = builder.declare_register(self.ir.registers[second])
                return builder.register(RegisterStep(first), self.registers[second], third)
            case Kind.VERBATIM:
                return builder.verbatim(self.ir.verbatims[first])
        raise GrammarError(f"a node of the kind {Kind(kind).name} cannot be a part of another grammar yet")

    def fragment(self, index: int) -> Fragment:
        begin, end = self.ir.fragments[index : index + 2].tolist()
        edges = tuple((source, low, high, to) for source, low, high, to in self.ir.fragment_edges[begin:end].tolist())
        return int(self.ir.fragment_states[index]), edges

    def literal(self, node: int) -> bytes:
        kind, first, length, _ = self.nodes[node]
        return self.data[first : first + length] if kind == Kind.LITERAL else b""
