"""Large numbers, as they come from other languages' largest integers, are counted like small ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammars.frontends.json_schema import counts, lower_json_schema
from grammars.ir import Builder
from tests.reference.recogniser import Recogniser

LARGEST = 2**31 - 1


@pytest.mark.parametrize("minimum", [0, 1, 2, 3, 7, 9, 13, 27])
def test_every_count_within_the_bounds_and_no_other(minimum: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "_BLOCK", 3)
    for maximum in range(max(minimum, 1), 40):
        builder = Builder()
        node = counts.times(builder, builder.literal("a"), minimum, maximum, flat=0)
        chart = Recogniser(builder.finish(node)).chart()
        for count in range(maximum + 2):
            assert chart.is_accepting == (minimum <= count <= maximum), (minimum, maximum, count)
            chart = chart.read_all(b"a")


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        ({"type": "string", "maxLength": LARGEST}, ["", "a" * 600, "é\n"], [1]),
        ({"type": "string", "maxLength": LARGEST, "minLength": 300}, ["a" * 300, "a" * 999], ["a" * 299]),
        ({"type": "array", "maxItems": LARGEST, "minItems": 2}, [[1, []], [1] * 300], [[1]]),
        ({"type": "array", "maxItems": LARGEST, "contains": {"const": 1}}, [[1], [2, 1]], ["a"]),
        ({"type": "array", "maxItems": 2**63, "prefixItems": [{"const": 1}]}, [[], [1, "a"]], [[2]]),
        ({"type": "object", "maxProperties": LARGEST, "properties": {"a": {"const": 1}}}, [{}, {"a": 1, "b": 2}], [[]]),
    ],
)
def test_schemas_with_the_largest_integers(schema: Any, accepted: list[Any], refused: list[Any]) -> None:
    ir = lower_json_schema(schema, whitespace="compact")
    assert len(ir.nodes) < 1000
    recogniser = Recogniser(ir)
    for value in accepted + refused:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        assert recogniser.chart().read_all(text.encode()).is_accepting == (value in accepted), text
