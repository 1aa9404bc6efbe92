"""What every schema shares: strings, numbers, and values without constraint, built once for each layout and copied."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from ...guards import DistinctNames
from ...ir import Builder, NodeId
from ...ir.charset import ANY, Charset
from ...ir.verbatim import Unit, Verbatim
from . import number_parts
from .layout import DEEPEST_INDENT, ON_ONE_LINE, Layout, Punctuation
from .spelling import all_escapes, by_number, canonical_escapes, hex_fragment, json_text, raw_characters

__all__ = ["Frame", "Prelude", "prelude_of", "verbatim_string"]


@dataclass(frozen=True, slots=True)
class Frame:
    """The nodes around the members of an object or the items of an array at one depth."""

    open_object: NodeId
    open_array: NodeId
    comma: NodeId
    colon: NodeId
    close_object: NodeId
    close_array: NodeId
    empty_object: NodeId
    empty_array: NodeId
    fixed: Punctuation | None
    """The same as bytes, where no whitespace is free."""


@dataclass(slots=True)
class Prelude:
    """A builder and the nodes of its shared rules (valid in any copy of the builder)."""

    builder: Builder
    layout: Layout
    every: bool
    """Whether every spelling of strings and numbers is taken, not just the canonical one."""
    only_ascii: bool
    """Whether characters beyond ASCII are written by number."""
    integral_fractions: bool
    """Whether ``1.0`` is an integer (in all drafts but the fourth)."""
    whitespace: NodeId
    quote: NodeId
    character: NodeId
    """One character of a string, spelled."""
    rest_of_string: NodeId
    """Any text and the closing quote."""
    string: NodeId
    integer: NodeId
    number: NodeId
    value_string: NodeId
    """Any string as a value; names are ``string``."""
    verbatim: Unit | None = None
    """Whether strings as values must be taken from the source."""
    frames: dict[int, Frame] = field(default_factory=dict)
    values: dict[int, NodeId] = field(default_factory=dict)
    objects: dict[int, NodeId] = field(default_factory=dict)
    arrays: dict[int, NodeId] = field(default_factory=dict)

    def with_builder(self, builder: Builder) -> Prelude:
        """The same shared nodes, for a copy of the builder that goes on to grow."""
        return Prelude(
            builder,
            self.layout,
            self.every,
            self.only_ascii,
            self.integral_fractions,
            self.whitespace,
            self.quote,
            self.character,
            self.rest_of_string,
            self.string,
            self.integer,
            self.number,
            self.value_string,
            self.verbatim,
            self.frames.copy(),
            self.values,
            self.objects,
            self.arrays,
        )

    def frame(self, depth: int) -> Frame:
        """The punctuation at a depth."""
        frame = self.frames.get(depth)
        if frame is None:
            frame = self.frames[depth] = _frame(self.builder, self.layout, self.whitespace, depth)
        return frame

    def free_depth(self, depth: int) -> int:
        """Where values without constraint stand: below the deepest indent they stay on one line."""
        return ON_ONE_LINE if depth > DEEPEST_INDENT else depth

    def characters(self, members: Charset) -> NodeId:
        """One of the members, spelled as a character of a string."""
        return _characters(self.builder, members, every=self.every, only_ascii=self.only_ascii)

    def text(self, text: str) -> NodeId:
        """This text as a whole string, quotes included."""
        if self.every:
            return self.builder.json_strings((text,), every_spelling=True, only_ascii=self.only_ascii)
        return self.builder.literal(json_text(text, only_ascii=self.only_ascii))


def prelude_of(
    layout: Layout, *, integral_fractions: bool, only_ascii: bool = False, verbatim: Unit | None = None
) -> Prelude:
    """The shared rules of a layout with a fresh copy of their builder."""
    shared = _build(layout, integral_fractions, only_ascii, verbatim)
    return shared.with_builder(shared.builder.copy())


def verbatim_string(builder: Builder, unit: Unit, *, only_ascii: bool) -> NodeId:
    """A whole string that is taken from the source."""
    quote = builder.literal(b'"')
    return builder.sequence(
        quote, builder.verbatim(Verbatim(None, unit, "ascii_json" if only_ascii else "json")), quote
    )


def _characters(builder: Builder, members: Charset, *, every: bool, only_ascii: bool) -> NodeId:
    """One of the members, spelled as a character of a string."""
    raw = builder.charset(raw_characters(members, only_ascii=only_ascii))
    if every:
        escapes = map(builder.literal, all_escapes(members))
        return builder.alternation(raw, *escapes, builder.fragment(hex_fragment(members)))
    escapes = map(builder.literal, canonical_escapes(members))
    if only_ascii:
        numbers = builder.fragment(hex_fragment(by_number(members), either_case=False))
        return builder.alternation(raw, *escapes, numbers)
    return builder.alternation(raw, *escapes)


def _frame(builder: Builder, layout: Layout, whitespace: NodeId, depth: int) -> Frame:
    literal = builder.literal
    if layout.is_fixed:
        fixed = layout.punctuation(depth)
        return Frame(
            literal(fixed.open_object),
            literal(fixed.open_array),
            literal(fixed.comma),
            literal(fixed.colon),
            literal(fixed.close_object),
            literal(fixed.close_array),
            literal(b"{}"),
            literal(b"[]"),
            fixed,
        )
    sequence = builder.sequence
    return Frame(
        sequence(literal(b"{"), whitespace),
        sequence(literal(b"["), whitespace),
        sequence(whitespace, literal(b","), whitespace),
        sequence(whitespace, literal(b":"), whitespace),
        sequence(whitespace, literal(b"}")),
        sequence(whitespace, literal(b"]")),
        sequence(literal(b"{"), whitespace, literal(b"}")),
        sequence(literal(b"["), whitespace, literal(b"]")),
        None,
    )


def _whitespace(builder: Builder, layout: Layout) -> NodeId:
    if layout.whitespace == "any":
        return builder.repeat(builder.charset(((9, 10), (13, 13), (32, 32))), 0)
    if layout.whitespace == "flexible":
        indent = builder.repeat(builder.literals((b" ", b"\t")), 0, 64)
        line = builder.sequence(builder.literals((b"\n", b"\r\n")), indent)
        return builder.alternation(builder.epsilon, builder.literal(b" "), line)
    return builder.epsilon


@lru_cache(maxsize=64)
def _build(layout: Layout, integral_fractions: bool, only_ascii: bool, verbatim: Unit | None) -> Prelude:
    builder = Builder()
    every = layout.whitespace == "any"
    quote = builder.literal(b'"')

    def rule(name: str, body: NodeId) -> NodeId:
        number = builder.declare_rule(name)
        builder.define_rule(number, body)
        return builder.call(number)

    character = _characters(builder, ANY, every=every, only_ascii=only_ascii)
    rest = builder.sequence(builder.repeat(character, 0), quote)
    rest_of_string = rule("rest of string", rest)
    string = rule("string", builder.sequence(quote, rest))
    prelude = Prelude(
        builder,
        layout,
        every,
        only_ascii,
        integral_fractions,
        _whitespace(builder, layout),
        quote,
        character,
        rest_of_string,
        string,
        rule("integer", number_parts.integer(builder, every=every, pointed=integral_fractions)),
        rule("number", number_parts.any_number(builder, every=every)),
        string if verbatim is None else verbatim_string(builder, verbatim, only_ascii=only_ascii),
        verbatim,
    )
    _build_values(prelude)
    return prelude


def _build_values(prelude: Prelude) -> None:
    """Values without constraint at every depth that has its own indent."""
    builder, layout = prelude.builder, prelude.layout
    depths = [ON_ONE_LINE] if layout.indent is None else [*range(DEEPEST_INDENT + 1), ON_ONE_LINE]
    value_rules = {depth: builder.declare_rule(f"value at {depth}") for depth in depths}
    plain = builder.literals((b"null", b"true", b"false"))
    for depth in depths:
        frame = prelude.frame(depth)
        inside = builder.call(value_rules[prelude.free_depth(layout.inside(depth))])
        member = builder.sequence(prelude.string, builder.guard(DistinctNames()), frame.colon, inside)
        for name, item, opening, closing, empty, table in (
            ("object", member, frame.open_object, frame.close_object, frame.empty_object, prelude.objects),
            ("array", inside, frame.open_array, frame.close_array, frame.empty_array, prelude.arrays),
        ):
            more = builder.repeat(builder.sequence(frame.comma, item), 0)
            rule = builder.declare_rule(f"{name} at {depth}")
            builder.define_rule(rule, builder.alternation(empty, builder.sequence(opening, item, more, closing)))
            table[depth] = builder.call(rule)
        value = builder.alternation(
            plain, prelude.number, prelude.value_string, prelude.objects[depth], prelude.arrays[depth]
        )
        builder.define_rule(value_rules[depth], value)
        prelude.values[depth] = builder.call(value_rules[depth])
