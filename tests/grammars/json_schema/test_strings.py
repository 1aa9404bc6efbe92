"""Strings: spellings, lengths in code points, names that are none of the declared ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrained.testing.string_automata import _other_spelled_strings, other_strings
from grammars.frontends.json_schema.spelling import json_text

from .texts import language

TEXTS = st.text(st.sampled_from('abzñé"\\/\n\t\x00\x1f\x7f\u2028\ud7ff\ue000\U0001f680\U0010ffff '), max_size=5)


@given(TEXTS)
def test_canonical_text_is_what_json_dumps_writes(text: str) -> None:
    assert json_text(text) == json.dumps(text, ensure_ascii=False).encode()


@settings(max_examples=60, deadline=None)
@given(text=TEXTS, least=st.integers(0, 4), more=st.integers(0, 3))
def test_lengths_count_code_points(text: str, least: int, more: int) -> None:
    schema = {"type": "string", "minLength": least, "maxLength": least + more}
    assert language(schema).takes_value(text) == (least <= len(text) <= least + more)
    escaped = json.dumps(text)  # a pair of escapes is one code point
    assert language(schema, "any").takes(escaped) == (least <= len(text) <= least + more)


@settings(max_examples=60, deadline=None)
@given(text=TEXTS, values=st.lists(TEXTS, min_size=1, max_size=4))
def test_given_values_in_every_spelling(text: str, values: list[str]) -> None:
    upper = "".join(f"\\u{unit:04X}" for unit in _units(text))
    for spelled in (json.dumps(text), json.dumps(text, ensure_ascii=False), f'"{upper}"', f'"{upper.lower()}"'):
        assert language({"enum": values}, "any").takes(spelled) == (text in values)
    assert language({"enum": values}).takes(json.dumps(text, ensure_ascii=False)) == (text in values)


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[index : index + 2]) for index in range(0, len(data), 2)]


@settings(max_examples=60, deadline=None)
@given(
    name=TEXTS,
    names=st.lists(TEXTS, min_size=1, max_size=4, unique=True),
    whitespace=st.sampled_from(("compact", "any")),
)
def test_other_names_are_none_of_the_declared(name: str, names: list[str], whitespace: str) -> None:
    schema = {"type": "object", "properties": dict.fromkeys(names, False), "additionalProperties": True}
    taken = language(schema, whitespace)
    assert taken.takes(json.dumps({name: 1}, ensure_ascii=False, separators=(",", ":"))) == (name not in names)
    if whitespace == "any":
        spelled = "".join(f"\\u{unit:04X}" for unit in _units(name))
        assert taken.takes(f'{{"{spelled}":1}}') == (name not in names)


@given(st.lists(st.text("abc/", max_size=4), min_size=1, max_size=5, unique=True), st.text("abcd/é\n", max_size=5))
def test_the_quick_way_of_other_names_equals_the_general_one(names: list[str], name: str) -> None:
    data = json_text(name)[1:]
    for quick, general in zip(other_strings(names, every=False), _other_spelled_strings(names, False), strict=True):
        for end in range(len(data) + 1):
            assert _matches(quick, data[:end]) == _matches(general, data[:end])


def _matches(fragment: Any, data: bytes) -> bool:
    _, edges = fragment

    def close(states: set[int]) -> set[int]:
        pending = list(states)
        while pending:
            state = pending.pop()
            for source, low, high, target in edges:
                if source == state and low > high and target not in states:
                    states.add(target)
                    pending.append(target)
        return states

    states = close({0})
    for byte in data:
        states = close({target for source, low, high, target in edges if source in states and low <= byte <= high})
    return 1 in states


@pytest.mark.parametrize("text", ['"\\u0041"', '"\\/"', '"\\u00e9"', '"\\ud83d\\ude80"', '"\\u0009"', '"\\u001F"'])
def test_idle_escapes_only_where_all_are_taken(text: str) -> None:
    assert not language({"type": "string"}).takes(text)
    assert language({"type": "string"}, "any").takes(text)


@pytest.mark.parametrize("text", ['"\t"', '"\\x41"', '"\\u12"', '"\\ud83d"', '"\\ude80"', '"\\ud83d\\u0041"', '"a'])
def test_never_a_string(text: str) -> None:
    assert not language({"type": "string"}).takes(text)
    assert not language({"type": "string"}, "any").takes(text)


def test_a_raw_surrogate_is_never_taken() -> None:
    assert not language({"type": "string"}).takes(b'"\xed\xa0\x80"')


def test_many_values() -> None:
    values = [f"value {index}" for index in range(5000)]
    taken = language({"enum": values})
    assert taken.takes_value("value 4999")
    assert not taken.takes_value("value 5000")


def test_many_patterns_are_told_apart_by_a_guard() -> None:
    patterns = [f"^{first}.*{last}$" for first in "abcdefghij" for last in "klmnopq"]
    schema = {"type": "string", "oneOf": [{"pattern": one} for one in [*patterns, "m$"]]}
    taken = language(schema)
    assert [taken.takes_value(text) for text in ("ak", "xk", "am", "xm", "jxxq")] == [True, False, False, True, True]


def test_a_length_that_is_too_large_to_count_is_asked_in_the_end() -> None:
    long = language({"type": "string", "not": {"maxLength": 131_072}})
    assert not long.takes_value("é" * 131_072)
    assert long.takes_value("é" * 131_073)
