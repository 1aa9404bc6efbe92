"""The syntax tree of a GBNF grammar to the intermediate form. Rules that the start cannot reach are left out."""

from __future__ import annotations

from ...errors import CfgError
from ...ir.builder import Builder
from ...ir.nodes import NodeId, RuleId
from ..regex.lower import merged_counts
from ..regex.traverse import Steps, run
from .gbnf_ast import Alternation, Characters, Grammar, Node, Reference, Repeat, Sequence, Text
from .gbnf_parser import parse_gbnf

__all__ = ["lower_gbnf", "unreachable_rules"]


def lower_gbnf(text: str, builder: Builder, *, start: str = "root") -> NodeId:
    """The node that matches what the rule ``start`` of a GBNF grammar matches.

    Raises :class:`~grammars.errors.CfgError` with line and column of a fault, and
    :class:`~grammars.errors.LimitExceeded` beyond the limits of the builder.

    >>> builder = Builder()
    >>> ir = builder.finish(lower_gbnf('root ::= "a" root | ""', builder))
    >>> ir.rule_names
    ('root',)
    """
    grammar = parse_gbnf(text, limits=builder.limits)
    if start not in grammar.rules:
        first = next(iter(grammar.rules.values()))
        message = f'no rule "{start}", which the grammar starts with; rename the rule that does'
        raise CfgError(message, text, first.span.start)
    return _Lowering(grammar, builder).lower(start)


def unreachable_rules(text: str, *, start: str = "root") -> list[str]:
    """The rules that ``start`` does not need, in the order of the text: often a slip of the pen."""
    grammar = parse_gbnf(text)
    lowering = _Lowering(grammar, Builder())
    lowering.lower(start)
    return [name for name in grammar.rules if name not in lowering.rules]


class _Lowering:
    def __init__(self, grammar: Grammar, builder: Builder) -> None:
        self.grammar = grammar
        self.builder = builder
        self.rules: dict[str, RuleId] = {}
        self.pending: list[str] = []

    def lower(self, start: str) -> NodeId:
        """The call of a rule, with every rule that it needs defined."""
        node = self.call(start)
        while self.pending:
            name = self.pending.pop()
            self.builder.define_rule(self.rules[name], run(self.node(self.grammar.rules[name].body)))
        return node

    def call(self, name: str) -> NodeId:
        """A call of the rule, which is lowered later."""
        rule = self.rules.get(name)
        if rule is None:
            rule = self.rules[name] = self.builder.declare_rule(name)
            self.pending.append(name)
        return self.builder.call(rule)

    def leaf(self, node: Node) -> NodeId | None:
        """A node without others below it; most are."""
        if isinstance(node, Text):
            return self.builder.literal(node.text)
        if isinstance(node, Characters):
            return self.builder.charset(node.members)
        return self.call(node.name) if isinstance(node, Reference) else None

    def node(self, node: Node) -> Steps[NodeId]:
        leaf = self.leaf(node)
        if leaf is not None:
            return leaf
        if isinstance(node, Repeat):
            body, minimum, maximum = _unnested(node)
            leaf = self.leaf(body)
            return self.builder.repeat((yield self.node(body)) if leaf is None else leaf, minimum, maximum)
        assert isinstance(node, (Sequence, Alternation))
        lowered: list[NodeId] = []
        for part in node.parts if isinstance(node, Sequence) else node.branches:
            leaf = self.leaf(part)
            lowered.append((yield self.node(part)) if leaf is None else leaf)
        combine = self.builder.sequence if isinstance(node, Sequence) else self.builder.alternation
        return combine(*lowered)


def _unnested(node: Repeat) -> tuple[Node, int, int | None]:
    """(body, minimum, maximum) with repeats of repeats made one: ``"a"{1,9}{1,9}`` is ``"a"{1,81}``."""
    body, minimum, maximum = node.body, node.minimum, node.maximum
    while isinstance(body, Repeat):
        merged = merged_counts((body.minimum, body.maximum), (minimum, maximum))
        if merged is None:
            break
        body, (minimum, maximum) = body.body, merged
    return body, minimum, maximum
