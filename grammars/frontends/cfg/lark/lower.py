"""A Lark grammar to the intermediate form: the texts that ``Lark(parser="lalr", lexer="contextual")`` parses."""

from __future__ import annotations

from ....errors import CfgError, SchemaError, UnsatisfiableGrammar
from ....guards import JsonBegins
from ....ir.builder import Builder
from ....ir.nodes import NodeId, RuleId
from ....ir.regular import Dfa, to_node
from ....ir.splice import splice
from .bnf import Bnf, bnf_from_document
from .boundaries import Boundaries, group_contexts
from .lalr import Tables, build_tables
from .lexers import Lexers
from .merge import Merged, State, merge
from .parser import parse_lark
from .variants import Boundary, Label, Variants

__all__ = ["lower_lark"]

MOST_INLINE_STATES = 4


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
    anything = (1 << len(names)) - 1
    behind = [*tables.looked_for_after(), *([anything] * (len(names) - tables.num_terminals))]
    behind = [anything if name in bnf.ignored else bits for name, bits in zip(names, behind, strict=True)]
    groups, group_of_context = group_contexts(lexers, contexts.values(), names, behind)
    group_of = [
        group_of_context[contexts[state]] if state in contexts else group_of_context[contexts[0]]
        for state in range(len(tables.goto))
    ]
    boundaries = Boundaries(lexers, groups, names, builder.limits)
    variants = Variants(tables, boundaries, group_of, names, builder.limits)
    return _Writer(bnf, tables, boundaries, variants, builder, whitespace).start()


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
        ends = [
            end
            for end in self.variants.ends[call]
            if not end.forbidden >> end_bit & 1
            and ("", frozenset()) in self.boundaries.gap(end.obligations, end.group).ends
        ]
        if not ends:
            raise UnsatisfiableGrammar("no text at all is in the language of the grammar")
        by_tail: dict[int, list[Boundary]] = {}
        for end in ends:
            tail = self.language((end.obligations, end.group, "", frozenset([frozenset()])))
            by_tail.setdefault(tail, []).append(end)
        merged, starts = merge(self.variants, list(by_tail.values()), self.language, self.builder.limits)
        rules = self.write(merged, starts)
        ways = [
            (self.builder.call(rules[state]), self.terminal(tail)) for state, tail in zip(starts, by_tail, strict=True)
        ]
        return self.builder.alternation(*(self.builder.sequence(called, tail) for called, tail in ways))

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
            if len(dfa.accepting) > MOST_INLINE_STATES:
                node = self.builder.rule(name, node)
            self.written[number] = node
        return node

    def island(self, name: str) -> NodeId:
        from ...json_schema import lower_json_schema

        node = self.islands.get(name)
        if node is None:
            schema = self.bnf.islands[name].schema
            try:
                inside = lower_json_schema(schema, whitespace=self.whitespace, limits=self.builder.limits)
            except SchemaError as error:
                raise CfgError(f"%json: {error}", self.bnf.text, self.bnf.places[name]) from None
            node = self.islands[name] = splice(inside, self.builder, begins=JsonBegins())
        return node

    # -- rules --------------------------------------------------------------------------------------------------

    def write(self, merged: Merged, starts: list[State]) -> dict[State, RuleId]:
        """A rule for each state that is called, and for each that several states lead to."""
        builder = self.builder
        uses: dict[State, int] = {}
        rules = {state: builder.declare_rule(self.name_of(merged, state)) for state in dict.fromkeys(starts)}
        for ways in merged.ways.values():
            for after in {after for _, after in ways}:
                uses[after] = uses.get(after, 0) + 1
            for read, _ in ways:
                if not isinstance(read, int) and read not in rules:
                    rules[read] = builder.declare_rule(self.name_of(merged, read))
        made: dict[State, NodeId] = {}
        for state, ways in merged.ways.items():
            by_after: dict[State, list[NodeId]] = {}
            for read, after in ways:
                node = self.terminal(read) if isinstance(read, int) else builder.call(rules[read])
                by_after.setdefault(after, []).append(node)
            branches = [builder.sequence(builder.alternation(*reads), made[after]) for after, reads in by_after.items()]
            body = builder.alternation(*branches, *([builder.epsilon] if state in merged.finals else []))
            if state in rules:
                builder.define_rule(rules[state], body)
                body = builder.call(rules[state])
            elif uses.get(state, 0) > 1 and ways:
                body = builder.rule(self.name_of(merged, state), body)
            made[state] = body
        return rules

    def name_of(self, merged: Merged, state: State) -> str:
        return self.tables.rules[merged.rules[state] - self.tables.num_terminals]
