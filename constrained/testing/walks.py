"""Random walks over token bitmasks: what a model with logits of its own, or an adversary, may be led to write."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from grammars import Matcher, Vocabulary

__all__ = ["POLICIES", "Policy", "Walk", "random_walk", "walking_vocabulary"]

_MERGED = (
    *(
        "a",
        "ab",
        "abc",
        'q\\"',
        "é",
        "x-1",
        '": ',
        '":',
        "', \"",
        ',"',
        '"}',
        '"]',
        '{"',
        "{}",
        "[]",
        "[[",
        "true",
        "false",
    ),
    *("null", "00", "10", "1.", "e1", ".5", "  ", "\n  ", "\n    ", "\\u00", '", ', "},", "],", '"a"', '"a":', '"b":1'),
    *("[1,", "2024-", "::"),
)

Policy = Callable[[bytes, bytes], float]
"""The weight of a token behind the text so far."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk wrote, and how."""

    text: bytes
    token_ids: tuple[int, ...]
    finished: bool
    """Whether it ended with an end token."""
    num_rollbacks: int
    """How often no token was allowed, and the last one was taken back."""
    dead_ends: tuple[bytes, ...]
    """The texts at which no token was allowed."""


@lru_cache(maxsize=1)
def walking_vocabulary() -> Vocabulary:
    """All bytes, some tokens that hold several parts of JSON, and an end token, the last."""
    tokens = [*(bytes((byte,)) for byte in range(256)), *(text.encode() for text in _MERGED), None]
    return Vocabulary.from_bytes(tokens, eos_token_ids=[len(tokens) - 1])


def evenly(text: bytes, token: bytes) -> float:
    """All tokens alike, but those that end things oftener as the text gets long."""
    return _ending(text, token, 1.0)


def opening(text: bytes, token: bytes) -> float:
    """Begin arrays and objects for as long as it is not yet long."""
    if token[-1:] in (b"[", b"{", b'"'):
        return 60.0 if len(text) < 60 else 0.5
    return _ending(text, token, 1.0)


def closing(text: bytes, token: bytes) -> float:
    """Close what is open as early as it is allowed."""
    return 400.0 if token[:1] in (b"]", b"}", b'"') else _ending(text, token, 1.0)


def repeating(text: bytes, token: bytes) -> float:
    """Write again what was written before: items and names that may have to differ."""
    last = text.rfind(b",")
    if last < 0:
        return _ending(text, token, 1.0)
    begun = text[last + 1 :]
    start = max(text.rfind(b"[", 0, last), text.rfind(b"{", 0, last), text.rfind(b",", 0, last)) + 1
    expected = text[start + len(begun) :] if text[start : start + len(begun)] == begun else b""
    return 300.0 if expected.startswith(token) else _ending(text, token, 1.0)


def _ending(text: bytes, token: bytes, weight: float) -> float:
    if not token:
        return 4.0 + len(text)  # an end token
    if token[:1] in (b"]", b"}", b'"'):
        return weight * (6.0 + 0.25 * len(text))
    if re.fullmatch(rb"[ \t\r\n]+", token):
        return 0.2
    if token[:1] in (b",", b":", b"1", b"a", b"b"):
        return 3.0 * weight
    return (0.1 if token[0] >= 0x80 or token == b"\\" else 0.4) * weight


POLICIES: dict[str, Policy] = {"evenly": evenly, "opening": opening, "closing": closing, "repeating": repeating}
"""Ways to prefer tokens, by name."""


def random_walk(
    matcher: Matcher,
    random: Random,
    *,
    policy: Policy = evenly,
    max_tokens: int = 200,
    max_rollbacks: int = 20,
    visit: Callable[[Matcher, list[int]], None] | None = None,
) -> Walk:
    """Sample allowed tokens until an end token, ``max_tokens`` tokens, or more dead ends than ``max_rollbacks``.

    Where no token is allowed the last one is taken back and not tried again there. ``visit`` is called at each step,
    with the matcher and the allowed token ids.
    """
    vocabulary = matcher.grammar.vocabulary
    text = b""
    tokens: list[int] = []
    lengths: list[int] = []
    refused: dict[int, set[int]] = {}
    dead_ends: list[bytes] = []
    while len(tokens) < max_tokens and not matcher.is_terminated:
        allowed = matcher.allowed_token_ids()
        if visit is not None:
            visit(matcher, allowed)
        choice = [token for token in allowed if token not in refused.get(len(tokens), ())]
        if not choice:
            dead_ends.append(text)
            if not tokens or len(dead_ends) > max_rollbacks:
                break
            refused.pop(len(tokens), None)
            matcher.rollback(1)
            refused.setdefault(len(tokens) - 1, set()).add(tokens.pop())
            text = text[: lengths.pop()]
            continue
        weights = [policy(text, vocabulary.tokens[token] or b"") for token in choice]
        token = random.choices(choice, weights)[0]
        matcher.consume(token)
        tokens.append(token)
        lengths.append(len(text))
        text += vocabulary.tokens[token] or b""
        refused.pop(len(tokens), None)
    return Walk(text, tuple(tokens), matcher.is_terminated, len(dead_ends), tuple(dead_ends))
