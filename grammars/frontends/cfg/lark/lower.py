"""A Lark grammar to the intermediate form: the texts that ``Lark(parser="lalr", lexer="contextual")`` parses."""

from __future__ import annotations

from ....errors import UnsatisfiableGrammar
from ....guards import JsonBegins
from ....ir.builder import Builder
from ....ir.nodes import NodeId, RuleId
from ....ir.regular import Dfa, to_node
from ....ir.splice import splice
from .bnf import Bnf, bnf_from_document
from .boundaries import Boundaries, group_contexts
from .lalr import Tables, build_tables
from .lexers import Lexers
from .parser import parse_lark
from .variants import Boundary, Call, Label, Place, Variants

__all__ = ["lower_lark"]

Variant = tuple[Call, Boundary]
Node = tuple[Place, Boundary]


def lower_lark(text: str, builder: Builder, *, start: str = "start", whitespace: str = "indent=2") -> NodeId:
    """The node that matches the texts which Lark, with its LALR parser and contextual lexer, parses from ``start``.

    ``whitespace`` is that of ``%json`` pieces. Raises :class:`~grammars.errors.CfgError` with line and column of what
    is malformed or not supported, and :class:`~grammars.errors.LimitExceeded` beyond the limits of the builder.

    >>> builder = Builder()
    >>> ir = builder.finish(lower_lark('start: "a" start | "b"', builder))
    """
    document = parse_lark(text, limits=builder.limits)
    bnf = bnf_from_document(document, start=start, limits=builder.limits)
    tables = build_tables(bnf, builder.limits)
    lexers = Lexers(bnf, tables.terminals, builder.limits)
    names = (*tables.terminals, *(name for name in dict.fromkeys(bnf.ignored) if name not in tables.terminals))
    shifted = {after for goto in tables.goto for symbol, after in goto.items() if symbol < tables.num_terminals}
    contexts = {state: tables.looked_for[state] for state in (0, *shifted)}
    groups = group_contexts(lexers, contexts.values(), names)
    group_of = [_group(groups, contexts.get(state, 0)) for state in range(len(tables.goto))]
    boundaries = Boundaries(lexers, groups, names, builder.limits)
    variants = Variants(tables, boundaries, group_of, names, builder.limits)
    return _Writer(bnf, tables, boundaries, variants, builder, whitespace).start()


def _group(groups: list[int], context: int) -> int:
    return next(index for index, group in enumerate(groups) if not context & ~group)


class _Writer:
    def __init__(
        self, bnf: Bnf, tables: Tables, boundaries: Boundaries, variants: Variants, builder: Builder, whitespace: str
    ) -> None:
        self.bnf = bnf
        self.tables = tables
        self.boundaries = boundaries
        self.variants = variants
        self.builder = builder
        self.whitespace = whitespace
        self.languages: dict[Label, int] = {}
        self.numbers: dict[object, int] = {}
        self.automata: list[tuple[Dfa, str]] = []
        self.written: dict[int, NodeId] = {}
        self.islands: dict[str, NodeId] = {}

    def start(self) -> NodeId:
        """The whole text: the start rule, then ignored matter, then the end."""
        end_bit = self.tables.num_terminals
        call = self.variants.start
        ends = [end for end in self.variants.ends[call] if not end.forbidden >> end_bit & 1]
        if not ends:
            raise UnsatisfiableGrammar("no text at all is in the language of the grammar")
        variant_classes, node_classes, order = self.classes([(call, end) for end in ends])
        rules = self.write(variant_classes, node_classes, order)
        ways = []
        for end in ends:
            tail = self.boundaries.language(end.obligations, end.group, "", frozenset([frozenset()]))
            called = self.builder.call(rules[variant_classes[call, end]])
            ways.append(self.builder.sequence(called, to_node(tail, self.builder)))
        return self.builder.alternation(*ways)

    # -- languages between boundaries ---------------------------------------------------------------------------

    def language(self, label: Label) -> int:
        """The number of a label's language; equal languages have one number."""
        number = self.languages.get(label)
        if number is None:
            name = label[2]
            dfa = self.boundaries.language(*label)
            island = name if name in self.bnf.islands else ""
            key = (dfa.start, dfa.accepting.tobytes(), dfa.transitions.tobytes(), dfa.alphabet.classes, island)
            number = self.numbers.get(key)
            if number is None:
                number = self.numbers[key] = len(self.automata)
                self.automata.append((dfa, name))
            self.languages[label] = number
        return number

    def terminal(self, number: int) -> NodeId:
        """The node of a language."""
        node = self.written.get(number)
        if node is None:
            dfa, name = self.automata[number]
            node = to_node(dfa, self.builder)
            if name in self.bnf.islands:
                node = self.builder.sequence(node, self.island(name))
            self.written[number] = node
        return node

    def island(self, name: str) -> NodeId:
        from ...json_schema import lower_json_schema

        node = self.islands.get(name)
        if node is None:
            schema = self.bnf.islands[name].schema
            inside = lower_json_schema(schema, whitespace=self.whitespace, limits=self.builder.limits)
            node = self.islands[name] = splice(inside, self.builder, begins=JsonBegins())
        return node

    # -- variants that say the same -----------------------------------------------------------------------------

    def reached(self, starts: list[Variant]) -> tuple[list[Variant], list[Node]]:
        """All variants and nodes that are needed."""
        variants = dict.fromkeys(starts)
        nodes: dict[Node, None] = {}
        todo = list(variants)
        while todo:
            call, end = todo.pop()
            pending = [(place, end) for place in self.variants.openings_of(call, end)]
            while pending:
                node = pending.pop()
                if node in nodes:
                    continue
                nodes[node] = None
                for label, target in self.edges(node):
                    pending.append((target, end))
                    if isinstance(label[0], Call) and label not in variants:
                        variants[label] = None
                        todo.append(label)
        return list(variants), list(nodes)

    def edges(self, node: Node) -> list[tuple[Label | Variant, Place]]:
        """The ways on from a node that can still come to its end."""
        place, end = node
        return [(label, target) for label, target in self.variants.edges[place] if end in self.variants.finals[target]]

    def is_final(self, node: Node) -> bool:
        """Whether the production of a node is over."""
        place, _ = node
        return place.behind == len(self.tables.productions[place.production][1])

    def classes(self, starts: list[Variant]) -> tuple[dict[Variant, int], dict[Node, int], list[Node]]:
        """Variants and nodes with the same texts get the same number, as far as a partition refinement tells."""
        variants, nodes = self.reached(starts)
        nodes.sort(key=self.to_go)
        of_variant = {variant: variant[0].rule for variant in variants}
        of_node = dict.fromkeys(nodes, 0)
        steps = {
            node: [
                (label if isinstance(label[0], Call) else self.language(label), (target, node[1]))
                for label, target in self.edges(node)
            ]
            for node in nodes
        }
        openings = {
            variant: [(place, variant[1]) for place in self.variants.openings_of(*variant)] for variant in variants
        }
        count = 0
        while True:
            known: dict[object, int] = {}
            for node in nodes:  # those behind come first, so one pass tells apart whole productions
                ways = frozenset(
                    ((0, label) if isinstance(label, int) else (1, of_variant[label]), of_node[target])
                    for label, target in steps[node]
                )
                of_node[node] = known.setdefault((self.is_final(node), ways), len(known))
            for variant in variants:
                key = (variant[0].rule, frozenset(of_node[node] for node in openings[variant]))
                of_variant[variant] = known.setdefault(key, len(known))
            if len(known) == count:
                return of_variant, of_node, nodes
            count = len(known)

    def to_go(self, node: Node) -> int:
        place, _ = node
        return len(self.tables.productions[place.production][1]) - place.behind

    def write(self, of_variant: dict[Variant, int], of_node: dict[Node, int], nodes: list[Node]) -> dict[int, RuleId]:
        """One rule for each class of variants."""
        builder = self.builder
        rules: dict[int, RuleId] = {}
        for (call, _), number in of_variant.items():
            if number not in rules:
                rules[number] = builder.declare_rule(self.tables.rules[call.rule - self.tables.num_terminals])
        made: dict[int, NodeId] = {}
        for node in nodes:
            if of_node[node] in made:
                continue
            if self.is_final(node):
                made[of_node[node]] = builder.epsilon
                continue
            ways: dict[tuple[NodeId, int], None] = {}
            for label, target in self.edges(node):
                is_call = isinstance(label[0], Call)
                read = builder.call(rules[of_variant[label]]) if is_call else self.terminal(self.language(label))  # type: ignore[index, arg-type]
                ways[read, of_node[target, node[1]]] = None
            made[of_node[node]] = builder.alternation(*(builder.sequence(read, made[after]) for read, after in ways))
        defined: set[int] = set()
        for variant, number in of_variant.items():
            if number not in defined:
                defined.add(number)
                bodies = dict.fromkeys(of_node[place, variant[1]] for place in self.variants.openings_of(*variant))
                builder.define_rule(rules[number], builder.alternation(*(made[body] for body in bodies)))
        return rules
