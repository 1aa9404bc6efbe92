"""What the tests of grammar texts share: matching through the intermediate form and the slow recogniser."""

from __future__ import annotations

from grammars.frontends.cfg import lower_gbnf
from grammars.ir import IR, Builder
from tests.reference.recogniser import accepts

__all__ = ["gbnf_ir", "gbnf_match"]


def gbnf_ir(text: str, *, start: str = "root") -> IR:
    builder = Builder()
    return builder.finish(lower_gbnf(text, builder, start=start))


def gbnf_match(grammar: str, text: str) -> bool:
    return accepts(gbnf_ir(grammar), text.encode())
