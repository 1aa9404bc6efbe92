"""Given values (``enum``, ``const``) as nodes; what is inside them becomes schemas of our own."""

from __future__ import annotations

from typing import Any

from .combine import both, distinct_numbers
from .keywords import Group
from .numbers import as_decimal, plain_text
from .resources import Document
from .shapes import ANY, ArrayShape, Goal, Node, NumberShape, ObjectShape, StringShape

__all__ = ["values_node"]


def values_node(document: Document, schema: dict[str, Any], pointer: str) -> Node:
    """The node of ``enum`` and ``const``."""
    result = ANY
    if "enum" in schema:
        result = _node_of_values(document, schema["enum"], f"{pointer}/enum")
    if "const" in schema and "const" in document.dialect(schema).table:
        result = both(result, _node_of_values(document, [schema["const"]], f"{pointer}/const"))
    return result


def _node_of_values(document: Document, values: list[Any], pointer: str) -> Node:
    node = Node(pointer=pointer)
    strings: dict[str, None] = {}
    numbers = []
    for value in values:
        kind = type(value)
        if kind is str:
            strings[value] = None
        elif value is None:
            node.null = True
        elif kind is bool:
            node.booleans |= 2 if value else 1
        elif kind is dict:
            node.objects += (_object_value(document, value, pointer),)
        elif kind is list:
            goals = tuple(_value_goal(document, item, pointer) for item in value)
            node.arrays += (ArrayShape(goals, None, len(goals), len(goals), pointer=pointer),)
        else:
            numbers.append((as_decimal(value), plain_text(value)))
    if strings:
        node.strings = (StringShape(values=tuple(strings), pointer=pointer),)
    if numbers:
        node.numbers = (NumberShape(values=distinct_numbers(numbers), pointer=pointer),)
    if node.is_empty:
        node.reason = "the enum is empty"
    return node


def _object_value(document: Document, value: dict[str, Any], pointer: str) -> ObjectShape:
    goals = {name: _value_goal(document, inner, pointer) for name, inner in value.items()}
    return ObjectShape(goals, dict.fromkeys(value), None, pointer=pointer)


def _value_goal(document: Document, value: Any, pointer: str) -> Goal:
    """A part of a given value, as a schema of our own."""
    schema = {"enum": [value]}
    document.register(schema, int(Group.VALUES), pointer)
    return (schema,)
