"""Validation of whole texts, by what no automaton follows too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammars.errors import UnsupportedSchema
from grammars.frontends.json_schema.final_check import FinalCheck


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"pattern": r"^(a|b)\1$"}, ["aa", 1], ["ab", "aaa", "aa\n"]),
        ({"pattern": r"^(?<x>a|b)[$]\k<x>$"}, ["a$a"], ["a$b", "aa"]),
        ({"not": {"pattern": r"(.)\1"}}, ["ab"], ["aa", 1]),
        (
            {"patternProperties": {r"^(.)\1$": {"type": "null"}}, "additionalProperties": {"multipleOf": 0.01}},
            [{"aa": None, "ab": 0.07}, {}],
            [{"aa": 1}, {"ab": 0.075}],
        ),
        (
            {"allOf": [{"patternProperties": {r"(.)\1": True}}], "unevaluatedProperties": False},
            [{"aa": 1}],
            [{"ab": 1}],
        ),
        (
            {"properties": {"a": {"$ref": "https://example.com/a"}, "b": {"pattern": r"(.)\1"}}},
            [{"a": 5}],
            [{"b": "ab"}],
        ),
        ({"pattern": r"(.)\1", "format": "date"}, ["2000-01-01"], ["2001-02-29", "aa"]),
    ],
)
def test_what_is_left_out_counts_in_the_end(schema: Any, valid: list[Any], invalid: list[Any]) -> None:
    check = FinalCheck(schema)
    assert check.notes
    assert [value for value in valid if not check.holds(json.dumps(value))] == []
    assert [value for value in invalid if check.holds(json.dumps(value))] == []


def test_nothing_is_left_out_of_most_schemas() -> None:
    check = FinalCheck({"uniqueItems": True, "format": "colour"})
    assert check.notes == ()
    assert [check.holds(text) for text in ("[1,2]", "[1,1.0]")] == [True, False]


def test_a_pattern_that_nothing_reads_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedSchema, match=r"/properties/a: pattern: nothing here can read the pattern 'x\('"):
        FinalCheck({"properties": {"a": {"pattern": "x("}}})
