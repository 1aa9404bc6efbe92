"""Output types: which schema a Python type gets, and what its text becomes."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import typing
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, HttpUrl, RootModel, TypeAdapter, field_validator

from constrained.errors import ConstrainedError, UnsupportedOutputType
from constrained.output_types import InvalidText, choice, output_type_from, regex
from grammars.errors import RegexError, UnsupportedSchema


class Line(BaseModel):
    item: str
    price: float


class Invoice(BaseModel):
    vendor: str
    lines: list[Line]
    due: datetime.date | None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Empty(BaseModel):
    pass


class Names(RootModel[list[str]]):
    pass


@dataclasses.dataclass
class Tree:
    label: str
    children: list[Tree] = dataclasses.field(default_factory=list)


class Point(NamedTuple):
    x: int
    y: int


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Standard(typing.TypedDict):
    name: str
    size: typing.NotRequired[int]


class Outer(typing.TypedDict, total=False):
    inner: typing.Required[list[Standard | None]]
    when: datetime.date


class Extension(typing_extensions.TypedDict):
    name: str


class Even(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("expected an even number")
        return value


def schema_of(candidate: Any) -> Any:
    text = output_type_from(candidate).schema_text
    assert text is not None
    return json.loads(text)


VALUES: list[tuple[Any, str, Any]] = [
    (bool, "true", True),
    (int, "12345678901234567890123", 12345678901234567890123),
    (float, "1.0", 1.0),
    (str, '"a\\u0301 \\"q\\""', 'a\u0301 "q"'),
    (Decimal, "0.12345678901234567890", Decimal("0.12345678901234567890")),
    (list[Decimal], "[1.10, 2]", [Decimal("1.10"), Decimal(2)]),
    (datetime.date, '"2024-02-29"', datetime.date(2024, 2, 29)),
    (datetime.datetime, '"2024-02-29T12:30:00Z"', datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.UTC)),
    (datetime.time, '"12:30:00Z"', datetime.time(12, 30, tzinfo=datetime.UTC)),
    (datetime.datetime, '"2024-02-29T12:30"', datetime.datetime(2024, 2, 29, 12, 30)),
    (datetime.time, '"12:30"', datetime.time(12, 30)),
    (uuid.UUID, '"12345678-1234-5678-1234-567812345678"', uuid.UUID("12345678-1234-5678-1234-567812345678")),
    (Literal["a", 1, None], "1", 1),
    (Colour, '"green"', Colour.GREEN),
    (int | None, "null", None),
    (list[int], "[1, 2]", [1, 2]),
    (tuple[int, str], '[1, "a"]', (1, "a")),
    (set[int], "[1, 1, 2]", {1, 2}),
    (frozenset[str], '["a"]', frozenset({"a"})),
    (dict[str, float], '{"a": 1.5}', {"a": 1.5}),
    (Point, "[1, 2]", Point(1, 2)),
    (Names, '["a"]', Names(["a"])),
    (Line, '{"item": "tea", "price": 2}', Line(item="tea", price=2.0)),
    (list[Line], "[]", []),
    (Tree, '{"label": "a", "children": [{"label": "b"}]}', Tree("a", [Tree("b")])),
    (Standard, '{"name": "a"}', {"name": "a"}),
    (Outer, '{"inner": [{"name": "a"}, null]}', {"inner": [{"name": "a"}, None]}),
    (dict[str, Standard], '{"k": {"name": "a", "size": 1}}', {"k": {"name": "a", "size": 1}}),
    (Annotated[Standard, "a note"], '{"name": "a"}', {"name": "a"}),
    (Extension, '{"name": "a"}', {"name": "a"}),
    (TypeAdapter(list[int]), "[3]", [3]),
    (Any, '[1, {"a": null}]', [1, {"a": None}]),
    ({"type": "object"}, '{"b": 1, "a": 1.0}', {"b": 1, "a": 1.0}),
    ('{"type": "integer"}', "7", 7),
    (regex("[a-z]+"), "abc", "abc"),
    (choice(["yes", "no"]), "no", "no"),
    (choice(Colour), "red", Colour.RED),
    (choice([1, 10]), "10", 10),
]


@pytest.mark.parametrize(("candidate", "text", "value"), VALUES, ids=[str(case[0]) for case in VALUES])
def test_a_text_becomes_an_instance_of_the_type(candidate: Any, text: str, value: Any) -> None:
    parsed = output_type_from(candidate).parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_objects_with_declared_fields_are_closed_at_every_depth() -> None:
    schema = schema_of(Invoice)
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Line"]["additionalProperties"] is False
    assert schema_of(Empty)["additionalProperties"] is False
    assert schema_of(Tree)["$defs"]["Tree"]["additionalProperties"] is False
    assert schema_of(Outer)["additionalProperties"] is False
    assert schema_of(list[Extension])["$defs"]["Extension"]["additionalProperties"] is False


def test_objects_that_allow_extras_stay_open() -> None:
    assert schema_of(Open)["additionalProperties"] is True
    assert schema_of(dict[str, int])["additionalProperties"] == {"type": "integer"}


def test_properties_keep_the_order_of_the_class() -> None:
    class Backwards(BaseModel):
        z: int
        a: int
        m: int

    assert list(schema_of(Backwards)["properties"]) == ["z", "a", "m"]


def test_a_schema_is_kept_as_it_was_written() -> None:
    written = '{"type": "object", "properties": {"z": {"multipleOf": 0.10}, "a": {}}}'
    assert output_type_from(written).schema_text == written
    assert schema_of({"properties": {"z": {}, "a": {}}}) == {"properties": {"z": {}, "a": {}}}
    assert list(schema_of({"properties": {"z": {}, "a": {}}})["properties"]) == ["z", "a"]


def test_a_decimal_is_asked_for_as_a_number_with_its_bounds() -> None:
    assert schema_of(Annotated[Decimal, Field(gt=0)]) == {"type": "number", "exclusiveMinimum": 0.0}


def test_a_url_is_asked_for_without_a_greatest_length() -> None:
    assert schema_of(AnyUrl) == {"type": "string", "format": "uri", "minLength": 1}
    assert "maxLength" not in schema_of(HttpUrl)
    assert schema_of(HttpUrl)["pattern"].startswith("^(?:http|https)://")
    assert len(output_type_from(HttpUrl).lower(whitespace="compact").nodes) > 2


def test_required_keys_are_seen_where_annotations_are_text() -> None:
    assert schema_of(Standard)["required"] == ["name"]
    assert schema_of(Outer)["required"] == ["inner"]


def test_schema_as_text_mapping_and_model_have_one_language() -> None:
    text = output_type_from(Line).schema_text
    assert text is not None
    digests = {output_type_from(each).digest for each in (Line, text, json.loads(text))}
    assert len(digests) == 1


def test_different_languages_have_different_digests() -> None:
    candidates: list[Any] = [
        int,
        float,
        Line,
        list[int],
        regex("a|b"),
        choice(["a", "b"]),
        choice(["a|b"]),
        choice(["ab"]),
    ]
    assert len({output_type_from(each).digest for each in candidates}) == len(candidates)


class Plain:
    pass


REFUSED: list[tuple[Any, str]] = [
    (5, "not an output type"),
    (None, "not an output type"),
    ([int], "not an output type"),
    (print, "not an output type"),
    (lambda: 1, "not an output type"),
    (Plain, "Plain is not an output type"),
    (list[Plain], "not an output type"),
    ("hello", "read as the text of a JSON Schema"),
    ("5", "an object, true or false"),
    ({1: "a"}, "keys must be str, got 1"),
    ({"properties": {None: {}}}, "keys must be str, got None"),
    ({"const": {1, 2}}, "not a JSON Schema"),
    ({"minimum": float("nan")}, "not a JSON Schema"),
]


@pytest.mark.parametrize(("candidate", "message"), REFUSED, ids=[repr(case[0])[:30] for case in REFUSED])
def test_what_is_no_output_type_is_refused_by_name(candidate: Any, message: str) -> None:
    with pytest.raises(UnsupportedOutputType, match=message) as caught:
        output_type_from(candidate)
    assert isinstance(caught.value, ConstrainedError)
    assert isinstance(caught.value, TypeError)


def test_a_recursive_standard_typed_dict_is_refused_with_the_remedy() -> None:
    class Node(typing.TypedDict):
        next: Node | None  # type: ignore[misc]

    Node.__annotations__["next"] = typing.Optional[Node]  # noqa: UP045
    with pytest.raises(UnsupportedOutputType, match="import TypedDict from typing_extensions"):
        output_type_from(Node)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: choice("abc"), "expected several options"),
        (lambda: choice([]), "at least one option"),
        (lambda: choice(["1", 1]), "both written '1'"),
        (lambda: regex(5), "expected the pattern as a str"),  # type: ignore[arg-type]
    ],
)
def test_faulty_choices_and_patterns_are_refused(make: Any, message: str) -> None:
    with pytest.raises(UnsupportedOutputType, match=message):
        make()


def test_a_validator_that_no_schema_expresses_is_told_with_its_place() -> None:
    with pytest.raises(InvalidText) as caught:
        output_type_from(list[Even]).parse('[{"n": 2}, {"n": 3}]')
    assert caught.value.problems == ("1.n: Value error, expected an even number",)


@pytest.mark.parametrize("text", ["1e999", "-1e999", "9" * 5000, "[" * 100_000 + "]" * 100_000])
def test_json_that_python_cannot_hold_is_invalid_and_never_a_wrong_value(text: str) -> None:
    with pytest.raises(InvalidText):
        output_type_from({}).parse(text)


def test_strict_models_read_dates_and_decimals_from_json() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        when: datetime.date
        amount: Decimal

    value = output_type_from(Strict).parse('{"when": "2024-01-02", "amount": 1.5}')
    assert value == Strict(when=datetime.date(2024, 1, 2), amount=Decimal("1.5"))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_values_come_back_as_they_were(value: Any) -> None:
    assert output_type_from({}).parse(json.dumps(value)) == value


def test_lowering_gives_a_grammar_for_each_kind() -> None:
    for candidate in (Invoice, Colour, {"type": "integer"}, regex(r"\d+"), choice(["a", "ab"])):
        assert len(output_type_from(candidate).lower(whitespace="compact").nodes) > 2


def test_faults_of_patterns_and_schemas_are_those_of_grammars() -> None:
    with pytest.raises(RegexError):
        regex("(").lower(whitespace="compact")
    elsewhere = {"$ref": "https://elsewhere.example/a"}
    with pytest.raises(UnsupportedSchema) as caught:
        output_type_from({"properties": {"a": elsewhere, "b": elsewhere}}).lower(whitespace="compact")
    assert {problem.pointer for problem in caught.value.problems} == {"/properties/a", "/properties/b"}


def test_whatever_a_validator_raises_is_told() -> None:
    class Model(BaseModel):
        total: float

        @field_validator("total")
        @classmethod
        def check(cls, value: float) -> float:
            raise KeyError("bang")

    with pytest.raises(InvalidText, match="a validator raised KeyError: 'bang'"):
        output_type_from(Model).parse('{"total": 1}')
