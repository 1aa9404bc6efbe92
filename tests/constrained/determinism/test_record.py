"""Records: their form, what is refused, and output types that come back as they went in."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from constrained import alt, choice, gbnf, json_schema, lark, many, optional, regex, seq, tool_calls, until
from constrained.api import Model
from constrained.determinism import RunRecord, record_schema
from constrained.determinism.canonical import canonical_text, write_atomically
from constrained.determinism.wanted import describe, rebuild
from constrained.errors import RecordRefused
from constrained.output_types import output_type_from

from .conftest import SCHEMA, Record


def test_the_form_is_that_of_its_schema(record: Record) -> None:
    Draft202012Validator.check_schema(record_schema())
    made = record()
    assert list(Draft202012Validator(record_schema()).iter_errors(made.document)) == []
    assert made.text == canonical_text(json.loads(made.text)) + "\n"
    for name in made.document:  # nothing of it may be left out, and nothing be added
        assert list(Draft202012Validator(record_schema()).iter_errors({**made.document, "more": 1}))
        without = {key: value for key, value in made.document.items() if key != name}
        assert list(Draft202012Validator(record_schema()).iter_errors(without)), name


def test_steps_and_forced_ids_make_up_the_output(record: Record) -> None:
    made = record().document
    drawn = {step["position"]: step["token"] for step in made["steps"] if step["kept"]}
    ids = made["output"]["token_ids"]
    assert sorted([*(place for place in drawn if place < len(ids)), *made["output"]["forced"]]) == list(range(len(ids)))
    assert all(ids[place] == token for place, token in drawn.items() if place < len(ids))


def test_what_was_taken_back_is_told(record: Record) -> None:
    schema = {"type": "array", "items": {"enum": [0, 1, 2]}, "uniqueItems": True, "minItems": 3, "maxItems": 3}
    made = record(output_type=json_schema(schema), temperature=3.0, seed=1).document
    kept = [step["position"] for step in made["steps"] if step["kept"]]
    assert kept == sorted(set(kept))
    assert (len(kept) == len(made["steps"])) == (made["output"]["rolled_back_tokens"] == 0)


def test_a_truncated_record_is_refused_wherever_it_is_cut(record: Record) -> None:
    text = record().text
    for stop in [0, 1, 10, len(text) // 2, len(text) - 3]:
        with pytest.raises(RecordRefused, match=r"truncated|foreign"):
            RunRecord.from_text(text[:stop])
    with pytest.raises(RecordRefused, match="truncated: it ends after"):
        RunRecord.from_text(text[: len(text) // 2])


def test_an_edited_record_is_refused(record: Record) -> None:
    made = record()

    def changed(change: Any) -> str:
        document = copy.deepcopy(dict(made.document))
        change(document)
        return json.dumps(document)

    for change in (
        lambda document: document["output"]["token_ids"].__setitem__(3, 7),
        lambda document: document["request"]["sampling"].update(seed=8),
        lambda document: document["steps"][0].update(token=1),
        lambda document: document["steps"].pop(),
    ):
        with pytest.raises(RecordRefused, match="edited: its digest says"):
            RunRecord.from_text(changed(change))
    with pytest.raises(RecordRefused, match=r"edited or damaged: \['steps'\]\[0\]\['mask'\]"):
        RunRecord.from_text(changed(lambda document: document["steps"][0].update(mask="no digest")))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "foreign: expected a JSON object"),
        ('{"format": "other"}', "foreign: expected a JSON object"),
        ('{"format": "constrained run record", "version": 2}', "expected version 1, got 2; another release"),
        ("hello", "foreign or damaged: it is not JSON"),
        ("[" * 100_000, "nested too deeply|not JSON"),
    ],
)
def test_a_foreign_file_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RecordRefused, match=reason):
        RunRecord.from_text(text)


def test_files_that_are_no_text_or_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("binary", "missing", "."):
        with pytest.raises(RecordRefused):
            RunRecord.from_file(tmp_path / name)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    write_atomically(path, "first")

    def fail(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no room"):
        write_atomically(path, "second")
    assert (path.read_text(), [entry.name for entry in tmp_path.iterdir()]) == ("first", ["run.json"])


def test_where_no_record_can_be_is_told_before_any_work(model: Model, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="record: expected the path of a file, got that of a file in a folder"):
        model.generate("Tea?", record=tmp_path / "missing" / "run.json")
    with pytest.raises(ValueError, match="got that of a folder"):
        model.generate("Tea?", record=tmp_path)
    with pytest.raises(TypeError, match="record: expected the path of a file"):
        model.generate("Tea?", record=7)  # type: ignore[arg-type]


def test_a_stream_is_recorded_too(model: Model, tmp_path: Path) -> None:
    options: dict[str, Any] = {"temperature": 1.0, "seed": 3, "max_tokens": 40}
    list(model.stream("Tea?", SCHEMA, record=tmp_path / "stream.json", **options))
    model.generate("Tea?", SCHEMA, record=tmp_path / "whole.json", **options)
    assert (tmp_path / "stream.json").read_text() == (tmp_path / "whole.json").read_text()


@pytest.mark.parametrize(
    "wanted",
    [
        SCHEMA,
        list[int],
        json_schema(SCHEMA, property_order="any", ensure_ascii=True),
        regex("[a-z]+"),
        regex("[a-z]+") - regex("if|else"),
        ~(regex("a+") & regex("[^b]*")),
        choice(["yes", "no"]),
        gbnf('root ::= "a" | "b"'),
        lark('start: "a" | "b"'),
        seq("a", optional(regex("b+")), many(alt("x", int), sep=",", minimum=1, maximum=3)),
        until("END"),
        tool_calls({"add": SCHEMA}),
    ],
    ids=repr,
)
def test_output_types_come_back_as_they_went_in(wanted: Any) -> None:
    before = output_type_from(wanted)
    described = describe(before)
    after = rebuild(json.loads(canonical_text(described)))
    assert describe(after) == described
    assert described["kind"] != "opaque"
    assert repr(after.lower(whitespace="indent=2")) == repr(before.lower(whitespace="indent=2"))


def test_a_type_that_json_cannot_say_is_named() -> None:
    import referencing

    described = describe(json_schema(SCHEMA, registry=referencing.Registry()))
    assert described["kind"] == "opaque"
    with pytest.raises(RecordRefused, match="does not hold the output type"):
        rebuild(described)
