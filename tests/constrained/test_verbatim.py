"""Output types whose text must be taken from a source, end to end on the tiny model."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from constrained import Model, Verbatim, alt, json_schema, lark, seq, tool_calls, verbatim
from constrained.compiling import Grammars
from constrained.errors import UnsupportedOutputType
from constrained.model import LoadedModel
from constrained.output_types import output_type_from
from constrained.spans import find_spans
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from grammars.errors import SourceError, UnsupportedSchema

SOURCE = 'Dear Ann,\r\nthe "Hazel & Sons" invoice (No. 7) is over 1,250.50 € now. Ann'
NAMED = {"type": "object", "properties": {"name": {"type": "string", "x-verbatim": True}}, "required": ["name"],
         "additionalProperties": False}  # fmt: skip


class Letter(BaseModel):
    to: Annotated[str, Verbatim()]
    parts: list[Annotated[str, Verbatim("characters")]]
    note: str | None = None


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))


@pytest.mark.parametrize("seed", range(3))
def test_values_stand_in_the_source(model: Model, seed: int) -> None:
    wanted = output_type_from(tuple[Annotated[str, Verbatim()], Annotated[str, Verbatim("characters")], bool])
    result = model.generate("?", wanted, source=SOURCE, temperature=1.0, seed=seed, max_tokens=400)
    assert model.compile(wanted, source=SOURCE).matcher().consume_bytes(result.text.encode())
    if result.complete:
        by_words, by_characters, _ = result.value
        assert by_words in SOURCE
        assert by_characters in SOURCE
        assert [SOURCE[start:end] for start, end in result.spans.values()] == [by_words, by_characters]
        assert list(result.spans) == ["/0", "/1"]
        assert result.to_dict()["spans"] == {pointer: list(span) for pointer, span in result.spans.items()}


def test_extract_takes_from_its_document(model: Model) -> None:
    document = "Ann owes Bo 3 apples"
    result = model.extract(document, NAMED, chat=False, max_tokens=200, temperature=1.0)
    grammar = model.compile(NAMED, source=document)
    assert grammar.matcher().consume_bytes(result.text.encode())
    assert not grammar.matcher().consume_bytes(b'{\n  "name": "Anne"')


def test_a_stream_tells_spans_too(model: Model) -> None:
    stream = model.stream("?", verbatim(by="characters"), source="aaaa", max_tokens=3)
    text = "".join(stream)
    assert set(text) <= {"a"}
    if stream.result.complete:
        assert stream.result.spans == {"": (0, len(text))}


def test_without_a_source_it_is_an_error(model: Model) -> None:
    with pytest.raises(SourceError, match="pass the text as source="):
        model.generate("?", NAMED)
    with pytest.raises(SourceError, match="source: expected a text to take verbatim pieces from, got one of white"):
        model.generate("?", NAMED, source="\n")
    with pytest.raises(TypeError, match="source: expected a str, got int 3"):
        model.generate("?", NAMED, source=3)  # type: ignore[arg-type]


def test_a_source_that_nothing_asks_for_is_an_error(model: Model) -> None:
    with pytest.raises(ValueError, match="source: nothing of the output type is taken from it; mark strings by"):
        model.generate("?", {"type": "string"}, source=SOURCE)
    with pytest.raises(ValueError, match="source: free text is not taken from it"):
        model.generate("?", source=SOURCE)


def takes(model: Model, wanted: Any, text: str, source: str | None = None) -> bool:
    matcher = model.compile(wanted, whitespace="spaced", source=source).matcher()
    return matcher.consume_bytes(text.encode()) and matcher.is_accepting


def test_pieces_of_a_document_of_their_own(model: Model) -> None:
    quote = seq("> ", verbatim(SOURCE), "\n", alt("yes", "no"))
    assert takes(model, quote, "> Hazel & Sons\nno")
    assert not takes(model, quote, "> Hazel Sons\nno")
    assert not output_type_from(quote).takes_source


def test_pieces_of_the_source(model: Model) -> None:
    cited = seq(verbatim(), " -- ", Letter)
    letter = '{"to": "Ann", "parts": ["azel", "(No"], "note": "anything"}'
    assert takes(model, cited, f"1,250.50 € -- {letter}", SOURCE)
    assert not takes(model, cited, f"1,250.50 € -- {letter.replace('Ann', 'An')}", SOURCE)
    assert takes(model, lark('start: "=" %json {"type": "string", "x-verbatim": true}'), '="No"', SOURCE)
    calls = tool_calls({"write": Letter})
    assert calls.takes_source
    assert takes(
        model, calls, "ok <tool_call>\n" + f'{{"name": "write", "arguments": {letter}}}' + "\n</tool_call>", SOURCE
    )


def test_every_free_string_of_a_type(model: Model) -> None:
    class Free(BaseModel):
        who: str
        what: str | None

    strict = json_schema(Free, verbatim="words")
    assert takes(model, strict, '{"who": "Ann", "what": null}', SOURCE)
    assert not takes(model, strict, '{"who": "Bo", "what": null}', SOURCE)
    assert output_type_from(Free).digest != strict.digest
    with pytest.raises(UnsupportedOutputType, match="verbatim: expected 'words' or 'characters', got 'lines'"):
        json_schema(Free, verbatim="lines")  # type: ignore[arg-type]


def test_what_cannot_be_enforced_is_refused_by_name(model: Model) -> None:
    with pytest.raises(UnsupportedSchema, match="maxLength: cannot be enforced together with x-verbatim"):
        model.compile({"type": "string", "maxLength": 9, "x-verbatim": True}, source=SOURCE)
    with pytest.raises(UnsupportedOutputType, match=r"written as array; expected it on str, as in list\[Annotated"):
        output_type_from(Annotated[list[str], Verbatim()])
    for by in ("lines", None):
        with pytest.raises(UnsupportedOutputType, match="expected 'words' or 'characters', got"):
            Verbatim(by)  # type: ignore[arg-type]
        with pytest.raises(UnsupportedOutputType, match="expected 'words' or 'characters', got"):
            verbatim(by=by)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedOutputType, match="verbatim: expected the document as a str, got bytes"):
        verbatim(b"a")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedOutputType, match="verbatim: document: expected a text to take verbatim pieces from"):
        verbatim(" ")


def test_grammars_of_sources_do_not_push_out_the_others(model: Model) -> None:
    grammars, vocabulary = Grammars(max_bytes=4_000_000), model.engine.vocabulary
    plain = grammars.get(output_type_from(bool), whitespace="spaced", vocabulary=vocabulary)
    wanted = output_type_from(NAMED)
    compiled = [grammars.get(wanted, whitespace="spaced", vocabulary=vocabulary, source=f"text {n}") for n in range(20)]
    assert len({grammar.ir.rule_names for grammar in compiled}) == 1
    assert all(grammar.ir.nodes is compiled[0].ir.nodes for grammar in compiled)  # lowered once
    last = grammars.get(wanted, whitespace="spaced", vocabulary=vocabulary, source="text 19")
    assert last is compiled[-1]
    assert grammars.get(output_type_from(bool), whitespace="spaced", vocabulary=vocabulary) is plain
    mere_mention = output_type_from({"type": "boolean", "description": 'like "x-verbatim"', "x-verbatim": True})
    sources = (None, "text 1", "text 2")
    kept = {id(grammars.get(mere_mention, whitespace="spaced", vocabulary=vocabulary, source=one)) for one in sources}
    assert len(kept) == 1


def test_spans_prefer_whole_words() -> None:
    value = '{"a/b": "Ann", "c~": ["and", "over 1,250.50", {"": "missing"}], "e": ""}'
    assert find_spans(value, "Annie, Ann and over 1,250.50", is_json=True) == {
        "/a~1b": (7, 10),
        "/c~0/0": (11, 14),
        "/c~0/1": (15, 28),
    }
    assert find_spans("nni", "Annie nni", is_json=False) == {"": (6, 9)}
    assert find_spans("nn", "Annie", is_json=False) == {"": (1, 3)}
