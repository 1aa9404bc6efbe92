r"""Regular expressions: text to syntax tree (:func:`parse_regex`) to the intermediate form (:func:`lower_regex`).

The dialect ``python`` has the syntax and meaning of :mod:`re` on ``str``, with three things more: ``\p{...}``,
``\P{...}`` and ``(?<name>...)``. The dialect ``ecma`` is ECMAScript with the flag ``u``, as the keyword ``pattern`` of
JSON Schema has it; where that flag would refuse an escaped punctuation character or a lone brace, it stands for itself.
"""

from __future__ import annotations

from ...errors import LimitExceeded
from ...ir.builder import Builder
from ...ir.nodes import NodeId
from ...ir.regular import Dfa, Nfa, to_node
from .ast import Dialect, Pattern
from .automaton import pattern_automaton, pattern_nfa, regex_automaton
from .lower import Characters, lower_pattern
from .parser import parse_regex
from .search import search_pattern

__all__ = ["Characters", "Dialect", "lower_regex", "lower_search", "parse_regex", "regex_automaton"]


def lower_regex(
    pattern: str, builder: Builder, *, dialect: Dialect = "python", characters: Characters | None = None
) -> NodeId:
    r"""The node that matches the texts which ``pattern`` matches as a whole, as :func:`re.fullmatch` would.

    ``characters`` writes one character of a set of code points; the default is ``builder.charset`` (UTF-8). Raises
    :class:`~grammars.errors.RegexError` where the pattern is malformed or not supported, and
    :class:`~grammars.errors.LimitExceeded` beyond the limits of the builder.

    >>> builder = Builder()
    >>> lower_regex("a(?:bc)", builder) == builder.literal("abc")
    True
    """
    return _lower(parse_regex(pattern, dialect=dialect, limits=builder.limits), builder, characters)


def lower_search(
    pattern: str, builder: Builder, *, dialect: Dialect = "ecma", characters: Characters | None = None
) -> NodeId:
    """The node that matches the texts in which ``pattern`` is found, as :func:`re.search` would.

    Everything else is as in :func:`lower_regex`.

    >>> builder = Builder()
    >>> lower_search("^a$", builder) == builder.literal("a")
    True
    """
    tree = parse_regex(pattern, dialect=dialect, limits=builder.limits)
    return _lower(search_pattern(tree), builder, characters)


def _lower(tree: Pattern, builder: Builder, characters: Characters | None) -> NodeId:
    node = lower_pattern(tree, builder, characters)
    if node is not None:
        return node
    automaton: Dfa | Nfa
    try:
        automaton = pattern_automaton(tree, limits=builder.limits)
    except LimitExceeded:  # the nondeterministic form may be small all the same
        automaton = pattern_nfa(tree, limits=builder.limits)
    return to_node(automaton, builder, characters=characters)
