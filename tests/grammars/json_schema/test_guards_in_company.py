"""Guards together with other things: references into registries, threads, hundreds of properties in any order."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.jsonschema import DRAFT4, DRAFT202012

from constrained.testing.judge import JsonschemaJudge
from constrained.testing.walks import POLICIES, random_walk, walking_vocabulary
from grammars import BatchFiller, allocate_token_bitmask, compile_json_schema

NEW = "https://json-schema.org/draft/2020-12/schema"
OLD = "http://json-schema.org/draft-04/schema#"
THREES = {
    "$id": "http://x/threes",
    "$defs": {
        "n": {"$anchor": "number", "type": "integer", "multipleOf": 3},
        "list": {
            "$id": "list",
            "type": "array",
            "items": {"$ref": "threes#number"},
            "uniqueItems": True,
            "contains": {"const": 3},
        },
    },
    "type": "object",
    "properties": {"list": {"$ref": "list"}},
    "required": ["list"],
}
TREE = {
    "$id": "http://x/tree",
    "$dynamicAnchor": "node",
    "type": "object",
    "required": ["data"],
    "properties": {"data": True, "kids": {"type": "array", "items": {"$dynamicRef": "#node"}, "uniqueItems": True}},
}
POSITIVE = {
    "id": "http://x/old",
    "definitions": {"p": {"id": "#positive", "type": "integer", "minimum": 0, "exclusiveMinimum": True}},
}


def registry() -> Any:
    new = [(str(one["$id"]), DRAFT202012.create_resource({"$schema": NEW, **one})) for one in (THREES, TREE)]
    return Registry().with_resources([*new, ("http://x/old", DRAFT4.create_resource({"$schema": OLD, **POSITIVE}))])


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        ({"$ref": "http://x/threes"}, ['{"list":[3]}', '{"list":[3,6]}', '{"list":[3,3.0]}', '{"list":[6]}', "{}"]),
        ({"type": "array", "items": {"$ref": "http://x/list"}}, ["[[3]]", "[[3,3]]", "[[6]]", "[]", "[[3,4]]"]),
        (
            {"$id": "http://x/s", "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": False},
            [
                *('{"data":1}', '{"data":1,"x":2}', '{"data":1,"kids":[{"data":2}]}'),
                *('{"data":1,"kids":[{"data":2,"x":1}]}', '{"data":1,"kids":[{"data":2},{"data":2.0}]}'),
            ],
        ),
        ({"$ref": "http://x/tree"}, ['{"data":1,"kids":[{"data":2,"x":1}]}', '{"data":1,"kids":[{"x":1}]}']),
        ({"$schema": OLD, "items": {"$ref": "http://x/old#positive"}, "uniqueItems": True}, ["[1]", "[0]", "[1,1]"]),
        ({"not": {"$ref": "http://x/threes"}}, ['{"list":[3]}', '{"list":[6]}', "{}", "1"]),
    ],
)
@pytest.mark.parametrize("property_order", ["schema", "any"])
def test_references_into_registries(schema: Any, texts: list[str], property_order: Any) -> None:
    schema = {"$schema": NEW, **schema}
    options: Any = {"whitespace": "any", "property_order": property_order, "registry": registry()}
    grammar = compile_json_schema(schema, walking_vocabulary(), **options)
    make: Any = validator_for(schema)
    validator = make(schema, registry=registry())
    for text in texts:
        matcher = grammar.matcher()
        taken = matcher.consume_bytes(text.encode()) and matcher.is_accepting
        assert taken == validator.is_valid(json.loads(text)), text


def test_threads_fill_what_one_matcher_fills() -> None:
    tags = {"type": "array", "items": {"type": "integer", "maximum": 20}, "uniqueItems": True, "contains": {"const": 3}}
    item = {"type": "object", "properties": {"tags": tags}, "required": ["tags"], "not": {"minProperties": 3}}
    schema = {"type": "array", "items": item, "minItems": 2, "maxItems": 30}
    vocabulary, random = walking_vocabulary(), Random(7)
    shared, alone = (compile_json_schema(schema, vocabulary, whitespace="any") for _ in range(2))
    rows, twins = [shared.matcher() for _ in range(8)], [alone.matcher() for _ in range(8)]
    bitmask, single = allocate_token_bitmask(8, vocabulary.size), allocate_token_bitmask(1, vocabulary.size)
    with BatchFiller(threads=4) as filler:
        for _ in range(60):
            filler.fill(rows, bitmask)
            for index, (row, twin) in enumerate(zip(rows, twins, strict=True)):
                twin.fill_next_token_bitmask(single)
                assert (bitmask[index] == single[0]).all()
                allowed = twin.allowed_token_ids()
                if allowed and not row.is_terminated:
                    token = random.choice(allowed)
                    row.consume(token)
                    twin.consume(token)


@pytest.mark.parametrize("further", [{"additionalProperties": False}, {"minProperties": 3, "maxProperties": 290}])
def test_hundreds_of_properties_in_any_order(further: dict[str, Any]) -> None:
    kinds = ({"type": "integer"}, {"enum": ["a", "b"]}, {"type": "array", "uniqueItems": True})
    values = (7, "b", [1, 2])
    names = [f"p{number}" for number in range(300)]
    properties = {name: kinds[place % 3] for place, name in enumerate(names)}
    schema = {"type": "object", "properties": properties, "required": names[::50], **further}
    grammar = compile_json_schema(schema, walking_vocabulary(), whitespace="any", property_order="any")
    judge, random = JsonschemaJudge(schema), Random(5)
    for count in (2, 250, 290, 300):
        some = dict.fromkeys([*names[::50], *names[:count]])
        value = {name: values[names.index(name) % 3] for name in random.sample(list(some), len(some))}
        text = json.dumps(value)
        matcher = grammar.matcher()
        assert (matcher.consume_bytes(text.encode()) and matcher.is_accepting) == judge.takes(text)
        assert not grammar.matcher().consume_bytes(text[:-1].encode() + b', "p0": 7')
    for policy in POLICIES.values():
        walk = random_walk(grammar.matcher(), random, policy=policy, max_tokens=100)
        assert walk.dead_ends == ()
