"""Grammars of every kind, each with texts of its language, in the forms that the engines read."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import islice

from llguidance.gbnf_to_lark import any_to_lark

from constrained.combinators import seq, tool_calls, until
from grammars.ir import IR, Builder
from grammars.ir.printer import to_ebnf
from grammars.ir.sentences import sample
from grammars.library import grammar

from .engines import Engine, Grammar, Session
from .hard_grammars import HardCase

__all__ = ["cases"]

INVOICE = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "paid": {"type": "boolean"},
    },
    "required": ["vendor", "total", "paid"],
    "additionalProperties": False,
}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}

ARITHMETIC_LARK = """
start: sum
sum: product (("+" | "-") product)*
product: signed (("*" | "/") signed)*
signed: ("+" | "-") signed | power
power: atom ("**" signed)?
atom: NUMBER | "(" sum ")"
NUMBER: /(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+\\-]?[0-9]+)?/
%ignore " "
"""

THINK = f"""
start: "<think>" think "\\n" answer
think[lazy]: /(?s:.*)<\\/think>/
answer: %json {json.dumps(INVOICE)}
"""

TOOLS = f"""
start: "<tool_call>\\n" (invoice | city) "\\n</tool_call>"
invoice: "{{\\"name\\": \\"invoice\\", \\"arguments\\": " %json {json.dumps(INVOICE)} "}}"
city: "{{\\"name\\": \\"city\\", \\"arguments\\": " %json {json.dumps(CITY)} "}}"
"""


def _library(name: str) -> Callable[[], IR]:
    def lower() -> IR:
        builder = Builder()
        return builder.finish(grammar(name).lower(builder))

    return lower


def _compile(ir: Callable[[], IR], lark: str) -> Callable[[Engine], Session]:
    return lambda engine: engine.compile_grammar(Grammar(ir, lark, _ebnf(ir)))


@cache
def _ebnf(ir: Callable[[], IR]) -> str:
    return to_ebnf(ir())


def _sampled(name: str, lark: str, *, texts: int) -> list[HardCase]:
    """The longest of some random texts of a library grammar."""
    lower = _library(name)
    drawn = sorted(islice(sample(lower(), seed=4, soft_length=200), 40), key=len)[-texts:]
    return [HardCase(f"{name} {number}", _compile(lower, lark), text.strip()) for number, text in enumerate(drawn, 1)]


def cases() -> list[HardCase]:
    """All cases."""
    answer = {"vendor": "Lamp & Sons", "total": 1234.5, "paid": True}
    thought = "<think>" + "The vendor is named in the second line. " * 8 + "</think>\n" + json.dumps(answer)
    call = '<tool_call>\n{"name": "invoice", "arguments": ' + json.dumps(answer) + "}\n</tool_call>"
    think = seq("<think>", until("</think>"), "\n", INVOICE)
    tools = tool_calls({"invoice": INVOICE, "city": CITY}, required=True, free_text=False)
    return [
        *_sampled("sql_select", any_to_lark(grammar("sql_select").text), texts=3),
        *_sampled("python_expression", any_to_lark(grammar("python_expression").text), texts=3),
        *_sampled("arithmetic", ARITHMETIC_LARK, texts=3),
        HardCase("think, then answer", _compile(lambda: think.lower(whitespace="spaced"), THINK), thought.encode()),
        HardCase("tool call", _compile(lambda: tools.lower(whitespace="spaced"), TOOLS), call.encode()),
    ]
