"""Whole documents that start with a given text, found by what an engine accepts; and their judges."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jsonschema.validators import Draft202012Validator, validator_for

from .followers import SEPARATORS, Follower, Lab

__all__ = ["Position", "canonical_value", "complete", "floats_of", "judge", "repeats_names", "where_of"]

TRIES, STEPS = 8, 1000  # of the search for a complete document
PLAIN = b"0123456789abcdefghijklmnopqrstuvwxyz.:/@-"  # bytes that the search prefers to others
CLOSERS = (rb"[}\]]", rb'[",]')


@dataclass
class Position:
    """Where both engines stand after the same tokens."""

    schema: Any
    schema_name: str
    layout: str
    token_ids: list[int]
    text: bytes
    rest: bytes  # of the instance
    ours: Follower
    theirs: Follower

    def sides(self, wider: str) -> tuple[Follower, Follower]:
        """The engine that allows more here, and the other."""
        return (self.ours, self.theirs) if wider == self.ours.name else (self.theirs, self.ours)


# -- a complete document ------------------------------------------------------------------------------------------


def complete(allowing: Follower, position: Position, token: bytes, lab: Lab) -> Iterator[bytes]:
    """Whole texts that the engine accepts, with this token after the text so far; none if the search finds none."""
    start = allowing.fork()
    if not start.feed(token):
        return
    found = False
    in_string = where_of(position.text).startswith(("names", "strings"))
    fillers = [b"0" * count for count in range(5)]  # the digits that an escape or a number still needs
    if in_string:
        fillers = [filler for filler in fillers if start.count_taken(filler + b'"') > len(filler)][:1] or [b""]
    for tail in dict.fromkeys(_tails(position, fillers)):
        if start.accepts(tail):
            found = True
            yield position.text + token + tail
    generator = random.Random(0)
    for _ in range(0 if found else TRIES):
        added = _walk(start.fork(), lab, generator)
        if added is not None:
            yield position.text + token + added


def _tails(position: Position, fillers: list[bytes]) -> Iterator[bytes]:
    """How the text may go on after the token: as the instance does, in one way or another."""
    text, rest = position.text, position.rest
    ends = [rest[found.start() :] for pattern in CLOSERS for found in [*re.finditer(pattern, rest[:2000])][:12]]
    where = where_of(text)
    written = text[text.rindex(b'"') + 1 :] if where.startswith(("names", "strings")) else b""
    yield rest
    yield written + rest  # a pattern may want its text once more
    if where.startswith("names"):  # finish a name of its own; then the instance's, or the end of the object
        comma, colon = SEPARATORS[position.layout]
        for filler in fillers:
            for value in (b"0", b'"0"', b"{}", b"[]", b"true"):
                named = filler + f'"{colon}'.encode() + value
                yield named + comma.encode() + b'"' + written + rest
                yield from (named + tail for tail in ends)
    for filler in (*fillers, b".0", *_pieces_of_patterns(position.schema)):  # .0: names of files, hosts, versions
        yield filler + rest
        yield from (filler + tail for tail in ends)
    for length in range(1, 33):
        yield text[-length:] + rest
        yield rest[length:]


def _pieces_of_patterns(schema: Any) -> list[bytes]:
    """What patterns of the schema spell out, for texts that must hold it."""
    found = re.findall(r'"pattern": ("(?:[^"\\\\]|\\\\.)*")', json.dumps(schema))
    pieces = [piece for text in found for piece in re.findall(r"[A-Za-z0-9_/ -]{2,}", json.loads(text))]
    return [piece.encode() for piece in dict.fromkeys(pieces)][:20]


def _walk(follower: Follower, lab: Lab, generator: random.Random) -> bytes | None:
    """Follow the engine's own masks byte by byte, closing what can be closed, until the text may end."""
    written = bytearray()
    for _ in range(STEPS):
        if follower.is_accepting:
            return bytes(written)
        choices = lab.allowed_bytes(follower.bitmask())
        if not choices:
            return None
        closing = [byte for byte in choices if byte in b'"}]']
        plain = [byte for byte in choices if byte in PLAIN] or choices
        byte = generator.choice(closing if closing and generator.random() < 0.9 else plain)
        if not follower.feed(bytes([byte])):
            return None
        written.append(byte)
    return None


# -- judges -------------------------------------------------------------------------------------------------------


def judge(document: bytes, schema: Any) -> tuple[str, ...]:
    """What is wrong with a document: ("json",) or the keywords that fail; nothing if it is valid.

    Of a name that stands twice the last value counts, as `json` has it.
    """
    try:
        value = json.loads(document, parse_constant=_no_constant)
    except ValueError:
        return ("json",)
    validator_class = validator_for(schema, default=Draft202012Validator)
    validator = validator_class(schema, format_checker=validator_class.FORMAT_CHECKER)
    return tuple(sorted({str(error.validator) for error in validator.iter_errors(value)}))


def repeats_names(document: bytes) -> bool:
    """Whether an object of the document has a name twice; False for what is no JSON.

    >>> repeats_names(b'[{"a": 1, "b": {"a": 2}}]'), repeats_names(b'{"a": 1, "a": 2}')
    (False, True)
    """
    repeated: list[bool] = []
    try:
        json.loads(document, object_pairs_hook=lambda pairs: repeated.append(len(dict(pairs)) < len(pairs)))
    except ValueError:
        return False
    return any(repeated)


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


# -- reading documents --------------------------------------------------------------------------------------------


def canonical_value(value: Any, *, floats: frozenset[float] = frozenset()) -> Any:
    """The value with whole numbers as integers, but for those of ``floats``, which are written with a point."""
    if isinstance(value, dict):
        return {name: canonical_value(part, floats=floats) for name, part in value.items()}
    if isinstance(value, list):
        return [canonical_value(part, floats=floats) for part in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1 or abs(value) > 1e15:
        return value
    return float(value) if value in floats else int(value)


def floats_of(schema: Any) -> frozenset[float]:
    """The whole numbers that the schema itself writes with a point."""
    if isinstance(schema, float):
        return frozenset({schema} if schema.is_integer() else ())
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return frozenset(number for part in parts for number in floats_of(part))


def where_of(text: bytes) -> str:
    """What the end of this beginning of a JSON text is a part of."""
    in_string, escaped, opened, start, expects_name = False, False, [], 0, False
    for index, byte in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string, start = True, index
        elif byte in b"{[":
            opened.append(byte)
            expects_name = byte == 0x7B
        elif byte in b"}]" and opened:
            opened.pop()
        elif byte == 0x2C:
            expects_name = bool(opened) and opened[-1] == 0x7B
        elif byte == 0x3A:
            expects_name = False
    if in_string:
        return ("names" if expects_name else "strings") + (" (escapes)" if b"\\" in text[start:] else "")
    return "numbers" if re.search(rb"[0-9-][0-9.eE+-]*$", text) else "punctuation"
