"""Small grammars that each stress one thing, and a vocabulary in which they can be written."""

from __future__ import annotations

from collections.abc import Callable

from grammars import Vocabulary
from grammars.ir import IR, Builder
from grammars.ir.charset import JSON_TEXT

END = 256


def byte_vocabulary(*more: bytes) -> Vocabulary:
    """Every byte by its own number, 256 the end token, then ``more``."""
    return Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None, *more], eos_token_ids=[END])


def sums() -> IR:
    """e = e "+" e | "a" | "(" e ")": left-recursive and ambiguous."""
    builder = Builder()
    rule = builder.declare_rule("e")
    e = builder.call(rule)
    builder.define_rule(
        rule,
        builder.alternation(
            builder.sequence(e, builder.literal("+"), e),
            builder.literal("a"),
            builder.sequence(builder.literal("("), e, builder.literal(")")),
        ),
    )
    return builder.finish(e)


def doubled() -> IR:
    """s = s s s | s s | "a": as ambiguous as can be."""
    builder = Builder()
    rule = builder.declare_rule("s")
    s = builder.call(rule)
    builder.define_rule(
        rule, builder.alternation(builder.sequence(s, s, s), builder.sequence(s, s), builder.literal("a"))
    )
    return builder.finish(s)


def palindromes() -> IR:
    """s = "a" s "a" | "a": every prefix may be the middle."""
    builder = Builder()
    rule = builder.declare_rule("s")
    a = builder.literal("a")
    builder.define_rule(rule, builder.alternation(builder.sequence(a, builder.call(rule), a), a))
    return builder.finish(builder.call(rule))


def hidden_left() -> IR:
    """e = n e "+" | empty, n = "b" | empty: left recursion behind an empty part."""
    builder = Builder()
    rule = builder.declare_rule("e")
    n = builder.rule("n", builder.optional(builder.literal("b")))
    builder.define_rule(rule, builder.optional(builder.sequence(n, builder.call(rule), builder.literal("+"))))
    return builder.finish(builder.call(rule))


def indirect_left() -> IR:
    """e = f "+" | "a", f = e "b" | e | "b"."""
    builder = Builder()
    e, f = builder.declare_rule("e"), builder.declare_rule("f")
    plus, b = builder.literal("+"), builder.literal("b")
    builder.define_rule(e, builder.alternation(builder.sequence(builder.call(f), plus), builder.literal("a")))
    builder.define_rule(f, builder.alternation(builder.sequence(builder.call(e), b), builder.call(e), b))
    return builder.finish(builder.call(e))


def nullable_loops() -> IR:
    """((a*)* (b*)*)* by rules, each of which may be empty."""
    builder = Builder()
    a = builder.rule("a", builder.repeat(builder.literal("a"), 0))
    b = builder.rule("b", builder.repeat(builder.literal("b"), 0))
    return builder.finish(builder.repeat(builder.sequence(builder.repeat(a, 0), builder.repeat(b, 0)), 0))


def strings(minimum: int, maximum: int | None) -> IR:
    """A JSON string of so many characters."""
    builder = Builder()
    escape = builder.sequence(builder.literal("\\"), builder.literals([b'"', b"\\", b"n"]))
    character = builder.alternation(builder.charset(JSON_TEXT), escape)
    quote = builder.literal('"')
    return builder.finish(builder.sequence(quote, builder.repeat(character, minimum, maximum), quote))


def lists() -> IR:
    """v = "[" (v ("," v)*)? "]": nesting."""
    builder = Builder()
    rule = builder.declare_rule("v")
    v = builder.call(rule)
    items = builder.optional(builder.sequence(v, builder.repeat(builder.sequence(builder.literal(","), v), 0)))
    builder.define_rule(rule, builder.sequence(builder.literal("["), items, builder.literal("]")))
    return builder.finish(v)


ALL: dict[str, Callable[[], IR]] = {
    "sums": sums,
    "doubled": doubled,
    "palindromes": palindromes,
    "hidden_left": hidden_left,
    "indirect_left": indirect_left,
    "nullable_loops": nullable_loops,
    "lists": lists,
    "strings": lambda: strings(0, None),
    "strings_2_9": lambda: strings(2, 9),
}
