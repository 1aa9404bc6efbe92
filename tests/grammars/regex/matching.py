"""What the tests of regular expressions share: matching through the intermediate form and the slow recogniser."""

from __future__ import annotations

from grammars.frontends.regex import lower_regex, lower_search
from grammars.ir import Builder
from grammars.ir.nodes import IR
from tests.reference.recogniser import accepts

__all__ = ["full_ir", "full_match", "search_ir"]


def full_ir(pattern: str, *, dialect: str = "python") -> IR:
    builder = Builder()
    return builder.finish(lower_regex(pattern, builder, dialect=dialect))


def search_ir(pattern: str, *, dialect: str = "ecma") -> IR:
    builder = Builder()
    return builder.finish(lower_search(pattern, builder, dialect=dialect))


def full_match(pattern: str, text: str, *, dialect: str = "python") -> bool:
    return accepts(full_ir(pattern, dialect=dialect), text.encode())
