"""Layouts: all is forced, or every run is bounded, or all that JSON allows is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .texts import language

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"type": "object"}},
    "required": ["a"],
}
VALUES: list[Any] = [{"a": []}, {"a": [1, 2], "b": {}}, {"a": [1], "b": {"x": [{}, [], {"y": "z"}]}, "c": [[1], None]}]


@pytest.mark.parametrize("indent", range(9))
def test_indents_are_those_of_json_dumps(indent: int) -> None:
    taken = language(SCHEMA, f"indent={indent}")
    for value in VALUES:
        assert taken.takes(json.dumps(value, indent=indent, ensure_ascii=False))
        assert not taken.takes(json.dumps(value, indent=indent + 1))
        if value["a"]:
            assert not taken.takes(json.dumps(value))


def test_one_line_layouts_allow_one_text() -> None:
    text = '{"a": [1, 2], "b": {"x": 1}}'
    tight = text.replace(" ", "")
    assert (language(SCHEMA, "spaced").takes(text), language(SCHEMA, "spaced").takes(tight)) == (True, False)
    assert (language(SCHEMA, "compact").takes(text), language(SCHEMA, "compact").takes(tight)) == (False, True)


def test_flexible_runs_are_bounded() -> None:
    taken = language(SCHEMA, "flexible")
    for value in VALUES:
        for options in ({}, {"indent": 1}, {"indent": "\t"}, {"indent": 8}, {"separators": (",", ":")}):
            assert taken.takes(json.dumps(value, **options))
    assert taken.takes('{ "a" : [ 1 , 2 ] }')
    assert taken.takes('{"a":[1,\r\n2]}')
    assert not taken.takes('{"a":[1,  2]}')
    assert not taken.takes('{"a":[1,\n\n2]}')
    assert not taken.takes('{"a":[1,\n' + " " * 65 + "2]}")
    assert not taken.takes(' {"a":[]}')


def test_any_takes_all_whitespace_and_no_other() -> None:
    taken = language(SCHEMA, "any")
    assert taken.takes('\n\t {\r\n "a"  :\t[ \n1\t,  2 ] ,"b":{ } } \n')
    assert taken.takes('{"a":[]}')
    for text in ('{"a":[1 2]}', '{"a":[- 1]}', '{\u000b"a":[]}', '{"a":[]\u00a0}', '{"a ":[]}', '{"a":[1,]}'):
        assert not taken.takes(text)
