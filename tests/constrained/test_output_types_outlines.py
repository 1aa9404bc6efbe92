"""Outlines' types as output types, against the released package."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from constrained.combinators import lark
from constrained.errors import UnsupportedOutputType
from constrained.output_types import choice, output_type_from, regex

outlines_types = pytest.importorskip("outlines.types")
dsl = pytest.importorskip("outlines.types.dsl")


def test_terms_become_the_types_that_mean_the_same() -> None:
    assert output_type_from(outlines_types.Regex("[0-9]{3}")).digest == regex("[0-9]{3}").digest
    assert output_type_from(outlines_types.Choice(["a", "b"])).digest == choice(["a", "b"]).digest
    schema: dict[str, Any] = {"type": "object", "properties": {"z": {}, "a": {}}}
    assert output_type_from(outlines_types.JsonSchema(schema)).digest == output_type_from(schema).digest


def test_ready_made_and_combined_terms_become_regular_expressions() -> None:
    date = output_type_from(outlines_types.date)
    assert date.digest == regex(outlines_types.date.pattern).digest
    combined = output_type_from(dsl.String("a.b") + outlines_types.Regex("[0-9]").at_least(2))
    assert combined.schema_text is None
    assert len(combined.lower(whitespace="compact").nodes) > 2


def test_a_cfg_is_a_lark_grammar() -> None:
    assert output_type_from(outlines_types.CFG('start: "a"')).digest == lark('start: "a"').digest


def test_what_we_do_not_do_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedOutputType, match="whitespace_pattern"):
        output_type_from(outlines_types.JsonSchema({"type": "object"}, whitespace_pattern=" "))


def test_outlines_is_not_imported_for_other_types() -> None:
    code = (
        "import sys; from constrained.output_types import output_type_from; output_type_from(int); "
        "sys.exit('outlines' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
