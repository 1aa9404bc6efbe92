"""Patterns: found anywhere (ECMA-262), alone and together with lengths, formats, given values and each other."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.errors import UnsatisfiableGrammar, UnsupportedSchema

from .texts import language

PATTERNS = (
    "a",
    "^a",
    "b$",
    "^[ab]+$",
    "^a{2,3}$",
    "^(ab|b)*$",
    "^(?!a)",
    "a.b",
    "^$",
    "\\n",
    "[^a]",
    "\\bb",
    '"',
    "é|\\\\",
)
TEXTS = st.text(st.sampled_from('ab"\\\n é\U0001f680'), max_size=5)


@settings(max_examples=150, deadline=None)
@given(
    patterns=st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2, unique=True),
    least=st.integers(0, 3),
    most=st.integers(0, 4) | st.none(),
    text=TEXTS,
    whitespace=st.sampled_from(("compact", "any")),
)
def test_patterns_are_searched_for(
    patterns: list[str], least: int, most: int | None, text: str, whitespace: str
) -> None:
    schema: dict[str, Any] = {"type": "string", "minLength": least, "pattern": patterns[0]}
    if most is not None:
        schema["maxLength"] = most
    schema["allOf"] = [{"pattern": pattern} for pattern in patterns[1:]] or [{}]
    expected = least <= len(text) and (most is None or len(text) <= most)
    # in Python a dollar sign also stands before a line break at the end
    expected = expected and all(re.search(pattern.replace("$", r"\Z"), text, re.ASCII) for pattern in patterns)
    try:
        taken = language(schema, whitespace)
    except UnsatisfiableGrammar:
        assert not expected
        return
    assert taken.takes_value(text) == expected


def test_beside_formats_and_given_values() -> None:
    leap = language({"type": "string", "format": "date", "pattern": "-02-29$"})
    assert leap.takes_value("2024-02-29")
    assert not leap.takes_value("2023-02-29")
    assert not leap.takes_value("2024-02-28")
    both = language({"type": "string", "format": "uri", "allOf": [{"format": "uri-reference"}], "maxLength": 3})
    assert [text for text in ("a:", "a:b", "a", "a:bc") if both.takes_value(text)] == ["a:", "a:b"]
    chosen = language({"enum": ["ab", "b", 5, "2024-02-30", "2024-02-29"], "pattern": "b$|^2", "format": "date"})
    assert [value for value in ("ab", "b", 5, "2024-02-30", "2024-02-29") if chosen.takes_value(value)] == [
        5,
        "2024-02-29",
    ]


def test_branches_told_apart_by_their_patterns() -> None:
    schema = {"oneOf": [{"pattern": "^a"}, {"pattern": "^[b-z]"}, {"type": "string", "pattern": "^[0-9]{3}$"}]}
    taken = language(schema | {"type": "string"})
    assert [text for text in ("a", "bz", "123", "12", "A") if taken.takes_value(text)] == ["a", "bz", "123"]


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{2,1}", "\\p{Nonsense}", "(a)\\1"])
def test_what_is_no_pattern_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        language({"properties": {"a": {"type": "string", "pattern": pattern}}})
    assert [(problem.pointer, problem.keyword) for problem in caught.value.problems] == [("/properties/a", "pattern")]
    assert language({"type": "integer", "pattern": pattern}).takes_value(5)
