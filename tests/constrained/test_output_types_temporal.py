"""Dates and times: what the patterns take is what Python takes."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AwareDatetime, NaiveDatetime

from constrained.output_types import output_type_from
from constrained.output_types.temporal import datetime_schema, time_schema
from grammars import Vocabulary, compile_ir

OFFSETS = st.none() | st.builds(
    datetime.timezone, st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: datetime.timedelta(minutes=minutes))
)
BYTES = Vocabulary.from_bytes([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])


@given(st.datetimes(timezones=OFFSETS))
def test_every_moment_can_be_written(moment: datetime.datetime) -> None:
    assert re.search(datetime_schema()["pattern"], moment.isoformat())
    is_aware = moment.tzinfo is not None
    assert bool(re.search(datetime_schema(offset="aware")["pattern"], moment.isoformat())) == is_aware
    assert bool(re.search(datetime_schema(offset="naive")["pattern"], moment.isoformat())) != is_aware
    assert re.search(time_schema()["pattern"], moment.timetz().isoformat())


@given(st.from_regex(datetime_schema()["pattern"].replace(r"\d", "[0-9]").removesuffix("$") + r"\Z"))
def test_whatever_is_written_is_a_moment(text: str) -> None:
    value = output_type_from(datetime.datetime).parse(f'"{text}"')
    assert isinstance(value, datetime.datetime)


@pytest.mark.parametrize("text", ["2023-02-29", "1900-02-29", "0000-01-01", "0000-02-29", "2024-04-31", "2024-13-01"])
def test_days_that_never_were_cannot_be_written(text: str) -> None:
    assert re.search(datetime_schema()["pattern"], f"{text}T10:00:00") is None


@pytest.mark.parametrize(
    ("candidate", "text", "is_allowed"),
    [
        (datetime.datetime, '"2024-02-29T12:30:00"', True),
        (datetime.datetime, '"2024-02-29T12:30:00+02:00"', True),
        (NaiveDatetime, '"2024-02-29T12:30:00Z"', False),
        (AwareDatetime, '"2024-02-29T12:30:00"', False),
        (AwareDatetime, '"2024-02-29T12:30:00Z"', True),
        (datetime.time, '"24:00"', False),
        (datetime.time, '"23:59:59.5"', True),
    ],
)
def test_the_compiled_grammar_says_the_same(candidate: Any, text: str, is_allowed: bool) -> None:
    matcher = compile_ir(output_type_from(candidate).lower(whitespace="compact"), BYTES).matcher()
    assert (matcher.consume_bytes(text.encode()) and matcher.is_accepting) == is_allowed
