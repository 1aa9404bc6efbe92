"""Prompt templates that the quality benchmark compares; the library's own is among them as `library`.

They differ in what is said of the wanted answer (a JSON Schema, a list of fields with their types, the names alone), in
whether that stands before or after the document, and in whether a worked example goes before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from constrained.prompts import DEFAULT_TEMPLATE

Message = dict[str, str]
Template = Callable[[str, Mapping[str, Any]], list[Message]]

EXAMPLE_TEXT = """Order 7731 from Carla Mendes, placed on 3 November 2023.
2 desk lamps, 1 rug. Total: 1,056.40 EUR. Express delivery."""

EXAMPLE_SCHEMA = {
    "type": "object",
    "properties": {
        "customer": {"type": "string"},
        "order_date": {"type": "string", "format": "date"},
        "items": {"type": "array", "items": {"type": "string"}},
        "total": {"type": "number"},
        "express": {"type": "boolean"},
        "phone": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
}

EXAMPLE_ANSWER = {
    "customer": "Carla Mendes",
    "order_date": "2023-11-03",
    "items": ["desk lamps", "rug"],
    "total": 1056.4,
    "express": True,
    "phone": None,
}


def library(text: str, schema: Mapping[str, Any]) -> list[Message]:
    """What `constrained extract` sends."""
    return DEFAULT_TEMPLATE.messages(text, schema_text=_json(schema))


def schema_first(text: str, schema: Mapping[str, Any]) -> list[Message]:
    """The JSON Schema, then the document."""
    wanted = "Extract data from the document as JSON that follows this JSON Schema:"
    return _user(f"{wanted}\n{_json(schema)}\n\nDocument:\n{text}")


def schema_last(text: str, schema: Mapping[str, Any]) -> list[Message]:
    """The document, then the JSON Schema."""
    wanted = "Extract the data of this document as JSON that follows this JSON Schema:"
    return _user(f"{text}\n\n{wanted}\n{_json(schema)}")


def fields_first(text: str, schema: Mapping[str, Any]) -> list[Message]:
    """A line for each field with its type, then the document."""
    return _user(f"Extract these fields from the document as JSON:\n{field_list(schema)}\n\nDocument:\n{text}")


def fields_last(text: str, schema: Mapping[str, Any]) -> list[Message]:
    """The document, then a line for each field with its type."""
    return _user(f"Document:\n{text}\n\nExtract these fields from the document as JSON:\n{field_list(schema)}")


def names_first(text: str, schema: Mapping[str, Any]) -> list[Message]:
    """The names of the fields in one sentence, then the document."""
    return _user(f"Extract {', '.join(schema['properties'])} from the document as JSON.\n\nDocument:\n{text}")


def names_last(text: str, schema: Mapping[str, Any]) -> list[Message]:
    """The document, then the names of the fields in one sentence."""
    return _user(f"Document:\n{text}\n\nExtract {', '.join(schema['properties'])} from the document as JSON.")


def bare(text: str, schema: Mapping[str, Any]) -> list[Message]:
    """Nothing said of the fields: a grammar alone names them."""
    return _user(f"Extract the information as JSON.\n\n{text}")


def with_example(template: Template) -> Template:
    """The same template after one turn of it, worked out for another document and schema."""

    def templated(text: str, schema: Mapping[str, Any]) -> list[Message]:
        answer = {"role": "assistant", "content": json.dumps(EXAMPLE_ANSWER, indent=2)}
        return [*template(EXAMPLE_TEXT, EXAMPLE_SCHEMA), answer, *template(text, schema)]

    return templated


TEMPLATES: Mapping[str, Template] = {
    "library": library,
    "schema_first": schema_first,
    "schema_last": schema_last,
    "fields_first": fields_first,
    "fields_last": fields_last,
    "names_first": names_first,
    "names_last": names_last,
    "bare": bare,
    "schema_first_example": with_example(schema_first),
    "fields_first_example": with_example(fields_first),
    "names_first_example": with_example(names_first),
}


def field_list(schema: Mapping[str, Any]) -> str:
    """One line for each property of an object schema.

    >>> print(field_list({"properties": {"due": {"type": "string", "format": "date"}, "paid": {"enum": [1, 2]}}}))
    - due: date YYYY-MM-DD
    - paid: one of 1, 2
    """
    return "\n".join(f"- {name}: {_in_words(inner)}" for name, inner in schema["properties"].items())


def _in_words(schema: Mapping[str, Any]) -> str:
    words = _type_in_words(schema)
    return f"{words} ({schema['description']})" if "description" in schema else words


def _type_in_words(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type_in_words(inner) for inner in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(_json(value) for value in schema["enum"])
    kind = schema["type"]
    if isinstance(kind, list):
        return " or ".join(kind)
    if schema.get("format") == "date":
        return "date YYYY-MM-DD"
    if kind == "array":
        return f"list of {_type_in_words(schema['items'])}"
    if kind == "object":
        return "object with " + ", ".join(schema["properties"])
    return str(kind)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _user(content: str) -> list[Message]:
    return [{"role": "user", "content": content}]
