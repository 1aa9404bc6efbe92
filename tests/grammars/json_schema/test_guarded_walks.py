"""Schemas whose masks ask guards, walked with logits that look for trouble: what ends is valid."""

from __future__ import annotations

import os
import time
from random import Random
from typing import Any

import pytest

from constrained.testing.judge import JsonschemaJudge
from constrained.testing.walks import POLICIES, Walk, random_walk, walking_vocabulary
from grammars import LimitExceeded, UnsatisfiableGrammar, compile_json_schema

EXAMPLES = int(os.environ.get("CONSTRAINED_EXAMPLES", "20"))
INTEGER = {"type": "integer"}
FEW = {"type": "integer", "minimum": 0, "maximum": 12}
SHORT = {"type": "string", "pattern": "^[ab]{1,2}$"}
MANY = [f"f{number}" for number in range(12)]
PAIR = {
    "type": "object",
    "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}},
    "minProperties": 1,
    "additionalProperties": False,
}
TREE = {
    "type": "object",
    "properties": {
        "v": {"enum": [1, 2]},
        "c": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/tree"}, "minItems": 1},
    },
    "required": ["v"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "distinct anything": {"type": "array", "uniqueItems": True, "minItems": 2},
    "distinct numbers": {"type": "array", "items": FEW, "uniqueItems": True, "minItems": 3, "maxItems": 6},
    "distinct strings": {"type": "array", "items": SHORT, "uniqueItems": True, "minItems": 4},
    "distinct values": {"type": "array", "items": {"enum": [1, 2, 3, "a", "ab"]}, "uniqueItems": True, "minItems": 3},
    "distinct objects": {"type": "array", "items": PAIR, "uniqueItems": True, "minItems": 3},
    "distinct arrays": {
        "type": "array",
        "items": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
        "uniqueItems": True,
        "minItems": 3,
    },
    "distinct within distinct": {"$ref": "#/$defs/tree", "$defs": {"tree": TREE}},
    "not of many": {
        "type": "object",
        "properties": {name: {"enum": [0, 1]} for name in MANY},
        "required": MANY,
        "not": {"properties": {name: {"const": 0} for name in MANY}},
    },
    "one of two that overlap": {
        "type": "object",
        "properties": dict.fromkeys(MANY[:5], INTEGER),
        "required": MANY[:2],
        "oneOf": [
            {"properties": {name: {"minimum": 0} for name in MANY[:5]}},
            {"properties": {name: {"multipleOf": 2} for name in MANY[:5]}},
        ],
    },
    "several contains": {
        "type": "array",
        "items": {"enum": list(range(8))},
        "allOf": [{"contains": {"enum": [low, low + 1, low + 2]}, "minContains": 1} for low in range(6)],
        "maxItems": 14,
    },
    "counted names": {
        "type": "object",
        "properties": dict.fromkeys(MANY, INTEGER),
        "patternProperties": {"^x": SHORT},
        "required": ["f3", "xa"],
        "minProperties": 4,
        "maxProperties": 6,
    },
    "few names": {"type": "object", "propertyNames": {"pattern": "^[ab]$"}, "minProperties": 2},
    "no multiple": {"type": "array", "items": {"not": {"multipleOf": 98_765_431}}, "minItems": 2},
    "too many ways to evaluate": {
        "type": "object",
        "anyOf": [{"properties": {name: INTEGER}, "required": [name]} for name in MANY],
        "unevaluatedProperties": False,
    },
}


def _walks(schema: Any, order: Any, count: int) -> list[Walk]:
    """Walks by every policy in turn, the finished ones judged."""
    grammar = compile_json_schema(schema, walking_vocabulary(), whitespace="compact", property_order=order)
    judge = JsonschemaJudge(schema)
    random, walks = Random(4), []
    for number in range(count):
        policy = POLICIES[list(POLICIES)[number % len(POLICIES)]]
        walk = random_walk(grammar.matcher(), random, policy=policy, max_tokens=120)
        assert not walk.finished or judge.takes(walk.text, repeated_names=True), walk.text
        walks.append(walk)
    return walks


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_guarded_walks_finish_is_valid(name: str, record_property: Any) -> None:
    for order in ("schema", "any"):
        walks = _walks(SCHEMAS[name], order, max(len(POLICIES), EXAMPLES // 2))
        tokens = sum(len(walk.token_ids) for walk in walks)
        rate = 1_000 * sum(walk.num_rollbacks for walk in walks) / tokens
        record_property(f"{order}: roll-backs per 1,000 tokens", round(rate, 1))
        assert tokens > 5 * len(walks)


def test_what_is_sure_holds_where_negations_are_too_many_for_an_automaton() -> None:
    properties = {name: {"enum": [0, 1]} for name in MANY}
    negated = [{"not": {"properties": {name: {"const": value} for name in MANY[:9]}}} for value in (0, 1)]
    schema = {"type": "object", "properties": properties, "required": MANY, "allOf": negated}
    grammar = compile_json_schema(schema, walking_vocabulary(), whitespace="compact")
    matcher = grammar.matcher()
    assert matcher.forced_bytes() == b'{"f0":'
    assert not matcher.consume_bytes(b'{"f0":2')
    for values, valid in (([0] * 12, False), ([1] * 12, False), ([0, 1] * 6, True)):
        text = ",".join(f'"{name}":{value}' for name, value in zip(MANY, values, strict=True))
        assert grammar.matcher().consume_bytes(b"{" + text.encode() + b"}") == valid


def test_lengths_hold_where_items_are_too_many_to_count() -> None:
    items = {"type": "integer", "minimum": 0, "maximum": 9}
    counted = {"contains": {"const": 7}, "minContains": 80, "maxContains": 90}
    schema = {"type": "array", "items": items, **counted, "maxItems": 95}
    grammar = compile_json_schema(schema, walking_vocabulary(), whitespace="compact")
    for length, sevens, valid in ((79, 79, False), (80, 80, True), (95, 80, True), (95, 91, False), (96, 85, False)):
        text = ",".join(["7"] * sevens + ["1"] * (length - sevens))
        assert grammar.matcher().consume_bytes(f"[{text}]".encode()) == valid
    assert not grammar.matcher().consume_bytes(b"[" + b"7," * 95)


def test_types_hold_where_what_is_unevaluated_is_asked_of_the_whole() -> None:
    grammar = compile_json_schema(SCHEMAS["too many ways to evaluate"], walking_vocabulary(), whitespace="compact")
    assert not grammar.matcher().consume_bytes(b"1")
    assert not grammar.matcher().consume_bytes(b"[")


def test_integers_of_thousands_of_digits_are_compared() -> None:
    grammar = compile_json_schema({"uniqueItems": True}, walking_vocabulary(), whitespace="any")
    number = "1" * 4_400
    for text, right in ((f"[{number},{number}0]", True), (f"[{number},{number}]", False), (f"[[{number}],[1]]", True)):
        matcher = grammar.matcher()
        assert (matcher.consume_bytes(text.encode()) and matcher.is_accepting) == right


def test_values_nested_too_deeply_to_compare_are_refused_by_name() -> None:
    grammar = compile_json_schema({"uniqueItems": True}, walking_vocabulary(), whitespace="any")
    depth = 3_000
    with pytest.raises(LimitExceeded, match="a guard has to look at"):
        grammar.matcher().consume_bytes(b"[1,[1]," + b"[" * depth + b"]" * depth + b"]")


@pytest.mark.parametrize("whitespace", ["compact", "any"])
def test_given_values_are_told_apart_before_they_begin(whitespace: str) -> None:
    values = [1, 11, 1.5, None, True, "a", "ab", "é", "1"]
    schema = {"type": "array", "items": {"enum": values}, "uniqueItems": True, "minItems": len(values)}
    grammar = compile_json_schema(schema, walking_vocabulary(), whitespace=whitespace)
    judge, random = JsonschemaJudge(schema), Random(4)
    finished = 0
    for policy in POLICIES.values():
        for _ in range(3):
            walk = random_walk(grammar.matcher(), random, policy=policy, max_tokens=300)
            assert walk.dead_ends == ()
            assert not walk.finished or judge.takes(walk.text)
            finished += walk.finished
    assert finished
    with pytest.raises(UnsatisfiableGrammar):
        compile_json_schema({**schema, "minItems": len(values) + 1}, walking_vocabulary())


def test_long_texts_taken_at_once_are_read_once() -> None:
    """Three thousand names inside each other: read from the start for each of them, it took ten seconds."""
    matcher = compile_json_schema({"type": "object"}, walking_vocabulary(), whitespace="any").matcher()
    begin = time.perf_counter()
    assert matcher.consume_bytes(b'{"a":' * 3000 + b'{"b":1,"a":2')
    assert not matcher.consume_bytes(b',"b":')
    assert matcher.consume_bytes(b',"c":1}' + b"}" * 3000)
    assert matcher.is_accepting
    assert time.perf_counter() - begin < 5
