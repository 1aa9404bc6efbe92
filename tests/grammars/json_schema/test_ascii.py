"""``ensure_ascii``: every character beyond ASCII is written by number, as ``json.dumps`` does by default."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrained.testing.judge import JsonschemaJudge
from constrained.testing.strategies.spellings import json_spellings
from constrained.testing.walks import POLICIES, random_walk, walking_vocabulary
from grammars import compile_json_schema

from .texts import DUMPS, language

TEXTS = st.text(st.sampled_from('ab"\\\x1f\x7f\x80é€\uffff😀😁'), max_size=4)
SCHEMAS: list[Any] = [
    {"type": "string"},
    {"type": "string", "minLength": 2, "maxLength": 3},
    {"type": "string", "pattern": "^[é-ü😀]{1,3}$"},
    {"not": {"enum": ["é", "a"]}, "type": "string"},
    {"enum": ["é", "\x7f", "😀😀", "plain", {"ö": ["ß"]}]},
    {"type": "string", "format": "idn-email"},
    {
        "type": "object",
        "properties": {"é": {"type": "integer"}, "😀": True},
        "required": ["é"],
        "additionalProperties": False,
    },
    {"type": "object", "patternProperties": {"^é": {"type": "null"}}, "minProperties": 2},
    {"type": "array", "items": {"type": "string", "maxLength": 1}, "uniqueItems": True, "minItems": 2},
    {"properties": {"name": {"const": "ÄÖ"}}, "unevaluatedProperties": False, "type": "object", "minProperties": 1},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
@pytest.mark.parametrize("options", [{}, {"property_order": "any"}, {"whitespace": "any"}], ids=str)
def test_walks_write_ascii_that_is_valid(schema: Any, options: dict[str, Any]) -> None:
    grammar = compile_json_schema(schema, walking_vocabulary(), ensure_ascii=True, **options)
    judge, random = JsonschemaJudge(schema), Random(3)
    finished = 0
    for policy in POLICIES.values():
        for _ in range(2):
            walk = random_walk(grammar.matcher(), random, policy=policy, max_tokens=150)
            assert walk.text.isascii()
            if walk.finished:
                finished += 1
                assert judge.takes(walk.text)
    assert finished


@given(st.lists(TEXTS, max_size=3), st.sampled_from(sorted(DUMPS)))
@settings(max_examples=60, deadline=None)
def test_free_text_is_spelled_as_json_dumps_spells_it(texts: list[str], whitespace: str) -> None:
    free = language({"type": ["array", "string"]}, whitespace, ensure_ascii=True)
    value = {text: text for text in texts}
    written = json.dumps([value, *texts], ensure_ascii=True, **DUMPS[whitespace])
    assert free.takes(written)
    raw = json.dumps([value, *texts], ensure_ascii=False, **DUMPS[whitespace])
    assert free.takes(raw) == (raw == written or (whitespace == "any" and raw.isascii() and "\x7f" not in raw))


@given(st.lists(TEXTS, min_size=1, max_size=4), st.data(), st.booleans())
@settings(max_examples=80, deadline=None)
def test_given_and_other_texts_are_told_by_meaning(texts: list[str], data: st.DataObject, every: bool) -> None:
    whitespace = "any" if every else "compact"
    text = data.draw(st.one_of(st.sampled_from(texts), TEXTS))
    spelled = data.draw(json_spellings(text, every=every, only_ascii=True))
    assert json.loads(spelled) == text
    assert language({"enum": texts}, whitespace, ensure_ascii=True).takes(spelled) == (text in texts)
    other = {"type": "string", "not": {"enum": texts}}
    assert language(other, whitespace, ensure_ascii=True).takes(spelled) == (text not in texts)
    names = {"properties": dict.fromkeys(texts, False), "type": "object"}
    assert language(names, whitespace, ensure_ascii=True).takes(b"{" + spelled + b":1}") == (text not in texts)


def test_lengths_count_characters_not_escapes() -> None:
    two = language({"type": "string", "minLength": 2, "maxLength": 2}, ensure_ascii=True)
    assert two.takes(r'"\ud83d\ude00\u00e9"')
    assert not two.takes(r'"\ud83d\ude00"')
    assert not two.takes(r'"\u00E9\u00e9"')  # json.dumps writes digits in lower case
    assert not two.takes(r'"\u0061b"')
    assert not two.takes(r'"\ud83d"')
