"""Faults that users of tools like ours have met."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.reference.recogniser import accepts

from .matching import full_ir

CASES = json.loads((Path(__file__).parents[2] / "data" / "field_cases.json").read_text())
REGEXES = [case for case in CASES if case["kind"] == "regex"]


def text_bytes(text: str) -> bytes:
    return text.encode("utf-16", "surrogatepass").decode("utf-16").encode()


@pytest.mark.parametrize("case", REGEXES, ids=lambda case: case["id"])
def test_field_case(case: dict[str, Any]) -> None:
    pattern = text_bytes(case["pattern"]).decode()
    ir = full_ir(pattern)
    for text in case["accept"]:
        assert accepts(ir, text_bytes(text)), text
    for text in case["reject"]:
        assert not accepts(ir, text_bytes(text)), text
    strict = full_ir(pattern, dialect="ecma") if "policy_reject" in case else None
    for text in case.get("policy_reject", []):
        assert strict is not None
        assert not accepts(strict, text_bytes(text)), text
