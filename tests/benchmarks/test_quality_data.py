"""The labelled documents are well formed, and the scoring says right and wrong where it should."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarks.quality_documents import (
    ABSENT,
    RULES,
    LabelledDocument,
    bounded,
    first_json_object,
    load_documents,
    same_exactly,
    same_number,
    same_set,
    same_text,
    score,
)

DOCUMENTS = load_documents()
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.id)


def with_value(answer: Any, path: str, value: Any) -> Any:
    """A copy of an answer with another value at `path`."""
    changed = copy.deepcopy(answer)
    *outer, last = path.split("/")
    place = changed
    for key in outer:
        place = place[key]
    place[last] = value
    return changed


def leaves(value: Any, path: str = "") -> list[str]:
    if not isinstance(value, dict):
        return [path]
    return [leaf for key, inner in value.items() for leaf in leaves(inner, f"{path}/{key}" if path else key)]


def errors(document: LabelledDocument, answer: Any) -> list[str]:
    validator = Draft202012Validator(document.schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return [error.message for error in validator.iter_errors(answer)]


@each_document
def test_expected_answer_and_alternatives_are_valid(document: LabelledDocument) -> None:
    Draft202012Validator.check_schema(document.schema)
    assert errors(document, document.expected) == []
    for path in document.alternatives:
        for value in document.accepted(path):
            assert errors(document, with_value(document.expected, path, value)) == []


@each_document
def test_bounds_leave_the_expected_answer_valid_and_end_every_text(document: LabelledDocument) -> None:
    ended = bounded(document)
    assert errors(ended, document.expected) == []
    for path, rule in document.rules.items():
        if rule == "text":
            assert errors(ended, with_value(document.expected, path, "x" * 80)) == []
            assert errors(ended, with_value(document.expected, path, "x" * 81)) != []
        if rule == "set":
            assert errors(ended, with_value(document.expected, path, ["x"] * 9)) != []


@each_document
def test_every_field_has_a_rule(document: LabelledDocument) -> None:
    assert sorted(document.rules) == sorted(leaves(document.expected))
    assert set(document.rules.values()) <= set(RULES)
    assert set(document.alternatives) <= set(document.rules)


@each_document
def test_expected_answer_scores_full_and_no_answer_scores_nothing(document: LabelledDocument) -> None:
    full = score(document, document.expected)
    assert (full.right, full.total, full.wrong) == (len(document.rules), len(document.rules), {})
    nothing = score(document, None)
    assert nothing.right == 0
    assert set(nothing.wrong.values()) == {ABSENT}


@each_document
def test_one_spoilt_field_costs_one(document: LabelledDocument) -> None:
    for path in document.rules:
        spoilt = score(document, with_value(document.expected, path, "no such value"))
        assert spoilt.wrong == {path: "no such value"}


@each_document
def test_text_answers_stand_in_the_document_or_are_named_by_the_schema(document: LabelledDocument) -> None:
    """A label that its document does not support would measure nothing."""
    text = "".join(document.text.casefold().split())
    for path, rule in document.rules.items():
        value = document.accepted(path)[0]
        if rule == "text" and value is not None:
            assert "".join(value.casefold().split()) in text, path
        if rule == "set":
            assert all("".join(item.casefold().split()) in text for item in value), path


def test_the_set_is_wide_enough() -> None:
    assert len({document.id for document in DOCUMENTS}) == len(DOCUMENTS)
    assert sum(len(document.rules) for document in DOCUMENTS) >= 60
    assert len({document.kind for document in DOCUMENTS}) >= 10
    assert len({document.language for document in DOCUMENTS}) >= 8
    types = Counter(type(document.accepted(path)[0]) for document in DOCUMENTS for path in document.rules)
    assert min(types[kind] for kind in (str, int, float, bool, list, type(None))) >= 4


@pytest.mark.parametrize(
    ("rule", "value", "right", "same"),
    [
        (same_exactly, "A1", "A1", True),
        (same_exactly, "a1", "A1", False),
        (same_exactly, 1, True, False),
        (same_exactly, None, None, True),
        (same_text, " green  leaf\nmarket", "Green Leaf Market", True),
        (same_text, "Cafe\u0301", "Caf\u00e9", True),
        (same_text, "STRASSE", "Straße", True),
        (same_text, "Green Leaf", "Green Leaf Market", False),
        (same_text, None, None, True),
        (same_text, None, "None", False),
        (same_text, 3, "3", False),
        (same_number, 12, 12.0, True),
        (same_number, True, 1, False),
        (same_number, "12", 12, False),
        (same_number, 12.5, 12, False),
        (same_number, None, 0, False),
        (same_set, ["b", "A "], ["a", "B"], True),
        (same_set, ["a", "a"], ["a"], False),
        (same_set, "a", ["a"], False),
        (same_set, [1], ["1"], False),
    ],
)
def test_rules(rule: Any, value: Any, right: Any, same: bool) -> None:
    assert rule(value, right) is same


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no object", None),
        ("[1, 2]", None),
        ('{broken {"a": 1} {"b": 2}', {"a": 1}),
        ('{"a": {"b": "}"}} tail', {"a": {"b": "}"}}),
        ("", None),
    ],
)
def test_first_json_object(text: str, found: Any) -> None:
    assert first_json_object(text) == found
