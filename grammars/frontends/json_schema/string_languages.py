"""Strings as finite automata over code points: patterns, formats and lengths, combined and asked questions.

All automata are kept, so that a pattern that comes often is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ...errors import GrammarError, LimitExceeded
from ...ir import Builder
from ...ir.regular import (
    TEXT,
    Dfa,
    complement,
    difference,
    from_ir,
    has_length,
    intersection,
    length_range,
    lengths,
    meet,
    minimise,
    one_of,
    text_from_bytes,
    union,
)
from ..regex import parse_regex, regex_automaton
from ..regex.automaton import pattern_nfa
from ..regex.search import search_pattern
from .formats import ALL_FORMATS
from .shapes import StringShape, TextRule

__all__ = [
    "ALL_TEXT",
    "any_of",
    "cut",
    "either",
    "follows",
    "follows_pattern",
    "format_language",
    "join",
    "language_of",
    "pattern_fault",
    "pattern_language",
    "rule_language",
    "rule_lengths",
    "share_a_text",
    "unmeasured",
    "within",
    "without",
]

_MAX_PRODUCT = 40_000
"""States of a product with lengths; beyond this it is refused."""
ALL_TEXT = lengths(TEXT, 0)


def pattern_language(pattern: str) -> Dfa:
    """All texts in which an ECMA-262 pattern is found. Raises GrammarError: malformed, or too large."""
    found = _pattern_language(pattern)
    if isinstance(found, GrammarError):
        raise found
    return found


@lru_cache(maxsize=1024)
def _pattern_language(pattern: str) -> Dfa | GrammarError:
    try:
        return regex_automaton(pattern, dialect="ecma", search=True)
    except GrammarError as error:  # kept, for it may have taken long to find out
        return error.with_traceback(None)


@lru_cache(maxsize=4096)
def pattern_fault(pattern: str) -> str | None:
    """What is wrong with an ECMA-262 pattern, if anything."""
    try:
        parse_regex(pattern, dialect="ecma")
    except GrammarError as error:
        return str(error)
    return None


@lru_cache(maxsize=64)
def format_language(name: str, *, every: bool = True) -> Dfa:
    """All strings of a format; without ``every`` no lower-case t and z in times."""
    from .formats import plain_format

    builder = Builder()
    return minimise(text_from_bytes(from_ir(builder.finish(plain_format(builder, name, every=every)))))


@lru_cache(maxsize=1024)
def rule_language(rule: TextRule) -> Dfa:
    """All texts that follow one rule."""
    if _check_of(rule) is not None:
        raise GrammarError(f"the format {rule.text!r} is no finite automaton")
    language = pattern_language(rule.text) if rule.kind == "pattern" else format_language(rule.text)
    return language if rule.holds else complement(language)


def follows_pattern(value: str, pattern: str) -> bool:
    """Whether an ECMA-262 pattern is found in the text."""
    return pattern_language(pattern).accepts(map(ord, value))


def follows(value: str, rules: tuple[TextRule, ...]) -> bool:
    """Whether the text follows all rules."""
    if not rules:
        return True
    codes = list(map(ord, value))
    for rule in rules:
        check = _check_of(rule)
        if (rule_language(rule).accepts(codes) if check is None else check(value) == rule.holds) is False:
            return False
    return True


def _check_of(rule: TextRule) -> Callable[[str], bool] | None:
    """What tells the members of a format that is no finite automaton."""
    return ALL_FORMATS[rule.text].check if rule.kind == "format" else None


@lru_cache(maxsize=1024)
def rule_lengths(rule: TextRule) -> tuple[int, int | None] | None:
    """The shortest and the longest text of a rule; ``None``: there is none."""
    return length_range(rule_language(rule))


@lru_cache(maxsize=512)
def join(left: Dfa, right: Dfa) -> Dfa:
    """The members of both, as a small automaton."""
    return minimise(intersection(left, right))


@lru_cache(maxsize=512)
def cut(left: Dfa, right: Dfa) -> Dfa:
    """The members of the first that are not in the second, as a small automaton."""
    return minimise(difference(left, right))


@lru_cache(maxsize=512)
def either(left: Dfa, right: Dfa) -> Dfa:
    """The members of either, as a small automaton."""
    return minimise(union(left, right))


def within(language: Dfa, minimum: int, maximum: int | None) -> Dfa:
    """The members of these lengths."""
    span = length_range(language)
    if span is None or (minimum <= span[0] and (maximum is None or (span[1] is not None and span[1] <= maximum))):
        return language
    longest = minimum if maximum is None else maximum
    if len(language.accepting) * longest > _MAX_PRODUCT:
        raise LimitExceeded("max_states", _MAX_PRODUCT, "a pattern or format together with minLength or maxLength")
    return intersection(language, lengths(TEXT, minimum, maximum))


@lru_cache(maxsize=512)
def without(language: Dfa, texts: tuple[str, ...]) -> Dfa:
    """The members but for these texts."""
    return difference(language, one_of(TEXT, [map(ord, text) for text in texts])) if texts else language


@lru_cache(maxsize=512)
def _unmeasured(rules: tuple[TextRule, ...], excluded: tuple[str, ...], values: tuple[str, ...] | None) -> Dfa:
    if values is not None:
        return one_of(TEXT, [map(ord, value) for value in values])
    language = ALL_TEXT
    for rule in rules:
        language = rule_language(rule) if language is ALL_TEXT else join(language, rule_language(rule))
    return without(language, excluded)


def unmeasured(shape: StringShape) -> Dfa:
    """All strings of a shape but for its lengths. Raises :class:`~grammars.errors.GrammarError` where too large."""
    if shape.verbatim:
        raise GrammarError("x-verbatim where only the language of a string counts; leave it out there")
    return _unmeasured(shape.rules, shape.excluded, shape.values)


@lru_cache(maxsize=512)
def _measured(language: Dfa, minimum: int, maximum: int | None) -> Dfa:
    return within(language, minimum, maximum)


def language_of(shape: StringShape) -> Dfa:
    """All strings of a shape. Raises :class:`~grammars.errors.GrammarError` where that is too large."""
    return _measured(unmeasured(shape), shape.minimum, shape.maximum)


def share_a_text(left: StringShape, right: StringShape) -> bool:
    """Whether some string is in both; also where that would be too large to tell."""
    try:
        language = join(_at_least(left), _at_least(right))
    except GrammarError:
        return _may_share(left, right) and _may_share(right, left)
    ends = [end for end in (left.maximum, right.maximum) if end is not None]
    return has_length(language, max(left.minimum, right.minimum), min(ends) if ends else None)


def _at_least(shape: StringShape) -> Dfa:
    """All strings of a shape but for its lengths, perhaps more: of formats that are no automaton, what steers them."""
    rules = tuple(rule for rule in shape.rules if _check_of(rule) is None)
    language = _unmeasured(rules, shape.excluded, shape.values)
    for rule in shape.rules:
        if rule not in rules and rule.holds and rule.text != "regex":
            language = join(language, format_language(rule.text))
    return language


def _may_share(large: StringShape, small: StringShape) -> bool:
    """Whether a pattern of the first, which may be too large to determinise, has a text of the second."""
    try:
        language = language_of(small)
    except GrammarError:
        return True
    for rule in large.rules:
        if rule.kind == "pattern" and rule.holds:
            nfa = pattern_nfa(search_pattern(parse_regex(rule.text, dialect="ecma")))
            if not meet(nfa, language):
                return False
    return True


def any_of(shapes: tuple[StringShape, ...]) -> Dfa:
    """The strings of any of the shapes."""
    if not shapes:
        return one_of(TEXT, [])
    language = language_of(shapes[0])
    for shape in shapes[1:]:
        language = either(language, language_of(shape))
    return language
