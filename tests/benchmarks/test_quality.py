"""The quality benchmark counts what it says, on a tiny model and a schema that leaves it little choice."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from benchmarks.quality import STYLES, Measurement, _combinations, _parse, measure, table
from benchmarks.quality_documents import LabelledDocument
from benchmarks.quality_templates import TEMPLATES
from benchmarks.quality_validity import measure_validity
from constrained.api import Model
from constrained.model import LoadedModel
from constrained.testing.tiny import tiny_llama, tiny_tokenizer


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))


def document(properties: dict[str, Any], expected: dict[str, Any]) -> LabelledDocument:
    schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    rules = dict.fromkeys(properties, "exact")
    return LabelledDocument("note", "note", "en", "a note", schema, expected, rules)


@pytest.mark.parametrize("style", [style for style in STYLES if style != "free"])
def test_what_the_grammar_leaves_no_choice_about_is_right(model: Model, style: str) -> None:
    note = document({"kind": {"const": "note"}, "paid": {"type": "boolean"}}, {"kind": "note", "paid": "never a value"})
    counted = measure(model, [note, note], "names", style, max_tokens=200, show=False)
    assert (counted.fields_right, counted.fields) == (2, 4)
    assert (counted.documents_valid, counted.documents) == (2, 2)
    assert 0 < counted.forced_tokens < counted.output_tokens


def test_an_answer_that_is_cut_off_is_wrong_and_invalid(model: Model) -> None:
    note = document({"kind": {"const": "note"}, "text": {"type": "string", "minLength": 500}}, {"kind": "note"})
    counted = measure(model, [note], "names", "compact", max_tokens=50, show=False)
    assert (counted.fields_right, counted.documents_valid, counted.output_tokens) == (0, 0, 50)


def test_noise_without_a_grammar_is_no_answer(model: Model) -> None:
    note = document({"kind": {"const": "note"}}, {"kind": "note"})
    counted = measure(model, [note], "bare", "free", max_tokens=20, show=False)
    assert (counted.fields_right, counted.documents_valid, counted.forced_tokens) == (0, 0, 0)


def test_texts_of_the_worked_example_are_counted_as_leaked(model: Model) -> None:
    note = document({"customer": {"const": "Carla Mendes"}}, {"customer": "another"})
    assert measure(model, [note], "library", "spaced", max_tokens=100, show=False).fields_leaked == 1
    assert measure(model, [note], "names", "spaced", max_tokens=100, show=False).fields_leaked == 0


def test_validity_counts_runs_and_repetitions(model: Model) -> None:
    note = document({"size": {"enum": [1, 2, 3, 4]}}, {"size": 1})
    endless = document({"text": {"type": "string", "minLength": 500}}, {"text": ""})
    said: list[str] = []
    validity = measure_validity(model, [note, endless], runs=6, say=said.append, max_tokens=60)
    assert (validity.runs, validity.valid, validity.invalid) == (6, 3, ())
    assert validity.cut_off == ("seed 1, note", "seed 3, note", "seed 5, note")
    assert (validity.repeated, validity.repeated_alike) == (2, 2)
    assert len(said) == 6


def test_rows_of_the_table_are_sorted_by_fields_right() -> None:
    rows = [Measurement("names", style, right, 9, 0, 1, 1, 7, 3, 0.5) for style, right in (("free", 2), ("spaced", 5))]
    head, first, second = table(rows).splitlines()
    assert "fields right" in head
    assert "5/9" in first
    assert "2/9" in second
    assert len(head) == len(first) == len(second)


def test_combinations() -> None:
    every = _combinations(None, None)
    assert {style for _, style in every} == set(STYLES)
    assert {template for template, _ in every} == set(TEMPLATES)
    assert len(set(every)) == len(every) == len(STYLES) + len(TEMPLATES)
    assert _combinations(["names", "bare"], ["free"]) == [("names", "free"), ("bare", "free")]
    assert _combinations(["names"], None) == [("names", style) for style in STYLES]


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--styles", "pretty"], ["--templates", "names,none"]])
def test_bad_options_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        _parse(arguments)
    assert refused.value.code == 2
    assert "expected" in capsys.readouterr().err
    assert isinstance(_parse([]), argparse.Namespace)
