"""Bounds and multiples are exact, at any size."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.errors import UnsatisfiableGrammar

from .texts import Language, language

BIG = 2**70


def _bounds(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), numbers),
    )


def _fits(number: Fraction, schema: dict[str, Any]) -> bool:
    return (
        (schema["type"] == "number" or number.denominator == 1)
        and ("minimum" not in schema or number >= Fraction(str(schema["minimum"])))
        and ("maximum" not in schema or number <= Fraction(str(schema["maximum"])))
        and ("exclusiveMinimum" not in schema or number > Fraction(str(schema["exclusiveMinimum"])))
        and ("exclusiveMaximum" not in schema or number < Fraction(str(schema["exclusiveMaximum"])))
        and ("multipleOf" not in schema or (number / Fraction(str(schema["multipleOf"]))).denominator == 1)
    )


def _language(schema: dict[str, Any]) -> Language | None:
    try:
        return language(schema)
    except UnsatisfiableGrammar:
        return None


@settings(max_examples=80, deadline=None)
@given(
    bounds=_bounds(st.integers(-130, 130)),
    multiple=st.none() | st.integers(1, 13),
    numbers=st.lists(st.integers(-300, 300), min_size=10, max_size=10),
)
def test_integers(bounds: dict[str, Any], multiple: int | None, numbers: list[int]) -> None:
    schema = {"type": "integer", **bounds} | ({} if multiple is None else {"multipleOf": multiple})
    taken = _language(schema)
    near = {number + step for number in bounds.values() for step in (-1, 0, 1)}
    for number in {*numbers, *near, 0}:
        assert (taken is not None and taken.takes(str(number))) == _fits(Fraction(number), schema), (schema, number)


@settings(max_examples=80, deadline=None)
@given(
    bounds=_bounds(st.decimals(-30, 30, places=2).map(float) | st.integers(-9, 9)),
    multiple=st.none() | st.sampled_from((0.5, 0.01, 2, 1.5)),
    numbers=st.lists(st.decimals(-40, 40, places=3), min_size=10, max_size=10),
)
def test_decimals(bounds: dict[str, Any], multiple: float | None, numbers: list[Decimal]) -> None:
    schema = {"type": "number", **bounds} | ({} if multiple is None else {"multipleOf": multiple})
    taken = _language(schema)
    near = [Decimal(str(number)) + Decimal(step) for number in bounds.values() for step in ("-0.01", "0", "0.01")]
    for number in (*numbers, *near, Decimal(0)):
        text = format(number.normalize() or Decimal(0), "f")
        assert (taken is not None and taken.takes(text)) == _fits(Fraction(number), schema), (schema, text)


def test_bounds_beyond_doubles_are_exact() -> None:
    taken = language({"type": "integer", "minimum": BIG, "maximum": BIG + 2})
    assert [n for n in range(BIG - 2, BIG + 5) if taken.takes(str(n))] == [BIG, BIG + 1, BIG + 2]
    taken = language('{"type": "number", "maximum": 0.12345678901234567890123, "minimum": 0.12345678901234567890122}')
    assert taken.takes("0.123456789012345678901225")
    assert not taken.takes("0.12345678901234567890124")


@pytest.mark.parametrize("text", ["-1", "0", "12", "-120"])
def test_canonical_integers(text: str) -> None:
    assert language({"type": "integer"}).takes(text)


@pytest.mark.parametrize("text", ["-0", "01", "1.0", "1e2", "+1", "-", "", "1.", ".5"])
def test_no_other_integers(text: str) -> None:
    assert not language({"type": "integer"}).takes(text)


@pytest.mark.parametrize("text", ["0", "-0.0", "1.5", "1e5", "1E+16", "2.5e-07", "1e-324", "1e307"])
def test_canonical_numbers(text: str) -> None:
    assert language({"type": "number"}).takes(text)


@pytest.mark.parametrize("text", ["1e400", "00", "1.", "1.e1", "--1", "1e", "3.5.5", "Infinity", "NaN"])
def test_no_other_numbers(text: str) -> None:
    assert not language({"type": "number"}).takes(text)


def test_other_spellings_only_where_all_are_taken() -> None:
    assert all(language({"type": "integer"}, "any").takes(text) for text in ("1.0", "1e2", "-0", "10.000"))
    assert not any(language({"type": "integer"}, "any").takes(text) for text in ("1.5", "1e-2"))
    assert language({"type": "integer", "maximum": 7}, "any").takes("7.00")
    draft4 = "http://json-schema.org/draft-04/schema#"
    assert not language({"$schema": draft4, "type": "integer"}, "any").takes("1.0")
    hundred = language({"const": 100}, "any")
    assert all(hundred.takes(text) for text in ("100", "1e2", "100.0", "1.0E+2", "100e0", "1e02"))
    assert not any(hundred.takes(text) for text in ("10", "1e1", "1e3", "1000", "-100", "100.01"))


def test_zero_as_the_only_bound_keeps_exponents() -> None:
    taken = language({"type": "number", "minimum": 0})
    assert all(taken.takes(text) for text in ("0", "0.0", "1e-05", "12.5", "-0.0"))
    assert not any(taken.takes(text) for text in ("-1", "-0.1", "-1e-05"))
    taken = language({"type": "number", "exclusiveMaximum": 0})
    assert all(taken.takes(text) for text in ("-1", "-0.5", "-1e-05"))
    assert not any(taken.takes(text) for text in ("0", "-0", "-0.0", "1"))


def test_draft_4_spells_open_bounds_with_booleans() -> None:
    schema = {"type": "integer", "minimum": 3, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": False}
    taken = language({"$schema": "http://json-schema.org/draft-04/schema#", **schema})
    assert [n for n in range(8) if taken.takes(str(n))] == [4, 5]


def test_an_automaton_too_large_is_a_guard() -> None:
    large = language({"type": "integer", "multipleOf": 9_999_991, "minimum": 1})
    assert [text for text in ("9999991", "19999982", "9999990", "0", "-9999991") if large.takes(text)] == [
        "9999991",
        "19999982",
    ]


def test_bounded_numbers_are_read_with_exponents() -> None:
    bounded = language({"type": "number", "minimum": 0, "maximum": 1}, "any")
    assert [text for text in ("1e-07", "10E-1", "5e-324", "0e9", "1e0") if not bounded.takes(text)] == []
    assert [text for text in ("1.1e0", "1e1", "-1e-9", "12e-1") if bounded.takes(text)] == []
    even = language({"type": "integer", "multipleOf": 2, "maximum": 1000}, "any")
    assert [text for text in ("1e3", "20e-1", "1.2e1") if not even.takes(text)] == []
    assert [text for text in ("1e4", "1e0", "15e-1", "1.25e2") if even.takes(text)] == []
    assert not language(
        {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "maximum": 9}, "any"
    ).takes("1e0")
    assert not language({"type": "number", "maximum": 1}, "spaced").takes("1e-7")


@given(st.from_regex(r"\A-?(0|[1-9][0-9]{0,3}0{0,3})(\.[0-9]{1,4}0{0,2})?([eE][+-]?[0-9]{1,2})?\Z"))
@settings(max_examples=300, deadline=None)
def test_integers_are_told_by_value_not_spelling(text: str) -> None:
    number = Decimal(text)
    is_whole = number == number.to_integral_value()
    assert language({"type": "integer"}, "any").takes(text) == is_whole
    assert language({"not": {"type": "integer"}}, "any").takes(text) == (not is_whole)


@pytest.mark.parametrize("text", ["0", "-0", "7", "-12", "1.0", "1e0", "-0.0", "1E+20", "1.5", "15e-1", "1.5e1"])
def test_integers_of_draft_4_have_neither_fraction_nor_exponent(text: str) -> None:
    draft4 = "http://json-schema.org/draft-04/schema#"
    is_plain = text.lstrip("-").isdigit()
    assert language({"$schema": draft4, "type": "integer"}, "any").takes(text) == is_plain
    assert language({"$schema": draft4, "not": {"type": "integer"}}, "any").takes(text) == (not is_plain)
    either = {"$schema": draft4, "oneOf": [{"type": "integer"}, {"type": "number"}]}
    assert language(either, "any").takes(text) == (not is_plain)
    small = {"$schema": draft4, "type": "number", "maximum": 2, "not": {"type": "integer", "minimum": 1}}
    expected = Decimal(text) <= 2 and not (is_plain and Decimal(text) >= 1)
    assert language(small, "any").takes(text) == expected


def test_large_doubles_are_integers_as_they_are_written() -> None:
    taken = language({"type": "integer"}, "any")
    for number in (1.5e16, 6.02214076e23, 1.797693134862315e307, -1.2345678901234567e17):
        assert taken.takes(json.dumps(number))
    assert not taken.takes("1.23e1")


@pytest.mark.parametrize("value", [100, 1, -2, 0.5, 12.25, 0, 1200, 1e-7])
def test_few_given_numbers_are_read_with_the_point_elsewhere(value: Any) -> None:
    taken = language({"const": value}, "any")
    exact = Decimal(repr(value))
    for moved in range(-2, 4):
        mantissa = format(exact.scaleb(-moved), "f")
        assert taken.takes(f"{mantissa}e{moved}")
        assert value == 0 or not taken.takes(f"{mantissa}e{moved + 1}")
