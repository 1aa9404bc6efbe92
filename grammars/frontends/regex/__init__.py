r"""Regular expressions: text to syntax tree (:func:`parse_regex`) to the intermediate form (:func:`lower_regex`).

The dialect ``python`` has the syntax and meaning of :mod:`re` on ``str``, with three things more: ``\p{...}``,
``\P{...}`` and ``(?<name>...)``. The dialect ``ecma`` is ECMAScript with the flag ``u``, as the keyword ``pattern`` of
JSON Schema has it; where that flag would refuse an escaped punctuation character or a lone brace, it stands for itself.
"""

from __future__ import annotations

from ...errors import RegexError
from ...ir.builder import Builder
from ...ir.nodes import NodeId
from ...ir.utf8 import utf8_fragment
from .ast import Dialect, Pattern
from .lower import Spelling, Undecided, lower_pattern
from .parser import parse_regex
from .search import search_pattern

__all__ = ["Dialect", "Spelling", "lower_regex", "lower_search", "parse_regex"]


def lower_regex(
    pattern: str, builder: Builder, *, dialect: Dialect = "python", spelling: Spelling = utf8_fragment
) -> NodeId:
    r"""The node that matches the texts which ``pattern`` matches as a whole, as :func:`re.fullmatch` would.

    ``spelling`` says how a character is written as bytes; the default is UTF-8. Raises
    :class:`~grammars.errors.RegexError` where the pattern is malformed or not supported, and
    :class:`~grammars.errors.LimitExceeded` beyond the limits of the builder.

    >>> builder = Builder()
    >>> node = lower_regex(r"\d{4}-\d\d", builder)
    """
    return _lower(parse_regex(pattern, dialect=dialect, limits=builder.limits), builder, spelling)


def lower_search(
    pattern: str, builder: Builder, *, dialect: Dialect = "ecma", spelling: Spelling = utf8_fragment
) -> NodeId:
    """The node that matches the texts in which ``pattern`` is found, as :func:`re.search` would.

    Everything else is as in :func:`lower_regex`.

    >>> builder = Builder()
    >>> lower_search("^a$", builder) == builder.literal("a")
    True
    """
    tree = parse_regex(pattern, dialect=dialect, limits=builder.limits)
    return _lower(search_pattern(tree), builder, spelling)


def _lower(tree: Pattern, builder: Builder, spelling: Spelling) -> NodeId:
    try:
        return lower_pattern(tree, builder, spelling)
    except Undecided as undecided:
        start, end = undecided.node.span.start, undecided.node.span.end
        message = f"assertion {tree.text[start:end]} is not supported at this place"
        raise RegexError(message, tree.text, start) from None
