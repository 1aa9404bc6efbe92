"""The hard cases: grammars and schemas that bring mask engines down, each with a long text of its language."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grammars.ir import IR, Builder, NodeId

from .engines import Engine, Grammar, Session

__all__ = ["CASES", "HardCase"]


@dataclass(frozen=True)
class HardCase:
    """A source that engines compile, and a text to feed: as the tokenizer cuts it, or byte by byte."""

    name: str
    compile: Callable[[Engine], Session]
    text: bytes
    byte_by_byte: bool = False


def _recursive(body: Callable[[Builder, NodeId], NodeId]) -> Callable[[], IR]:
    """A grammar of one rule; ``body`` gets a call of the rule itself."""

    def make() -> IR:
        builder = Builder()
        rule = builder.declare_rule("e")
        e = builder.call(rule)
        builder.define_rule(rule, body(builder, e))
        return builder.finish(e)

    return make


def _doubled(builder: Builder, e: NodeId) -> NodeId:
    return builder.alternation(builder.sequence(e, e), builder.literal("a"))


def _tripled(builder: Builder, e: NodeId) -> NodeId:
    return builder.alternation(builder.sequence(e, e, e), builder.sequence(e, e), builder.literal("a"))


def _palindromes(builder: Builder, e: NodeId) -> NodeId:
    a = builder.literal("a")
    return builder.alternation(builder.sequence(a, e, a), a)


def _sums(builder: Builder, e: NodeId) -> NodeId:
    return builder.alternation(
        builder.sequence(e, builder.literal("+"), e),
        builder.literal("a"),
        builder.sequence(builder.literal("("), e, builder.literal(")")),
    )


def _terms(builder: Builder, e: NodeId) -> NodeId:
    operators = builder.literals([b"+", b"-", b"*", b"/"])
    term = builder.alternation(builder.literal("a"), builder.sequence(builder.literal("("), e, builder.literal(")")))
    return builder.sequence(term, builder.repeat(builder.sequence(operators, e), 0))


def _lists(builder: Builder, e: NodeId) -> NodeId:
    more = builder.repeat(builder.sequence(builder.literal(","), e), 0)
    return builder.sequence(builder.literal("["), builder.optional(builder.sequence(e, more)), builder.literal("]"))


def _brackets(builder: Builder, e: NodeId) -> NodeId:
    inside = builder.sequence(builder.literal("("), builder.optional(e), builder.literal(")"))
    return builder.alternation(builder.sequence(e, e), inside)


KEYWORDS = ("if", "else", "while", "for", "return", "int", "float", "import", "in", "is")


def _words() -> IR:
    """Keywords and identifiers that look like them, separated by spaces."""
    builder = Builder()
    first, later = ((95, 95), (97, 122)), ((48, 57), (95, 95), (97, 122))
    identifier = builder.sequence(builder.charset(first), builder.repeat(builder.charset(later), 0))
    keywords = builder.literals([word.encode() for word in KEYWORDS])
    word = builder.alternation(keywords, builder.rule("identifier", identifier))
    return builder.finish(builder.repeat(builder.sequence(word, builder.literal(" ")), 0))


def _quoted(words: tuple[str, ...]) -> str:
    return " | ".join(f'"{word}"' for word in words)


def _grammar(ir: Callable[[], IR], lark: str, ebnf: str) -> Callable[[Engine], Session]:
    return lambda engine: engine.compile_grammar(Grammar(ir, lark, ebnf))


def _same(body: Callable[[Builder, NodeId], NodeId], rule: str) -> Callable[[Engine], Session]:
    """A grammar of one rule ``e`` that Lark and EBNF write alike."""
    return _grammar(_recursive(body), f"start: e\ne: {rule}\n", f"root ::= e\ne ::= {rule}\n")


def _schema(schema: Any) -> Callable[[Engine], Session]:
    return lambda engine: engine.compile(schema)


def _regex(pattern: str) -> Callable[[Engine], Session]:
    return lambda engine: engine.compile_regex(pattern)


def _closed(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _tool(index: int) -> dict[str, Any]:
    argument = {"type": "string", "maxLength": 10_000}
    return _closed({"name": {"const": f"tool_{index}"}, "argument": argument})


def _variant(index: int) -> dict[str, Any]:
    return _closed(
        {"kind": {"const": f"k{index}"}, f"f{index}": {"type": "integer"}, "name": {"type": "string"}},
        ["kind", f"f{index}"],
    )


def _chain() -> dict[str, Any]:
    """D0 holds D1 twice, D1 holds D2 twice, and so on: a million nodes when written out."""
    link = {f"D{i}": _closed({name: {"$ref": f"#/$defs/D{i + 1}"} for name in "ab"}, ["a"]) for i in range(20)}
    return {"$ref": "#/$defs/D0", "$defs": {**link, "D20": {"type": "integer"}}}


def _nested(depth: int, name: str, innermost: Any) -> Any:
    value = innermost
    for _ in range(depth):
        value = {name: value}
    return value


def _self_holding_value(depth: int) -> Any:
    return {f"p{i}": _self_holding_value(depth - 1) for i in range(0, 10, 4)} if depth else {}


def _dump(value: Any) -> bytes:
    return json.dumps(value).encode()


OPTIONAL = {f"prop_{i}": {"type": "integer"} for i in range(500)}
EVERY_THIRD = _dump({f"prop_{i}": i for i in range(0, 500, 3)})
WORDS = [f"value {i * 7919 % 100_003} of {i}" for i in range(5000)]
SELF_HOLDING = _closed({f"p{i}": {"$ref": "#"} for i in range(10)}, [])

CASES: tuple[HardCase, ...] = (
    HardCase('e -> e e | "a"', _same(_doubled, 'e e | "a"'), b"a" * 2000, True),
    HardCase("s -> s s s | s s | a", _same(_tripled, 'e e e | e e | "a"'), b"a" * 2000, True),
    HardCase("palindromes s -> a s a | a", _same(_palindromes, '"a" e "a" | "a"'), b"a" * 2001, True),
    HardCase("sums e -> e + e | a | ( e )", _same(_sums, 'e "+" e | "a" | "(" e ")"'), b"+".join([b"a"] * 1000), True),
    HardCase(
        "e -> t (op e)*",
        _grammar(
            _recursive(_terms),
            'start: e\ne: t (op e)*\nt: "a" | "(" e ")"\nop: "+" | "-" | "*" | "/"\n',
            'root ::= e\ne ::= t (op e)*\nt ::= "a" | "(" e ")"\nop ::= "+" | "-" | "*" | "/"\n',
        ),
        b"*".join([b"a"] * 1000),
        True,
    ),
    HardCase(
        "nested lists, 2,000 deep",
        _same(_lists, '"[" (e ("," e)*)? "]"'),
        b"[" * 2000 + b"]" * 2000,
        True,
    ),
    HardCase(
        "ambiguous brackets, 1,000 deep",
        _same(_brackets, 'e e | "(" e? ")"'),
        b"(" * 1000 + b")" * 1000,
        True,
    ),
    HardCase(
        "keywords and identifiers",
        _grammar(
            _words,
            f'start: (word " ")*\nword: KEYWORD | NAME\nKEYWORD: {_quoted(KEYWORDS)}\nNAME: /[_a-z][_a-z0-9]*/\n',
            f'root ::= (word " ")*\nword ::= {_quoted(KEYWORDS)} | [_a-z] [_a-z0-9]*\n',
        ),
        b"if iffy in inner is island for fort return returned " * 80,
    ),
    HardCase("regex .*", _regex(".*"), b"hello world, this is a test " * 100),
    HardCase("enum of 5,000", _schema({"enum": WORDS}), _dump(WORDS[1234])),
    HardCase("maxLength 10,000", _schema({"type": "string", "maxLength": 10_000}), _dump("hello world " * 800)),
    HardCase("minLength 200", _schema({"type": "string", "minLength": 200}), _dump("hello world " * 30)),
    HardCase(
        "union of 100 objects",
        _schema({"anyOf": [_variant(i) for i in range(100)]}),
        _dump({"kind": "k77", "f77": 5, "name": "hello world " * 20}),
    ),
    HardCase("500 optional properties, closed", _schema(_closed(OPTIONAL, [])), EVERY_THIRD),
    HardCase("500 optional properties, open", _schema({"type": "object", "properties": OPTIONAL}), EVERY_THIRD),
    HardCase(
        "30 tools, maxLength 10,000",
        _schema({"anyOf": [_tool(i) for i in range(30)]}),
        _dump({"name": "tool_3", "argument": "hello world " * 400}),
    ),
    HardCase("object in itself, 10 properties", _schema(SELF_HOLDING), _dump(_self_holding_value(5))),
    HardCase("$defs chain D0..D20", _schema(_chain()), _dump(_nested(20, "a", 12345))),
)
