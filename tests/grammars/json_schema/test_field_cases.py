"""Faults that users of such tools met, as small cases: what must be reachable, and what must not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grammars.errors import SchemaError

from .texts import language

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[2] / "data" / "field_cases.json").read_text(encoding="utf-8"))
    if case["kind"] == "json_schema"
}
OTHER_ORDER = {"JS30", "JS32", "JS87"}
"""Their ``valid_optional`` puts properties in another order than the schema does."""


@pytest.mark.parametrize("name", CASES)
def test_field_case(name: str) -> None:
    case = CASES[name]
    if case.get("compile_error") and not case.get("legacy_ok"):
        with pytest.raises(SchemaError):
            language(case["schema"], "any")
        return
    taken = language(case["schema"], "any")
    assert [text for text in case["accept"] if not taken.takes(text)] == []
    refused = [*case["reject"], *case.get("policy_reject", ())]
    assert [text for text in refused if taken.takes(text)] == []
    if name not in OTHER_ORDER:
        assert [text for text in case.get("valid_optional", ()) if not taken.takes(text)] == []
