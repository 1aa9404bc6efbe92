"""Tool calls: what may be written, and what is made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from constrained import ToolCall, regex, tool_calls
from constrained.combinators.tools import ToolCallsType
from constrained.errors import UnsupportedOutputType
from tests.reference.recogniser import Recogniser


class Weather(BaseModel):
    city: str


TOOLS: dict[str, Any] = {"weather": Weather, 'a"b': {"type": "array", "items": {"type": "string"}}}


def call(name: str, arguments: Any) -> str:
    return f'<tool_call>\n{{"name": {json.dumps(name)}, "arguments": {json.dumps(arguments)}}}\n</tool_call>'


def takes(tools: ToolCallsType, text: str) -> bool:
    recogniser = Recogniser(tools.lower(whitespace="spaced"))
    return recogniser.chart().read_all(text.encode()).is_accepting


PARIS, LIST = call("weather", {"city": "Paris"}), call('a"b', ["}]</tool_call>", '\\"{'])


@pytest.mark.parametrize(
    ("options", "accepted", "refused"),
    [
        (
            {},
            ["", "Hi.", PARIS, "Let me see.\n" + LIST],
            [PARIS + "x", PARIS + "\n" + LIST, "<tool_call>\n", call("no", {})],
        ),
        ({"parallel": True}, ["", PARIS + "\n" + LIST + "\n" + PARIS], [PARIS + LIST, PARIS + "\n"]),
        ({"required": True}, ["a" + PARIS], ["", "a"]),
        ({"free_text": False}, ["", PARIS], ["a", "a" + PARIS]),
        ({"free_text": False, "required": True}, [PARIS], [""]),
    ],
)
def test_language(options: dict[str, bool], accepted: list[str], refused: list[str]) -> None:
    tools = tool_calls(TOOLS, **options)
    assert [text for text in accepted if not takes(tools, text)] == []
    assert [text for text in refused if takes(tools, text)] == []


def test_values() -> None:
    tools = tool_calls(TOOLS, parallel=True)
    paris, lists = ToolCall("weather", Weather(city="Paris")), ToolCall('a"b', ["}]</tool_call>", '\\"{'])
    assert tools.parse("Hello <tool_call>") == []
    assert tools.parse("Well. " + PARIS) == [paris]
    assert tools.parse(PARIS + "\n" + LIST + "\n" + PARIS) == [paris, lists, paris]


def test_openings_that_overlap_with_the_text_before() -> None:
    tools = tool_calls({"f": int}, opening="aa", closing="b")
    assert takes(tools, 'aa{"name": "f", "arguments": 1}b')
    assert not takes(tools, 'aaa{"name": "f", "arguments": 1}b')
    assert tools.parse('xaa{"name": "f", "arguments": 1}b') == [ToolCall("f", 1)]


def test_errors() -> None:
    with pytest.raises(UnsupportedOutputType, match="expected at least one tool, got none"):
        tool_calls({})
    with pytest.raises(UnsupportedOutputType, match=r"expected a type or JSON Schema for 'f', got regex\('a'\)"):
        tool_calls({"f": regex("a")})
    with pytest.raises(
        UnsupportedOutputType,
        match="expected an opening and a closing that are special tokens or text, not empty, got ''",
    ):
        tool_calls(TOOLS, opening="")
