"""The parts of the comparison with llguidance that need no vocabulary: judges, and what a text's end is a part of."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.mask_differences import alterations
from benchmarks.mask_documents import canonical_value, floats_of, judge, repeats_names, where_of

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"day": {"type": "string", "format": "date"}, "format": {"type": "integer", "minimum": 3}},
}


@pytest.mark.parametrize(
    ("document", "errors"),
    [
        (b'{"day": "2024-02-29"}', ()),
        (b'{"day": "2023-02-29"}', ("format",)),
        (b'{"format": 2}', ("minimum",)),
        (b'{"format": NaN}', ("json",)),
        (b'{"format": 3', ("json",)),
        (b"[]", ("type",)),
    ],
)
def test_documents_are_judged_as_json_and_by_the_schema(document: bytes, errors: tuple[str, ...]) -> None:
    assert judge(document, SCHEMA) == errors


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b'{"a', "names"),
        (b'{"a": {"b\\n', "names (escapes)"),
        (b'{"a": "b', "strings"),
        (b'["a", "b', "strings"),
        (b'{"a": [1, {}], "b', "names"),
        (b'{"a": 1.5e', "numbers"),
        (b'{"a": -', "numbers"),
        (b'{"a": [], ', "punctuation"),
        (b'{"a\\"": "\\\\", "b', "names"),
    ],
)
def test_the_end_of_a_text_is_a_part_of(text: bytes, part: str) -> None:
    assert where_of(text) == part


def test_names_that_stand_twice_are_seen_at_every_depth() -> None:
    assert repeats_names(b'[{"a": {"b": 1, "b": 1}}]')
    assert not repeats_names(b'[{"a": {"a": 1}}, {"a": 1}]')
    assert not repeats_names(b'{"a": 1, "a"')


def test_canonical_values_write_whole_numbers_as_integers() -> None:
    assert repr(canonical_value({"a": [1.0, 1.5, True, "1.0"]})) == "{'a': [1, 1.5, True, '1.0']}"


def test_numbers_are_written_with_a_point_where_the_schema_does() -> None:
    floats = floats_of({"enum": [2.0, 1.5, 3]})
    assert floats == {2.0}
    assert repr(canonical_value([2, 3.0], floats=floats)) == "[2.0, 3]"


def test_each_keyword_is_taken_out_alone_and_properties_of_its_name_stay() -> None:
    changed = dict(alterations(SCHEMA))
    assert set(changed) == {"format date", "minimum"}
    assert changed["format date"]["properties"] == {
        "day": {"type": "string"},
        "format": {"type": "integer", "minimum": 3},
    }
    assert changed["minimum"]["properties"]["format"] == {"type": "integer"}


def test_what_stands_beside_a_reference_is_taken_out_as_old_drafts_read_it() -> None:
    schema = {"properties": {"a": {"$ref": "#/definitions/b", "type": "null"}}, "definitions": {"b": {}}}
    changed = dict(alterations(schema))["$ref beside other keywords"]
    assert changed["properties"]["a"] == {"$ref": "#/definitions/b"}
    assert changed["definitions"] == {"b": {}}


def test_patterns_of_names_are_taken_out_so_that_every_name_is_allowed() -> None:
    schema = {"patternProperties": {"^a": {"minimum": 1}}, "additionalProperties": False, "type": "object"}
    assert dict(alterations(schema))["patternProperties"] == {"type": "object"}
