"""Compiles every kernel ahead of time. Machine code is kept on disk: once after an install or upgrade is enough.

>>> warm_up()
"""

from __future__ import annotations

from typing import Any

from .compile import compile_ir, compile_json_schema, compile_regex
from .ir import IR, Builder
from .jit import is_compiled
from .limits import DEFAULT_LIMITS, Limits
from .masks.batch import BatchFiller
from .masks.walk import fill_bitmask
from .vocabulary import Vocabulary
from .vocabulary.bitmask import allocate_token_bitmask

__all__ = ["is_warm", "warm_up"]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "kinds": {"type": "array", "items": {"enum": ["a", "b"]}},
    },
    "required": ["name"],
}


def is_warm() -> bool:
    """Whether machine code for the kernels is on disk: else the first grammar takes seconds to compile."""
    return is_compiled(fill_bitmask)


def warm_up() -> None:
    """Run every kernel once, on grammars that between them need all of them."""
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), b"ab", None], eos_token_ids=[257])
    short = Vocabulary.from_bytes([b"a", b"ab", None], eos_token_ids=[2])
    compile_regex("a|ab", short).matcher().allowed_token_ids()
    for whitespace in ("indent=2", "any"):
        compiled = compile_json_schema(SCHEMA, vocabulary, whitespace=whitespace)
        matcher = compiled.matcher()
        matcher.forced_bytes()
        matcher.consume_bytes(b"{")
        bitmask = allocate_token_bitmask(8, vocabulary.size)
        with BatchFiller(threads=2) as filler:
            filler.fill([matcher, *(compiled.matcher() for _ in range(7))], bitmask)
    tight = compile_ir(_nested(), vocabulary, limits=Limits(max_configurations=40, max_cached_masks=2))
    matcher = tight.matcher()
    for byte in b"((((((a+a))))))" * 8:
        matcher.allowed_token_ids()
        if not matcher.try_consume([byte]):
            matcher.reset()


def _nested() -> IR:
    """e = e "+" e | "a" | "(" e ")" | a rule without an end: left recursion, unions of stacks, an unproductive part."""
    builder = Builder(limits=DEFAULT_LIMITS)
    rule, endless = builder.declare_rule("e"), builder.declare_rule("endless")
    e = builder.call(rule)
    builder.define_rule(endless, builder.sequence(builder.literal("a"), builder.call(endless)))
    sums = builder.sequence(e, builder.literal("+"), e)
    brackets = builder.sequence(builder.literal("("), e, builder.literal(")"))
    builder.define_rule(rule, builder.alternation(sums, builder.literal("a"), brackets, builder.call(endless)))
    return builder.finish(e)
