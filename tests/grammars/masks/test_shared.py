"""Deeply nested texts: bitmasks that are shared by what is on top of the stacks agree with tokens tried one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

import grammars
from grammars.automaton.memory import COUNT_WALKS
from grammars.jit import CHECKED
from tests.grammars.masks.consumption import allowed_as_consumed

TOKENS = [bytes([byte]) for byte in range(32, 127)] + [
    *(b"]" * n for n in (2, 3, 5, 11, 12, 13, 14, 25, 40)),
    *(b"}" * n for n in (2, 3, 12, 13, 26)),
    *(b"]}" * n for n in (1, 2, 7, 13, 20)),
    *(b'{"a":', b'{"a":{"a":', b'"}', b'"]]', b'"a":', b'"},', b"],[", b"[[", b"[[[[", b'["', b'"]}', b'{"b":['),
    *(b"true", b"null", b'","', b'","a":', b'":1}', b'":1},{"', b"1]", b"1}", b"1,", b'"x"', b'"x":', b'{"x":{}}'),
    *(b'{"b":1}', b"[]", b"{}", b"12", b",1"),
]  # fmt: skip
VOCABULARY = grammars.Vocabulary.from_bytes([*TOKENS, None], eos_token_ids=[len(TOKENS)])

HERE = {"$ref": "#"}
SCHEMAS: dict[str, Any] = {
    "lists": {"type": "array", "items": HERE},
    "closed objects": {"properties": {"a": HERE}, "type": "object", "additionalProperties": False},
    "open objects": {"properties": {"a": HERE}, "type": "object"},
    "anything": {},
    "distinct items": {"type": "array", "items": HERE, "uniqueItems": True},
    "counted": {"type": "array", "items": HERE, "maxItems": 2},
    "both": {"type": "object", "properties": {"b": {"type": "array", "items": HERE}, "a": HERE}, "required": ["b"]},
    "names": {"type": "object", "additionalProperties": HERE, "maxProperties": 2},
}


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_what_is_consumed(name: str, order: str) -> None:
    compiled = grammars.compile_json_schema(SCHEMAS[name], VOCABULARY, whitespace="compact", property_order=order)
    draw = random.Random(name)
    opening = [token for token, text in enumerate(TOKENS) if text[:1] in b'[{":ab']
    matcher = compiled.matcher()
    for step in range(25 if CHECKED else 70):
        allowed = allowed_as_consumed(matcher)
        deeper = [token for token in allowed if token in opening]
        matcher.consume(draw.choice(deeper if deeper and step < 40 else allowed))
        if matcher.is_terminated:
            break


@pytest.mark.parametrize("name", ["lists", "closed objects", "anything"])
def test_a_deeper_text_needs_no_more_walks(name: str) -> None:
    tokens = [token for token in TOKENS if len(token) < 6]
    vocabulary = grammars.Vocabulary.from_bytes([*tokens, None], eos_token_ids=[len(tokens)])
    matcher = grammars.compile_json_schema(SCHEMAS[name], vocabulary, whitespace="compact").matcher()
    memory = matcher.grammar.machine.memory
    counts = []
    for _ in range(100):
        for byte in b"[" if name == "lists" else b'{"a":':
            matcher.allowed_token_ids()
            matcher.consume(tokens.index(bytes([byte])))
        counts.append(int(memory[COUNT_WALKS]))
    assert counts[-1] == counts[50] > 0
