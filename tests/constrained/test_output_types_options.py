"""JSON Schemas that are read in another way than by default: order, formats, registries, what is not supported."""

from __future__ import annotations

import datetime
import gc
import json
import warnings
from typing import Any

import pytest
from pydantic import BaseModel
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import constrained
from constrained.api import Model
from constrained.errors import DeadEnd, UnsupportedOutputType, ValidationFailed
from constrained.model import LoadedModel
from constrained.output_types import InvalidText, OutputType, output_type_from
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from grammars import SchemaWarning, UnsatisfiableGrammar, UnsupportedSchema

TWICE = {"type": "string", "enum": ["aa", "ab", "ba"], "pattern": r"^(.)\1$"}


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))


class Meeting(BaseModel):
    title: bool
    day: datetime.date


def test_properties_in_any_order_make_the_same_values(model: Model) -> None:
    wanted = constrained.json_schema(Meeting, property_order="any")
    orders = set()
    for seed in range(8):
        result = model.generate("When?", wanted, temperature=2.0, seed=seed, whitespace="compact")
        assert isinstance(result.value, Meeting)
        orders.add(tuple(json.loads(result.text)))
    assert orders == {("title", "day"), ("day", "title")}
    assert tuple(json.loads(model.generate("When?", Meeting).text)) == ("title", "day")


def test_formats_may_be_ignored(model: Model) -> None:
    schema = {"type": "string", "format": "date", "minLength": 3, "maxLength": 3}
    with pytest.raises(UnsatisfiableGrammar):
        model.generate("When?", schema)
    result = model.generate("When?", constrained.json_schema(schema, formats="annotate"))
    assert len(result.value) == 3


def test_characters_beyond_ascii_are_written_by_number(model: Model) -> None:
    schema = {"type": "object", "properties": {"größe": {"enum": ["süß", "weiß 😀"]}}, "required": ["größe"]}
    closed = {**schema, "additionalProperties": False}
    result = model.generate("Which?", constrained.json_schema(closed, ensure_ascii=True))
    assert result.value["größe"] in ("süß", "weiß 😀")
    assert result.text == json.dumps(result.value, indent=2)
    assert not model.generate("Which?", closed).text.isascii()


def test_references_lead_into_a_registry(model: Model) -> None:
    schema = {"type": "array", "items": {"$ref": "urn:size"}, "minItems": 2, "maxItems": 2}

    def registry(*sizes: int) -> Any:
        return Registry().with_resource("urn:size", DRAFT202012.create_resource({"enum": list(sizes)}))

    with pytest.raises(UnsupportedSchema, match="nothing is ever fetched"):
        model.generate("Sizes?", schema)
    small, large = registry(1, 2), registry(10, 20)
    for known, sizes in ((small, {1, 2}), (large, {10, 20}), (small, {1, 2})):
        assert set(model.generate("Sizes?", constrained.json_schema(schema, registry=known)).value) <= sizes


def test_equal_digests_mean_equal_languages() -> None:
    def digest(**options: Any) -> str:
        return constrained.json_schema({"type": "object"}, **options).digest

    one: Any = Registry()
    different = [
        *({}, {"property_order": "any"}, {"formats": "annotate"}, {"on_unsupported": "relax"}),
        *({"ensure_ascii": True}, {"registry": one}),
    ]
    assert len({digest(**options) for options in different}) == len(different)
    assert digest() == output_type_from({"type": "object"}).digest
    assert digest(registry=one) == digest(registry=one)
    found = set()
    for _ in range(5):  # a new object may have the address of one that is gone
        found.add(digest(registry=Registry()))
        gc.collect()
    assert len(found) == 5


def test_what_is_left_out_is_validated_in_the_end(model: Model) -> None:
    with pytest.raises(UnsupportedSchema, match="pattern"):
        model.generate("Which?", TWICE)
    wanted = constrained.json_schema(TWICE, on_unsupported="relax")
    with pytest.warns(SchemaWarning, match="#: pattern: left out, so that texts may break it"):
        result = model.generate("Which?", wanted, temperature=1.0, retries=50)
    assert result.value == "aa"
    assert wanted.parse('"aa"') == "aa"
    with pytest.raises(InvalidText, match="pattern"):
        wanted.parse('"ab"')
    only_wrong = constrained.json_schema({**TWICE, "enum": ["ab", "ba"]}, on_unsupported="relax")
    with pytest.warns(SchemaWarning), pytest.raises(ValidationFailed, match="drawn 3 times") as caught:
        model.generate("Which?", only_wrong, temperature=1.0, retries=2)
    assert "#: pattern: left out" in caught.value.problems[0]


def test_python_types_are_validated_by_what_is_left_out_too() -> None:
    class Word(BaseModel):
        model_config = {"json_schema_extra": {"properties": {"text": TWICE}}}
        text: str

    with pytest.raises(UnsupportedSchema):
        output_type_from(Word).lower(whitespace="compact")
    wanted = constrained.json_schema(Word, on_unsupported="relax")
    with pytest.warns(SchemaWarning):
        wanted.lower(whitespace="compact")
    assert wanted.parse('{"text":"aa"}') == Word(text="aa")
    with pytest.raises(InvalidText, match="/properties/text: pattern"):
        wanted.parse('{"text":"ab"}')


def test_what_cannot_be_checked_either_is_refused() -> None:
    wanted = constrained.json_schema({"pattern": "x("}, on_unsupported="relax")
    with pytest.raises(UnsupportedSchema, match="nothing here can read the pattern"):
        wanted.lower(whitespace="compact")


def test_nothing_is_told_where_all_is_enforced(model: Model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = constrained.json_schema({"enum": [1, 2]}, on_unsupported="relax")
        assert model.generate("Which?", wanted).value in (1, 2)


def test_unknown_formats_are_told_once_and_not_for_each_call(model: Model) -> None:
    schema = {"enum": ["red", "blue"], "format": "colour"}
    with pytest.warns(SchemaWarning, match="colour"):
        model.generate("Which?", schema)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.generate("Which?", schema)


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        ({}, {"property_order": "alphabetical"}, "property_order: expected 'schema' or 'any', got 'alphabetical'"),
        ({}, {"formats": None}, "formats: expected 'assert' or 'annotate', got None"),
        ({}, {"on_unsupported": True}, "on_unsupported: expected 'error' or 'relax', got True"),
        ({}, {"ensure_ascii": "yes"}, "ensure_ascii: expected True or False, got 'yes'"),
        ({}, {"registry": {"a": {}}}, "registry: expected a referencing.Registry, got dict"),
        (constrained.regex("a"), {}, "json_schema: expected a JSON Schema .* got RegexType"),
        (5, {}, "not an output type"),
    ],
)
def test_what_cannot_be_meant_is_refused(schema: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedOutputType, match=message):
        constrained.json_schema(schema, **options)


def test_options_of_a_schema_inside_a_larger_grammar(model: Model) -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"]}
    closed = {**schema, "additionalProperties": False}
    wanted: OutputType[Any] = constrained.seq("Value: ", constrained.json_schema(closed, property_order="any"))
    texts = {model.generate("?", wanted, temperature=3.0, seed=seed, whitespace="compact").text for seed in range(8)}
    assert texts == {'Value: {"a":1,"b":2}', 'Value: {"b":2,"a":1}'}


# -- going back from dead ends ------------------------------------------------------------------------------------

WORD = {"type": "string", "pattern": "^(the|then|thin)$"}  # given values would be told apart before they begin
WORDS = {"type": "array", "items": WORD, "uniqueItems": True, "minItems": 3, "maxItems": 3}


@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_items_that_must_differ_do(model: Model, temperature: float) -> None:
    rolled_back = 0
    for seed in range(10):
        result = model.generate("Words?", WORDS, temperature=temperature, seed=seed)
        assert sorted(result.value) == ["the", "then", "thin"]
        rolled_back += result.usage.rolled_back_tokens
        with model.stream("Words?", WORDS, temperature=temperature, seed=seed) as stream:
            assert "".join(stream) == result.text
            assert stream.result.usage.rolled_back_tokens == result.usage.rolled_back_tokens
    assert rolled_back > 0 or temperature == 0.0


def test_a_dead_end_is_drawn_again_and_then_an_error(model: Model) -> None:
    options: Any = {"temperature": 2.0, "max_rolled_back_tokens": 0, "forced": "off"}
    values = [model.generate("Words?", WORDS, seed=seed, retries=50, **options).value for seed in range(3)]
    assert all(sorted(value) == ["the", "then", "thin"] for value in values)
    with pytest.raises(DeadEnd, match=r"max_rolled_back_tokens=0 .*uniqueItems"):
        [model.generate("Words?", WORDS, seed=seed, retries=0, **options) for seed in range(50)]
    with pytest.raises(ValueError, match="max_rolled_back_tokens: expected at least 0, got -1"):
        model.generate("Words?", WORDS, max_rolled_back_tokens=-1)
