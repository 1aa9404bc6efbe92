"""Special tokens and limited text in outputs: what is generated, what is shown of it, and what is made of it."""

from __future__ import annotations

from typing import Any

import pytest

from constrained import ToolCall, alt, free_text, many, optional, regex, seq, special, text_without, tool_calls, until
from constrained.api import Model
from constrained.errors import UnsupportedOutputType
from constrained.model import LoadedModel
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from grammars.errors import VocabularyError

START, END = "<|im_start|>", "<|im_end|>"  # the second ends a generation of the tiny model


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))


@pytest.mark.parametrize("forced", ["canonical", "exact", "off"])
@pytest.mark.parametrize("seed", range(3))
def test_thinking_ends_with_a_special_token(model: Model, forced: Any, seed: int) -> None:
    output = seq("Think: ", until(special(START), max_tokens=7), regex("[0-9]{3}"))
    result = model.generate("How many?", output, temperature=1.5, seed=seed, forced=forced, chat=False)
    start = model.tokenizer.token_id(START)
    assert result.complete
    assert result.token_ids.count(start) == 1
    before = result.token_ids.index(start)
    thought = b"".join(model.tokenizer.token_bytes(token_id) for token_id in result.token_ids[:before])
    behind = b"".join(model.tokenizer.token_bytes(token_id) for token_id in result.token_ids[before:])
    assert result.text == result.value == (thought + behind).decode()
    assert regex("Think: .*").automaton().accepts(map(ord, thought.decode().replace("\n", " ")))
    assert len(behind) == 3


@pytest.mark.parametrize("forced", ["canonical", "exact", "off"])
def test_an_end_token_in_the_middle_does_not_end(model: Model, forced: Any) -> None:
    output = seq("a", special(END), "b", special(START), special(END))
    result = model.generate("?", output, forced=forced, chat=False)
    ids = {name: model.tokenizer.token_id(name) for name in (START, END)}
    assert (result.text, result.stop_reason, result.complete) == ("ab", "grammar", True)
    assert [token_id for token_id in result.token_ids if token_id in ids.values()] == [ids[END], ids[START], ids[END]]
    if forced != "off":
        assert (result.usage.sampled_tokens, result.usage.forward_passes) == (0, 0)


def test_an_end_token_where_the_text_may_end_is_what_was_asked_for(model: Model) -> None:
    output = seq("a", optional(seq(special(END), "b")))
    end = model.tokenizer.token_id(END)
    for seed in range(8):
        result = model.generate("?", output, temperature=2.0, seed=seed, chat=False)
        assert (end in result.token_ids) == (result.text == "ab")


def test_streams_leave_special_tokens_out(model: Model) -> None:
    output = seq("one ", special(START), "two", special(END), " three")
    assert "".join(model.stream("?", output, chat=False)) == "one two three"


def test_a_stop_text_behind_special_tokens(model: Model) -> None:
    output = alt(seq("a", special(START), "b"), seq("a", special(START), "b", "STOP", "c"))
    result = model.generate("?", seq("a", special(START), "bSTOPc"), stop=("STOP",), chat=False)
    assert (result.text, result.stop_reason, result.complete) == ("ab", "stop_text", False)
    for seed in range(20):
        result = model.generate("?", output, stop=("STOP",), temperature=1.0, seed=seed, chat=False)
        if result.stop_reason == "stop_text":
            assert (result.text, result.complete) == ("ab", True)
            break
    else:
        pytest.fail("the stop text never came")


@pytest.mark.parametrize("parallel", [False, True])
def test_tool_calls_between_special_tokens(model: Model, parallel: bool) -> None:
    tools = tool_calls(
        {"f": {"enum": [1, 2]}, "<|im_start|>": {"enum": ["<|im_start|>", '"']}},
        opening=special(START),
        closing=special(END),
        parallel=parallel,
        required=True,
        max_text_tokens=3,
    )
    calls: list[ToolCall] = []
    for seed in range(6):
        result = model.generate(
            "?", tools, temperature=1.0, seed=seed, whitespace="compact", chat=False, max_tokens=400
        )
        assert result.complete
        assert len(result.value) == result.token_ids.count(model.tokenizer.token_id(START)) >= 1
        calls += result.value
    assert {call.name for call in calls} == {"f", "<|im_start|>"}
    assert all(call.arguments in ((1, 2) if call.name == "f" else ("<|im_start|>", '"')) for call in calls)


def test_text_that_looks_like_a_tag_is_no_call(model: Model) -> None:
    tools = tool_calls({"f": int}, opening=special(START), closing="!")
    assert tools.parse(f"{START}{{") == []
    mark = "\udcff<|im_start|>\udcff"
    assert tools.parse(f'{START} {mark}{{"name": "f", "arguments": 3}}!') == [ToolCall("f", 3)]


def test_limits_hold_in_generation(model: Model) -> None:
    for seed in range(5):
        result = model.generate("?", seq("Because ", free_text(max_tokens=4)), temperature=2.0, seed=seed, chat=False)
        assert result.complete
        assert result.usage.sampled_tokens <= 4 + 3 + 1  # at most three finish a character, one ends
        assert "\ufffd" not in result.text


def test_bad_words_between_special_tokens(model: Model) -> None:
    output = seq("a", special(START), alt("a", "b"), special(END), "c")
    for seed in range(5):
        result = model.generate("?", output, temperature=2.0, seed=seed, chat=False, bad_words=["aa", "bc"])
        assert result.text in ("aac", "abc")  # of texts that a special token parts, neither holds a word
        result = model.generate("?", output, temperature=2.0, seed=seed, chat=False, bad_words=["b"])
        assert result.text == "aac"


def test_what_is_shown() -> None:
    assert repr(until("a", special(5), max_tokens=3)) == "until('a', special(5), max_tokens=3)"
    assert repr(free_text()) == "free_text()"
    assert repr(text_without("a", max_tokens=2)) == "text_without('a', max_tokens=2)"


def test_digests_differ_where_languages_do() -> None:
    outputs = [special("a"), special(1), special("1"), until("a"), until(special("a")), until("a", max_tokens=1)]
    outputs += [until("a", max_tokens=2), free_text(), free_text(max_tokens=1), text_without("a"), many(special("a"))]
    assert len({output.digest for output in outputs}) == len(outputs)


ERRORS = [
    (lambda: special(""), "special: expected the name of a special token or its id, got ''"),
    (lambda: special(True), "special: expected the name of a special token or its id, got True"),
    (lambda: special(-1), "special: expected an id of at least 0, got -1"),
    (lambda: until("a", max_tokens=0), "until: max_tokens: expected a whole number of at least 1, got 0"),
    (lambda: free_text(max_tokens=1.5), "free_text: max_tokens: expected a whole number of at least 1, got 1.5"),
    (lambda: text_without(special("a")), "text_without: special('a') is no text and so in none; leave it out"),
    (lambda: tool_calls([1]), "tool_calls: expected a mapping from names of tools to their arguments' types, got list"),
    (lambda: tool_calls({1: int}), "tool_calls: expected names that are texts, got 1"),
]


@pytest.mark.parametrize(("make", "message"), ERRORS, ids=lambda value: str(value)[:30])
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(UnsupportedOutputType) as caught:
        make()
    assert str(caught.value) == message


def test_a_name_that_the_model_does_not_have(model: Model) -> None:
    with pytest.raises(VocabularyError, match=r"no special token '<\|im_ned\|>'; there is '<\|im_end\|>'"):
        model.compile(special("<|im_ned|>"))
