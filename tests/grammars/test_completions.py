"""How few tokens complete a text: enough always, and masks within a budget of them never end in a cut."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grammars
from constrained.testing.tiny import tiny_tokenizer
from grammars.completions import Completions
from grammars.errors import NoShortestCompletion
from grammars.frontends.regex import lower_regex
from grammars.ir import Builder
from grammars.matcher import Matcher

EXAMPLES = int(os.environ.get("CONSTRAINED_EXAMPLES", "60"))
TOKENIZER = tiny_tokenizer()
VOCABULARY = TOKENIZER.vocabulary(400)
LETTERS = grammars.Vocabulary.from_bytes([b"a", b"b", b"c", b"ab", b"ca", b"bcab", None], eos_token_ids=[6])

TREE: dict[str, Any] = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "value": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "user": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name", "value"],
            "additionalProperties": False,
        }
    },
}
SCHEMAS: list[dict[str, Any]] = [
    TREE,
    {"type": "array", "items": {"enum": [1, 10, None, True, "date"]}, "minItems": 3},
    {"type": "string", "minLength": 7, "maxLength": 40},
    {"anyOf": [{"type": "boolean"}, {"type": "array", "items": TREE["$defs"]["node"]["properties"]["name"]}]},
]
GRAMMARS = [
    *(
        grammars.compile_json_schema(schema, VOCABULARY, whitespace=style)
        for schema in SCHEMAS
        for style in ("compact", "any")
    ),
    grammars.compile_regex(r"(the |of )*the name(: \d{4})?", VOCABULARY),
    grammars.compile_gbnf('root ::= "(" root ")" root | ""', VOCABULARY),
]


def allowed_within(completions: Completions, matcher: Matcher, budget: int) -> list[int]:
    bitmask = grammars.allocate_token_bitmask(1, matcher.grammar.vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    before = len(grammars.allowed_token_ids(bitmask[0]))
    cleared = completions.keep_within(matcher, bitmask, 0, num_tokens=budget)
    ids = [int(token_id) for token_id in grammars.allowed_token_ids(bitmask[0])]
    assert len(ids) == before - cleared
    return ids


@settings(max_examples=EXAMPLES)
@given(grammar=st.sampled_from(GRAMMARS), slack=st.integers(0, 30), data=st.data())
def test_a_walk_within_a_budget_ends_complete(
    grammar: grammars.CompiledGrammar, slack: int, data: st.DataObject
) -> None:
    completions, matcher = grammar.completions, grammar.matcher()
    shortest = completions.tokens_to_end(matcher)
    assert shortest is not None
    budget = shortest + slack
    while budget > 0:
        ids = allowed_within(completions, matcher, budget)
        ids = [token_id for token_id in ids if token_id not in grammar.vocabulary.eos_token_ids]
        if not ids:
            break
        matcher.consume(data.draw(st.sampled_from(ids)))
        budget -= 1
        needed = completions.tokens_to_end(matcher)
        assert needed is not None
        assert needed <= budget
    assert matcher.is_accepting


def fewest(grammar: grammars.CompiledGrammar, most: int) -> int:
    """Tokens of the shortest text, by trying all."""
    level = [grammar.matcher()]
    for count in range(most + 1):
        if any(matcher.is_accepting for matcher in level):
            return count
        following: list[Matcher] = []
        for matcher in level:
            for token_id in matcher.allowed_token_ids():
                ahead = matcher.fork()
                ahead.consume(token_id)
                following.append(ahead)
        level = following
    raise AssertionError("the bound is no bound")


@settings(max_examples=EXAMPLES)
@given(pattern=st.from_regex(r"([abc]|\(([abc]{1,3}\|[abc]{1,4})\)([*+?]|\{1,3\})?){1,4}", fullmatch=True))
def test_it_is_never_less_than_the_least_and_never_more_than_its_bytes(pattern: str) -> None:
    grammar = grammars.compile_regex(pattern, LETTERS)
    bound = grammar.completions.tokens_to_end(grammar.matcher())
    assert bound is not None
    assert fewest(grammar, bound) <= bound
    bytewise = grammars.compile_regex(pattern, grammars.Vocabulary.from_bytes([b"a", b"b", b"c"], eos_token_ids=[]))
    num_bytes = bytewise.completions.tokens_to_end(bytewise.matcher())
    assert num_bytes is not None
    assert bound <= num_bytes == fewest(bytewise, num_bytes)


def test_long_keys_count_as_tokens_and_not_as_bytes() -> None:
    schema = {"type": "object", "properties": {"username": {"const": "nameuser"}}, "required": ["username"],
              "additionalProperties": False}  # fmt: skip
    grammar = grammars.compile_json_schema(schema, VOCABULARY, whitespace="compact")
    text = json.dumps({"username": "nameuser"}, separators=(",", ":"))
    bound = grammar.completions.tokens_to_end(grammar.matcher())
    assert bound is not None
    assert bound <= len(TOKENIZER.tokenize(text)) < len(text) / 2


def test_the_most_is_known_where_nothing_nests_without_end() -> None:
    assert grammars.compile_regex("(a{2,5}b){3}", LETTERS).completions.most == 6
    assert grammars.compile_gbnf('root ::= "a" root "b" | "c"', LETTERS).completions.most is None


def test_grammars_that_ask_questions_are_refused_by_name() -> None:
    unique = grammars.compile_json_schema(
        {"type": "array", "items": {"type": "number"}, "uniqueItems": True}, VOCABULARY
    )
    with pytest.raises(NoShortestCompletion, match="uniqueItems"):
        _ = unique.completions
    closed = {"properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "additionalProperties": False}
    anyhow = grammars.compile_json_schema({"type": "object"} | closed, VOCABULARY, property_order="any")
    with pytest.raises(NoShortestCompletion, match="property_order='any'"):
        _ = anyhow.completions
    free = grammars.compile_json_schema({"type": "object"}, VOCABULARY)
    with pytest.raises(NoShortestCompletion, match="no two names of the object may be equal"):
        _ = free.completions


def test_within_a_budget_trees_are_closed_and_valid() -> None:
    grammar = GRAMMARS[0]
    matcher, written, budget = grammar.matcher(), b"", 60
    while ids := allowed_within(grammar.completions, matcher, budget):
        pieces = {token_id: VOCABULARY.tokens[token_id] or b"" for token_id in ids}
        token_id = max(ids, key=lambda one: (b"[" in pieces[one], b'"' in pieces[one], one))
        if not pieces[token_id]:
            break
        matcher.consume(token_id)
        written += pieces[token_id]
        budget -= 1
    jsonschema.validate(json.loads(written), TREE)


def test_making_room_changes_nothing() -> None:
    limits = grammars.Limits(max_configurations=256)
    grammar = grammars.compile_json_schema(TREE, VOCABULARY, limits=limits)
    twin = grammars.compile_json_schema(TREE, VOCABULARY)
    matcher, other = grammar.matcher(), twin.matcher()
    for token_id in TOKENIZER.tokenize('{\n  "name": "the name of the user",\n  "value": 2010,\n  "user": [\n    {\n'):
        for budget in (20, 40):
            assert allowed_within(grammar.completions, matcher, budget) == allowed_within(
                twin.completions, other, budget
            )
        matcher.consume(token_id)
        other.consume(token_id)


def test_text_of_a_document_is_completed_within_a_budget() -> None:
    document = "The kettle of the user costs 20 and the date is due."
    schema = {"type": "object", "properties": {"name": {"type": "string", "x-verbatim": "words"}}, "required": ["name"],
              "additionalProperties": False}  # fmt: skip
    grammar = grammars.compile_json_schema(schema, VOCABULARY, whitespace="compact", source=document)
    shortest = grammar.completions.tokens_to_end(grammar.matcher())
    assert shortest is not None
    for slack in range(4):
        matcher, written, budget = grammar.matcher(), b"", shortest + slack
        while not matcher.is_accepting:
            token_id = allowed_within(grammar.completions, matcher, budget)[-1]
            matcher.consume(token_id)
            written += VOCABULARY.tokens[token_id] or b""
            budget -= 1
        assert budget >= 0
        assert json.loads(written)["name"] in document


def test_special_tokens_of_a_grammar_count_as_tokens() -> None:
    vocabulary = grammars.Vocabulary.from_bytes(
        [*(bytes([byte]) for byte in range(256)), b"call", None, None],
        eos_token_ids=[258],
        special_tokens={"<tool>": 257, "<end>": 258},
    )
    builder = Builder(limits=grammars.Limits())
    call = [builder.special("<tool>"), lower_regex("[a-z]+", builder), builder.special("<end>")]
    ir = builder.finish(builder.repeat(builder.sequence(*call), 1))
    grammar = grammars.compile_ir(ir, vocabulary)
    matcher = grammar.matcher()
    assert grammar.completions.tokens_to_end(matcher) == 3
    assert matcher.try_consume([257, 256, 258]) == 3
    assert matcher.is_accepting
    assert allowed_within(grammar.completions, matcher, 3) == [257, 258]
    assert allowed_within(grammar.completions, matcher, 2) == [258]
