"""The judge of the laws over JSON Schema: what it changes of a schema, and what it leaves."""

from __future__ import annotations

from constrained.testing.judge import JsonschemaJudge


def test_only_a_dollar_that_means_the_end_is_translated() -> None:
    judge = JsonschemaJudge({"pattern": r"^\$[$\]]$"})
    assert judge.takes('"$$"')
    assert judge.takes('"$]"')
    assert not judge.takes(r'"$$\n"')


def test_properties_named_as_keywords_are_no_keywords() -> None:
    judge = JsonschemaJudge({"properties": {"patternProperties": {"type": "object"}, "pattern": {"maxLength": 1}}})
    assert judge.takes('{"patternProperties": {"$": 1}, "pattern": "$"}')
    assert not judge.takes('{"patternProperties": 1}')
    assert not judge.takes('{"pattern": "$$"}')
