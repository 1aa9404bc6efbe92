"""Strings: lengths in code points, formats, given values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from ...errors import GrammarError, Problem
from ...guards import ValidValue
from ...ir import NodeId
from ...ir.charset import Charset
from ...ir.regular import (
    BYTES,
    TEXT,
    Dfa,
    Nfa,
    counted_node,
    from_ir,
    lengths,
    minimise,
    rules_of,
    to_fragment,
    to_node,
)
from ...ir.utf8 import Fragment
from ..regex import lower_search
from .counts import times
from .formats import ALL_FORMATS
from .layout import Layout
from .prelude import Prelude, prelude_of
from .regex_format import regex_node
from .shapes import StringShape, TextRule
from .spelling import json_text
from .string_languages import format_language, rule_lengths, unmeasured, without

__all__ = ["constrained_string", "other_name", "string_language", "string_values"]

_MOST_COUNTED = 65_536
"""Characters that there must be at least; more are left to a guard, for there would be a configuration for each."""
_SHARE_CHARACTERS = 32
"""States of an automaton, or copies in a pattern, beyond which its sets of characters become rules."""
_MANY_STATES = 100
"""States beyond which an automaton is written as arrays, which is quicker."""
_FEW_RANGES = 4
"""Ranges of characters that need no rule of their own where no escape has to be read."""
_COUNTS = re.compile(r"[{,]([0-9]{1,6})\}")


def string_values(prelude: Prelude, values: Iterable[str]) -> NodeId:
    """Any of the given strings."""
    if prelude.every:
        return prelude.builder.json_strings(values, every_spelling=True, only_ascii=prelude.only_ascii)
    return prelude.builder.literals(json_text(value, only_ascii=prelude.only_ascii) for value in values)


def constrained_string(prelude: Prelude, shape: StringShape) -> NodeId | Problem:
    """The strings of a shape without given values, or why it is refused."""
    builder, quote = prelude.builder, prelude.quote
    if shape.minimum > _MOST_COUNTED:
        return Problem(shape.pointer, "minLength", f"more than {_MOST_COUNTED:,} characters to count")
    if not shape.rules and not shape.excluded:
        return builder.sequence(quote, _characters(prelude, shape.minimum, shape.maximum), quote)
    try:
        if not shape.rules:
            return _other_than(prelude, shape)
        rule = shape.rules[0]
        if rule.kind == "format" and ALL_FORMATS[rule.text].check is not None:
            return _judged(prelude, shape)
        if len(shape.rules) > 1 or not rule.holds or shape.excluded or not _lengths_hold(shape, rule):
            return string_language(prelude, unmeasured(shape), shape.minimum, shape.maximum)
        if rule.kind == "format":
            return builder.sequence(quote, _format(prelude, rule.text), quote)
        copies = max((int(number) for number in _COUNTS.findall(rule.text)), default=0)
        characters = _characters_of(prelude, copies)
        return builder.sequence(quote, lower_search(rule.text, builder, characters=characters), quote)
    except GrammarError as error:
        keyword = shape.rules[0].kind if shape.rules else "maxLength"
        return Problem(shape.pointer, keyword, str(error))


def _judged(prelude: Prelude, shape: StringShape) -> NodeId:
    """Strings of a format that is no finite automaton: what is written is right; what is read is checked in the end."""
    rule = shape.rules[0]
    if len(shape.rules) > 1 or not rule.holds or shape.excluded:
        raise GrammarError(f"the format {rule.text!r} together with other keywords")
    check = ALL_FORMATS[rule.text].check
    assert check is not None
    behind = prelude.builder.guard(ValidValue(f"format {rule.text}", check))
    if rule.text == "regex":
        return _regex(prelude, shape, behind)
    language = format_language(rule.text, every=prelude.every)
    node = string_language(prelude, language, shape.minimum, shape.maximum)
    return prelude.builder.sequence(node, behind) if prelude.every else node


def _regex(prelude: Prelude, shape: StringShape, behind: NodeId) -> NodeId:
    """Regular expressions: those of the grammar, and all others where they are read."""
    if shape.minimum or shape.maximum is not None:
        raise GrammarError("the format 'regex' together with lengths")
    builder, quote = prelude.builder, prelude.quote
    whole = builder.rule("regex", regex_node(builder, _characters_of(prelude, _SHARE_CHARACTERS + 1)))
    written = builder.sequence(quote, whole, quote)
    return builder.alternation(written, builder.sequence(prelude.string, behind)) if prelude.every else written


def _characters(prelude: Prelude, minimum: int, maximum: int | None) -> NodeId:
    """So many characters."""
    return times(prelude.builder, prelude.character, minimum, maximum, flat=_MOST_COUNTED)


def string_language(prelude: Prelude, language: Dfa, minimum: int = 0, maximum: int | None = None) -> NodeId:
    """The members of an automaton over text as whole JSON strings; those of some lengths."""
    quote, builder = prelude.quote, prelude.builder
    if not minimum and maximum is None:
        characters = _characters_of(prelude, len(language.accepting))
        if len(language.accepting) > _MANY_STATES:
            return builder.sequence(quote, rules_of(language, builder, characters), quote)
        return builder.sequence(quote, to_node(language, builder, characters=characters), quote)
    characters = _characters_of(prelude, len(language.accepting) + (minimum if maximum is None else maximum))
    return builder.sequence(quote, counted_node(language, minimum, maximum, builder, characters=characters), quote)


def _characters_of(prelude: Prelude, copies: int) -> Callable[[Charset], NodeId]:
    """How one of a set of characters is written where there may be so many copies of it.

    Many copies call a rule: spelled out, every range of bytes (and every escape) would stand in each.
    """
    if copies <= _SHARE_CHARACTERS:
        return prelude.characters
    known: dict[Charset, NodeId] = {}

    def character(members: Charset) -> NodeId:
        node = known.get(members)
        if node is None:
            node = prelude.characters(members)
            if prelude.every or len(members) > _FEW_RANGES:
                node = prelude.builder.rule("character", node)
            known[members] = node
        return node

    return character


def _lengths_hold(shape: StringShape, rule: TextRule) -> bool:
    """Whether every string of the rule has a length that the shape allows."""
    minimum, maximum = shape.minimum, shape.maximum
    if not minimum and maximum is None:
        return True
    if rule.kind == "format":
        known = ALL_FORMATS[rule.text]
        if minimum <= known.shortest and (maximum is None or (known.longest is not None and known.longest <= maximum)):
            return True
    span = rule_lengths(rule)
    return span is None or (minimum <= span[0] and (maximum is None or (span[1] is not None and span[1] <= maximum)))


def _other_than(prelude: Prelude, shape: StringShape) -> NodeId:
    """Strings of some lengths that are none of the excluded ones."""
    minimum, maximum = shape.minimum, shape.maximum
    excluded = [text for text in shape.excluded if minimum <= len(text) and (maximum is None or len(text) <= maximum)]
    if not minimum and maximum is None:
        return other_name(prelude, excluded)
    builder, quote = prelude.builder, prelude.quote
    if not excluded:
        return builder.sequence(quote, _characters(prelude, minimum, maximum), quote)
    longest = max(map(len, excluded))  # what is longer than any of them needs no automaton
    short = without(lengths(TEXT, minimum, longest if maximum is None else min(longest, maximum)), tuple(excluded))
    ways = [to_node(short, builder, characters=prelude.characters)]
    if maximum is None or maximum > longest:
        ways.append(_characters(prelude, max(longest + 1, minimum), maximum))
    return builder.sequence(quote, builder.alternation(*ways), quote)


def _format(prelude: Prelude, name: str) -> NodeId:
    """The strings of a format without quotes."""
    builder, every = prelude.builder, prelude.every
    if name == "idn-email":  # its letters are too many to be spelled in one automaton
        language = format_language(name, every=every)
        return rules_of(language, builder, _characters_of(prelude, len(language.accepting)))
    if not every or name not in ("time", "date-time"):
        return builder.fragment(_format_fragment(name, every, prelude.only_ascii))
    leap = format_language("leap-time")  # spelled in every way it would be a very large fragment
    rare = rules_of(leap, builder, _characters_of(prelude, len(leap.accepting)))
    time = builder.alternation(builder.fragment(_format_fragment("plain-time", every, prelude.only_ascii)), rare)
    if name == "time":
        return time
    return builder.sequence(builder.fragment(_format_fragment("date-and-t", every, prelude.only_ascii)), time)


@lru_cache(maxsize=64)
def _format_fragment(name: str, every: bool, only_ascii: bool) -> Fragment:
    """The strings of a format without quotes, made once."""
    layout = Layout.from_text("any" if every else "compact")
    prelude = prelude_of(layout, integral_fractions=True, only_ascii=only_ascii)
    return to_fragment(minimise(_spelled(format_language(name, every=every), prelude)))


def _spelled(language: Dfa, prelude: Prelude) -> Dfa:
    """The automaton over the bytes that spell the members of an automaton over text."""
    nfa = Nfa(BYTES)
    for _ in language.accepting:
        nfa.add_state()
    known: dict[int, Dfa] = {}  # sets by identity: equal ones are one object
    for state, ways in enumerate(language.edges()):
        for target, members in ways:
            spelling = known.get(id(members))
            if spelling is None:
                spelling = known[id(members)] = from_ir(prelude.builder.finish(prelude.characters(members)))
            places = {place: target for place, ends in enumerate(spelling.accepting.tolist()) if ends}
            places[spelling.start] = state
            for source, out in enumerate(spelling.edges()):
                for after, some in out:
                    first, last = (
                        places[one] if one in places else places.setdefault(one, nfa.add_state())
                        for one in (source, after)
                    )
                    nfa.add_edge(first, some, last)
    nfa.starts.append(language.start)
    nfa.finals.update(state for state, ends in enumerate(language.accepting.tolist()) if ends)
    return nfa.determinise()


def other_name(prelude: Prelude, names: Sequence[str]) -> NodeId:
    """A whole string that is none of ``names``, after unescaping."""
    if not names:
        return prelude.string
    return prelude.builder.other_json_strings(names, every_spelling=prelude.every, only_ascii=prelude.only_ascii)
