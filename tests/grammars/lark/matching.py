"""What the tests of Lark grammars share: our verdict, and that of the `lark` package."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import lark

import grammars
from grammars.frontends.cfg import lower_lark
from grammars.ir import IR, Builder

__all__ = ["BYTES", "GRAMMARS", "changed", "lark_ir", "our_verdict", "their_verdict"]

BYTES = grammars.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=[256])
GRAMMARS = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "grammars").glob("*.lark"))}

Verdict = Callable[[str], bool]


def lark_ir(text: str, *, start: str = "start") -> IR:
    builder = Builder()
    return builder.finish(lower_lark(text, builder, start=start))


def our_verdict(ir: IR) -> Verdict:
    """By the machine, byte by byte."""
    compiled = grammars.compile_ir(ir, BYTES)

    def accepts(text: str) -> bool:
        matcher = compiled.matcher()
        return matcher.consume_bytes(text.encode()) and matcher.is_accepting

    return accepts


def their_verdict(text: str, *, start: str = "start") -> Verdict:
    """By `lark`, with the parser and lexer that our grammars mean."""
    parser = lark.Lark(text, parser="lalr", lexer="contextual", start=start)

    def accepts(text: str) -> bool:
        try:
            parser.parse(text)
        except lark.exceptions.UnexpectedInput:
            return False
        return True

    return accepts


def changed(text: str, generator: random.Random) -> Iterator[str]:
    """The text with one, two and three small changes."""
    for count in (1, 2, 3):
        result = text
        for _ in range(count):
            place = generator.randint(0, len(result))
            letter = generator.choice(text + " \n(1a.\"'=_")
            kind = generator.randint(0, 3)
            if kind == 0:
                result = result[:place] + letter + result[place:]
            elif kind == 1:
                result = result[:place] + result[place + 1 :]
            elif kind == 2:
                result = result[:place] + letter + result[place + 1 :]
            else:
                result = result.replace(" ", "", 1)
        yield result
