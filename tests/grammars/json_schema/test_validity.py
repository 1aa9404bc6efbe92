"""Validity of finished values, as guards ask for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammars.errors import GrammarError
from grammars.frontends.json_schema.load import load_schema
from grammars.frontends.json_schema.normalise import Normaliser
from grammars.frontends.json_schema.validity import Validity
from grammars.guards.reading import parse
from grammars.limits import DEFAULT_LIMITS

from ...official_suite import WHY_NOT
from .test_official_suite import DRAFTS, files, remotes, suite


def validity_of(schema: Any, *, registry: Any = None) -> tuple[Validity, Any]:
    normaliser = Normaliser(load_schema(schema, limits=DEFAULT_LIMITS, registry=registry), assert_formats=False)
    validity = Validity(normaliser.document, normaliser.targets, assert_formats=False)
    return validity, normaliser.goal(normaliser.references.start)


@pytest.mark.parametrize("name", DRAFTS)
def test_official_suite(name: str) -> None:
    root = suite()
    if root is None:
        pytest.skip(WHY_NOT)
    registry = remotes(root, name)
    wrong: list[str] = []
    refused: list[str] = []
    judged = 0
    required = [path for path, formats in files(root / name) if formats == "annotate"]  # formats are the grammar's own
    for path in required:
        for group in json.loads(path.read_text(encoding="utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": DRAFTS[name], **schema}
            place = f"{path.stem}: {group['description']}"
            try:
                validity, goal = validity_of(schema, registry=registry)
                fault = validity.fault(goal)
                if fault is not None:
                    raise GrammarError(fault)
            except GrammarError as error:
                refused.append(f"{place}: {error}")
                continue
            for test in group["tests"]:
                judged += 1
                if validity.holds(goal, parse(json.dumps(test["data"]).encode())) != test["valid"]:
                    wrong.append(f"{place}: {test['description']}")
    assert judged > 500
    assert (wrong, refused) == ([], [])


def test_numbers_are_exact() -> None:
    validity, goal = validity_of({"multipleOf": 0.01, "minimum": 0.1, "exclusiveMaximum": 12345678901234567890})
    for text, valid in [("0.07", False), ("0.17", True), ("0.175", False), ("12345678901234567889", True)]:
        assert validity.holds(goal, parse(text.encode())) == valid, text
    assert not validity.holds(goal, parse(b"12345678901234567890"))


def test_values_are_compared_as_json_compares_them() -> None:
    validity, goal = validity_of({"enum": [1, {"a": [0.5, True]}, None]})
    for text in ("1", "1.0", "10e-1", '{"a":[5e-1,true]}', "null"):
        assert validity.holds(goal, parse(text.encode())), text
    for text in ("true", '{"a":[0.5,1]}', "false", '"1"', '{"a":[0.5,true],"b":0}'):
        assert not validity.holds(goal, parse(text.encode())), text
