"""Whatever the grammar of a Python type lets a model write, the type takes: or the type is refused by name."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
import pytest
import typing_extensions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, StringConstraints, TypeAdapter

from constrained.errors import UnsupportedOutputType
from constrained.output_types import InvalidText, choice, output_type_from, regex
from constrained.testing.strategies import sentences

Decimal = decimal.Decimal


class Kind(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Pair(enum.Enum):
    FIRST = (1, 2)


class Mixed(enum.Enum):
    A = 1
    B = "b"


class Point(NamedTuple):
    x: int
    y: float


@dataclass
class Item:
    name: str
    price: Annotated[Decimal, Field(max_digits=6, decimal_places=2, ge=0)]


class Order(BaseModel):
    items: list[Item]
    due: datetime.date | None
    stock: dict[int, Kind]


TYPES: list[Any] = [
    bool,
    int,
    str,
    Decimal,
    Annotated[Decimal, Field(max_digits=3)],
    Annotated[Decimal, Field(max_digits=1)],
    Annotated[Decimal, Field(decimal_places=2)],
    Annotated[Decimal, Field(decimal_places=0)],
    Annotated[Decimal, Field(max_digits=5, decimal_places=2)],
    Annotated[Decimal, Field(max_digits=2, decimal_places=2)],
    Annotated[Decimal, Field(max_digits=5, decimal_places=2, ge=Decimal("0.5"), lt=100)],
    Annotated[Decimal, Field(max_digits=4, ge=-5)],
    Annotated[Decimal, Field(multiple_of=Decimal("0.05"), decimal_places=2)],
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    complex,
    bytes,
    uuid.UUID,
    pydantic.UUID1,
    pydantic.UUID4,
    pydantic.UUID7,
    pydantic.Base64UrlBytes,
    pydantic.Base64Bytes,
    pydantic.SecretStr,
    pydantic.HttpUrl,
    pydantic.RedisDsn,
    pydantic.AwareDatetime,
    pydantic.NaiveDatetime,
    pydantic.conint(multiple_of=3, ge=-9),
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Interface,
    pathlib.Path,
    Kind,
    Number,
    Mixed,
    Literal["a", 1, None, True],
    Literal[Number.ONE],
    Point,
    Item,
    Order,
    set[Kind],
    tuple[int, ...],
    dict[str, int],
    dict[int, str],
    dict[float, bool],
    dict[bool, int],
    dict[Decimal, int],
    dict[datetime.date, int],
    dict[datetime.datetime, int],
    dict[datetime.time, int],
    dict[datetime.timedelta, int],
    dict[uuid.UUID, int],
    dict[Kind, int],
    dict[Literal["a", "b"], int],
    dict[int | str, int],
    dict[Any, int],
    dict[complex, int],
    dict[str, dict[int, bool]],
    list[dict[int, int] | None],
]


@pytest.mark.parametrize("python_type", TYPES, ids=[str(each)[:60] for each in TYPES])
@settings(
    max_examples=max(10, settings.default.max_examples // 10),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_whatever_the_grammar_allows_is_a_value_of_the_type(python_type: Any, data: st.DataObject) -> None:
    output_type = output_type_from(python_type)
    text = data.draw(sentences(output_type.lower(whitespace="compact"))).decode()
    value = output_type.parse(text)
    adapter = TypeAdapter(python_type)
    dumped = adapter.dump_python(value)
    if not isinstance(value, pydantic.SecretStr | bytes):
        assert adapter.dump_python(adapter.validate_python(value)) == dumped


FITTING = [
    (Annotated[Decimal, Field(max_digits=5, decimal_places=2)], ["0", "999.99", "-999.99", "1.10"], ["1000", "0.001"]),
    (Annotated[Decimal, Field(max_digits=3)], ["123", "0.001", "12.3", "-1.23"], ["1234", "12.34", "0.0001"]),
    (
        datetime.timedelta,
        ['"P1D"', '"PT1H30M"', '"-P2W"', '"PT0.5S"', '"P1DT12H"'],
        ['"P"', '"PT"', '"P1Y"', '"1 day"'],
    ),
    (complex, ['"1+2j"', '"-1.5-0.25j"'], ['"one"', '"1+2"']),
    (dict[int, int], ["{}", '{"-12":3}', '{"0":1,"5":2}'], ['{"a":1}', '{"1.5":1}', '{"":1}', '{"01":1}']),
    (dict[bool, int], ['{"true":1}'], ['{"yes":1}', '{"1":1}']),
    (pydantic.UUID4, ['"12345678-1234-4234-8234-123456789012"'], ['"12345678-1234-1234-8234-123456789012"']),
    (pydantic.HttpUrl, ['"https://a.example/b?c=1"', '"http://localhost:8080"'], ['"mailto:a@b.c"', '"http://1.2.3"']),
    (pydantic.Base64Bytes, ['""', '"QQ=="', '"QUI="', '"QUJD"'], ['"Q"', '"QQ"', '"Q!=="']),
    (fractions.Fraction, ["0.5", '"1/3"'], ['"1/0"', '"a"']),
]


@pytest.mark.parametrize(("python_type", "fitting", "others"), FITTING, ids=[str(case[0])[:50] for case in FITTING])
def test_what_fits_is_allowed_and_what_does_not_is_not(
    python_type: Any, fitting: list[str], others: list[str], takes: Callable[[Any, str], bool]
) -> None:
    for text in fitting:
        assert takes(python_type, text), text
        output_type_from(python_type).parse(text)
    for text in others:
        assert not takes(python_type, text), text


@pytest.fixture(scope="module")
def takes() -> Callable[[Any, str], bool]:
    """Whether the grammar of a type takes a text."""
    from grammars import Vocabulary, compile_ir

    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=[256])

    def is_taken(python_type: Any, text: str) -> bool:
        matcher = compile_ir(output_type_from(python_type).lower(whitespace="compact"), vocabulary).matcher()
        return matcher.consume_bytes(text.encode()) and matcher.is_accepting

    return is_taken


class Raising:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        raise RuntimeError("out of order")


class Unwritable(BaseModel):
    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        return {"type": {1, 2}}


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no name")

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Surrogate(enum.Enum):
    HALF = "\ud800"


@dataclass
class Contact:
    mail: pydantic.EmailStr


class Contacts(typing_extensions.TypedDict):
    mails: list[pydantic.EmailStr]


def nested(depth: int) -> Any:
    result: Any = int
    for _ in range(depth):
        result = list[result]
    return result


def cyclic() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    return schema


def deep(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: pydantic.EmailStr, r"EmailStr needs a package that is not here: .*pip install"),
    (lambda: Contact, r"Contact needs a package that is not here"),
    (lambda: Contacts, r"Contacts needs a package that is not here"),
    (lambda: Annotated[str, StringConstraints(pattern="(?=a)b")], "look-around, .*regex_engine='python-re'"),
    (lambda: Annotated[str, StringConstraints(pattern=r"(a)\1")], "backreferences are not supported; .*python-re"),
    (lambda: Annotated[str, StringConstraints(pattern="(")], "cannot be built by Pydantic: unclosed group"),
    (lambda: Raising, "Raising cannot be built by Pydantic: RuntimeError: out of order"),
    (lambda: list[Raising], "cannot be built by Pydantic: RuntimeError: out of order"),
    (lambda: Unwritable, "Unwritable cannot be built by Pydantic: TypeError"),
    (lambda: Unprintable(), "an object of Unprintable .* is not an output type"),
    (lambda: Surrogate, "Surrogate cannot be built by Pydantic"),
    (lambda: nested(2000), "is nested too deeply to be an output type"),
    (lambda: dict[Number, int], r"a dict whose keys are one of \[1, 2\] is not supported"),
    (lambda: dict[Mixed, int], "a dict whose keys are one of .* or take a list of pairs"),
    (lambda: dict[None, int], "a dict whose keys are of type null"),
    (lambda: dict[tuple[int, int], int], "a dict whose keys are of type array"),
    (lambda: dict[int | float, int], "a dict whose keys are one of the types"),
    (lambda: list[dict[str, dict[None, int]]], "a dict whose keys are of type null"),
    (lambda: pydantic.Json[int], r"Json\[...\] .* ask for the type inside it"),
    (lambda: pydantic.ImportString, "would import what the model wrote"),
    (lambda: list[pydantic.ImportString], "would import what the model wrote"),
    (lambda: pydantic.FilePath, "'file-path' is not supported: which files exist"),
    (lambda: ipaddress.IPv4Network, "'ipv4network' is not supported.*use IPv4Interface"),
    (lambda: Literal[b"a"], "b'a' in a Literal is not supported"),
    (lambda: list[Literal[Kind.SMALL, "a"]], "<Kind.SMALL: 'small'> in a Literal .* that is also a str or int"),
    (lambda: list[Pair], "<Pair.FIRST: .* is not supported: Pydantic reads no tuple"),
    (lambda: Annotated[Decimal, Field(max_digits=0)], "max_digits=0 .* at least one digit"),
    (lambda: Annotated[Decimal, Field(max_digits=2, decimal_places=3)], "no more places than digits"),
    (lambda: Annotated[Decimal, Field(max_digits=1000)], "max_digits=1000 is not supported: expected at most 40"),
    (lambda: Annotated[Decimal, Field(multiple_of=Decimal("0.03"), decimal_places=1)], "multiple_of=0.03 and 1"),
    (cyclic, "nested too deeply to be read .a mapping may also hold itself.: expected at most 400 levels"),
    (lambda: deep(3000), "nested too deeply"),
    (lambda: '{"items":' * 3000 + "{}" + "}" * 3000, "nested too deeply"),
    (lambda: choice(["a", "\ud800"]), "choice: option 1 holds half of a surrogate pair at index 0"),
    (lambda: choice([Unprintable()]), r"choice: option 0 \(Unprintable\) cannot be written as text: RuntimeError"),
    (lambda: choice(Surrogate), "choice: option 0 holds half of a surrogate pair"),
    (lambda: choice(5), "choice: expected a list of options, got int"),  # type: ignore[arg-type]
    (lambda: choice(None), "choice: expected a list of options, got NoneType"),  # type: ignore[arg-type]
    (lambda: regex("a\ud800"), "regex: the pattern holds half of a surrogate pair at index 1"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[case[1][:40] for case in REFUSED])
def test_what_cannot_be_done_is_refused_by_name(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UnsupportedOutputType) as caught:
        output_type_from(make())
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)


def test_a_schema_whose_parts_are_used_again_and_again_is_counted_before_it_is_written() -> None:
    schema: dict[str, Any] = {}
    for _ in range(40):
        schema = {"anyOf": [schema, schema]}
    with pytest.raises(UnsupportedOutputType, match=r"more than 500,000; name them in \$defs"):
        output_type_from(schema)


def test_values_that_look_like_schemas_are_left_alone() -> None:
    class Holder(BaseModel):
        format: Literal["duration"] = "duration"
        settings: dict[str, str] = {"format": "duration"}

    text = output_type_from(Holder).schema_text
    assert text is not None
    assert '"default": {"format": "duration"}' in text


def test_a_constraint_that_no_schema_says_is_still_checked() -> None:
    with pytest.raises(InvalidText, match="greater than 0"):
        output_type_from(dict[Annotated[int, Field(gt=0)], int]).parse('{"-1": 2}')
