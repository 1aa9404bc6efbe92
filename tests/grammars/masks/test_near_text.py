"""Places where nearly all string text may follow: whole bitmasks agree with tokens tried one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

import grammars
from grammars.automaton.memory import COUNT_VISITED
from grammars.jit import CHECKED
from grammars.vocabulary.bitmask import allowed_token_ids
from tests.grammars.masks.consumption import allowed_as_consumed

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def vocabulary() -> grammars.Vocabulary:
    """Single bytes; words with each mark in each place; characters of every lead, whole and cut; long tokens."""
    draw = random.Random(7)
    tokens: list[bytes] = [bytes([byte]) for byte in range(256)]
    marks = [
        " ",
        "/",
        "-",
        ".",
        "@",
        "_",
        ":",
        "A",
        "Z",
        "0",
        "9",
        '"',
        "\\",
        "\n",
        "\t",
        '",',
        '":',
        "\\u0061",
        "</",
        "  ",
    ]
    marks += [*"éßżñЖя中文日本한글あア\u2028\u2029\u00a0\u1680\u2003\u3000\ufeff\u07ff\ud7ff\ue000😀𝒳\U0010ffff"]
    for mark in marks:
        for _ in range(3 if CHECKED else 12):
            word = "".join(draw.choices(LETTERS, k=draw.randrange(1, 7)))
            place = draw.randrange(len(word) + 1)
            tokens.append((word[:place] + mark + word[place:]).encode())
        tokens += [
            mark.encode(),
            mark.encode()[:-1],
            mark.encode()[1:],
            (mark + "a").encode(),
            ("a" + mark).encode()[:-1],
        ]
    for length in (11, 12, 13, 15, 16, 17, 18, 30, 127, 128, 129, 130, 140):
        tokens += [("a" * length).encode(), ("a b" * length)[:length].encode(), ("é" * length).encode(), b" " * length]
        tokens += [("ab" * length)[: length - 1].encode() + b"/", ("x" * (length - 1)).encode() + b'"']
    tokens += [b"", *tokens[300:310]]  # twins
    return grammars.Vocabulary.from_bytes([*tokens, None], eos_token_ids=[len(tokens)])


VOCABULARY = vocabulary()

STRINGS: list[dict[str, Any]] = [
    {"pattern": p}
    for p in (
        r"^[^/]+$", r"^[^/ ]*$", r"^\w+$", r"^\S+$", r"^.+$", r"^[a-z]+$", r"^[a-z0-9._-]+@[a-z0-9.-]+$", r"\w+",
        r"/(html|js)/[^/]+", r"^(?:\S+\s+){0,99}\S+$", r"^(?:\S+\s+){0,3}\S+$", r"^[a-zé]+$", r"^[^é]+$", r"^\p{L}+$",
        r"^[a-z]{1,17}$", r"^[a-z]{16}/[a-z]*$", r"^.{3,40}$", r"^[^中]{0,20}$", r"z{3}", r"^(?!abc)",
        r"^[a-z]+( [a-z]+)*$", r"^[^\u2000-\u2fff]*$",
    )
] + [
    {"pattern": r"^(?:\S+\s+){0,29}\S+$", "maxLength": 60},
    {"pattern": r"^(?:\S+\s+){0,29}\S+$", "maxLength": 18},
    {"pattern": r"[a-z]", "minLength": 14},
    {"pattern": r"[^a]", "minLength": 3, "maxLength": 40},
    {"format": "uri"},
    {"format": "email"},
    {"format": "hostname"},
    {"not": {"enum": ["abc", "abd", "b"]}, "pattern": "a"},
]  # fmt: skip
SCHEMAS: list[dict[str, Any]] = [{"type": "string", **one} for one in STRINGS] + [
    {"type": "object", "patternProperties": {one: {"type": "integer"}}, "properties": {"name": {"type": "null"}}}
    for one in (r"\w+", "^.*$", "^x-", "/a", "^[^/]+$")
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@pytest.mark.parametrize("whitespace", ["any", "compact"])
def test_masks_are_what_is_consumed(schema: dict[str, Any], whitespace: str) -> None:
    if CHECKED and (whitespace == "compact" or SCHEMAS.index(schema) % 4):
        pytest.skip("a quarter is enough in the checked mode, which is slow")
    compiled = grammars.compile_json_schema(schema, VOCABULARY, whitespace=whitespace)
    draw = random.Random(str(schema))
    for _ in range(1 if CHECKED else 4):
        matcher = compiled.matcher()
        for _ in range(3 if CHECKED else 12):
            allowed = allowed_as_consumed(matcher)
            short = [token for token in allowed if len(VOCABULARY.tokens[token] or b"") < 4]
            matcher.consume(draw.choice(short or allowed))
            if matcher.is_terminated:
                break


@pytest.mark.skipif(CHECKED, reason="the vocabulary of the checked mode holds hardly any tokens that are only text")
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"pattern": r"^[^/]+$"}, '"ab'),
        ({"pattern": r"^\w+$"}, '"ab'),
        ({"pattern": r"^(?:\S+\s+){0,99}\S+$"}, '"ab cd '),
        ({"pattern": r"^(?:\S+\s+){0,29}\S+$", "maxLength": 300}, '"ab cd '),
        ({"pattern": r"/(html|js)/[^/]+"}, '"ab /ht'),
    ],
)
def test_few_tokens_are_walked(schema: dict[str, Any], text: str) -> None:
    matcher = grammars.compile_json_schema({"type": "string", **schema}, VOCABULARY, whitespace="compact").matcher()
    assert matcher.consume_bytes(text.encode())
    memory = matcher.grammar.machine.memory
    before = memory[COUNT_VISITED]
    allowed = allowed_token_ids(_mask(matcher)[0])
    assert len(allowed) > VOCABULARY.size // 8
    nodes = {token[:end] for token in VOCABULARY.tokens if token for end in range(1, len(token) + 1)}
    assert memory[COUNT_VISITED] - before < len(nodes) // 2


def _mask(matcher: grammars.Matcher) -> Any:
    bitmask = grammars.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(bitmask)
    return bitmask
