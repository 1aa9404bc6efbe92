"""Where a text stands in a grammar: accepted, to be continued, or dead at a place; and what may come there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grammars import CompiledGrammar, Matcher
    from grammars.ir import IR

__all__ = ["Standing", "compile_for_bytes", "expected_next", "standing"]

_MOST_WAYS = 12
_LONGEST_WAY = 24
_MOST_SINGLE = 3
_SINGLE = len('"\\n"')  # of a single character in quotes
_MOST_MISSES = 2_000
_END = 256


@dataclass(frozen=True, slots=True)
class Standing:
    """``position`` is where the text stopped being possible (an index into it), or its length."""

    is_accepted: bool
    is_dead: bool
    position: int
    expected: str


def compile_for_bytes(ir: IR) -> CompiledGrammar:
    """The grammar for a vocabulary of the 256 bytes and its own special tokens. The kernels are compiled if need be."""
    import grammars

    tokens = [*(bytes([byte]) for byte in range(256)), None]
    names = {_shown(token): len(tokens) + index for index, token in enumerate(ir.specials)}
    tokens += [None] * len(names)
    vocabulary = grammars.Vocabulary.from_bytes(tokens, eos_token_ids=[_END], special_tokens=names)
    return grammars.compile_ir(replace(ir, specials=tuple(map(_shown, ir.specials))), vocabulary)


def _shown(token: str | int) -> str:
    return token if isinstance(token, str) else f"id {token}"


def standing(compiled: CompiledGrammar, text: str) -> Standing:
    """Where a text stands."""
    matcher = compiled.matcher()
    for position, character in enumerate(text):
        before = matcher.fork()
        if not matcher.consume_bytes(character.encode()):
            return Standing(False, True, position, expected_next(before))
    return Standing(matcher.is_accepting, False, len(text), expected_next(matcher))


def sampled_texts(ir: IR, seed: int) -> Iterator[str]:
    """Random members of the language, without end. What a grammar's guards do not agree to is left out.

    Raises :class:`grammars.errors.GrammarError` where nothing is found that they agree to.
    """
    from grammars.errors import GrammarError
    from grammars.ir.sentences import sample

    texts = (data.decode("utf-8", "backslashreplace") for data in sample(ir, seed=seed))
    if not ir.guards and not ir.registers:
        yield from texts  # without end
    compiled = compile_for_bytes(ir)
    misses = 0
    for text in texts:
        if standing(compiled, text).is_accepted:
            misses = 0
            yield text
        elif (misses := misses + 1) == _MOST_MISSES:
            raise GrammarError(
                f"none of {misses:,} random texts was one that the schema allows; sampling it is too hard"
            )


def expected_next(matcher: Matcher) -> str:
    """What may come next, for people: texts where there are few ways on, a class of characters where there are many.

    The matcher must be of a grammar that was compiled for bytes.
    """
    from grammars.ir.charset import from_ranges
    from grammars.ir.printer import character_class

    ids = matcher.allowed_token_ids()
    allowed = [byte for byte in ids if byte < _END]
    specials = matcher.grammar.vocabulary.special_tokens.items()
    plain = [byte for byte in allowed if byte < 0x80]
    ways = {byte: _way(matcher, byte) for byte in plain} if len(plain) <= _MOST_WAYS else {}
    single = [byte for byte in plain if len(ways.get(byte, "")) <= _SINGLE]
    parts = [way for byte, way in ways.items() if byte not in single or len(single) <= _MOST_SINGLE]
    if len(single) > _MOST_SINGLE or not ways:
        parts += [f"one of {character_class(from_ranges((byte, byte) for byte in single))}"] if single else []
    if len(plain) < len(allowed):
        parts.append("a character beyond ASCII")
    parts += [f"the special token {name!r}" for name, token_id in specials if token_id in ids]
    if matcher.is_accepting:
        parts.append("the end")
    if not parts:
        return "nothing, for no way on would end well"
    return ", ".join(parts[:-1]) + (" or " if len(parts) > 1 else "") + parts[-1]


def _way(matcher: Matcher, byte: int) -> str:
    """A byte and what is forced behind it."""
    from grammars.ir.printer import quoted

    after = matcher.fork()
    after.consume_bytes(bytes([byte]))
    whole = (bytes([byte]) + after.forced_bytes()).decode("utf-8", "ignore")
    return quoted(whole) if len(whole) <= _LONGEST_WAY else f"{quoted(whole[:_LONGEST_WAY])}..."
