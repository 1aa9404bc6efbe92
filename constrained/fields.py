"""The field language of ``--fields``: a JSON Schema in one line.

::

    fields  = field {"," field}
    field   = name [":" type]                     without a type: str
    type    = atom {"[]"} ["?"]                   "?": or null, when the document does not say
    atom    = "str" | "int" | "float" | "bool" | "date" | "datetime" | "time" | "uuid" | "any"
            | "list[" type "]" | "{" fields "}" | choice {"|" choice}
    choice  = a text in single or double quotes
    name    = letters, digits, "_", "-", "." or a text in quotes

Every field is always written, in the order given, and nothing else.

>>> fields_schema("name: str, due: date?")["properties"]["due"]
{'anyOf': [{'type': 'string', 'format': 'date'}, {'type': 'null'}]}
>>> fields_schema("status: 'open' | 'paid', lines: {item: str, price: float}[]")["required"]
['status', 'lines']
"""

from __future__ import annotations

import re
from typing import Any

from .errors import FieldsError
from .output_types.temporal import datetime_schema, time_schema

__all__ = ["fields_schema"]

_TYPES: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "datetime": datetime_schema(),
    "time": time_schema(),
    "uuid": {"type": "string", "format": "uuid"},
    "any": {},
}
_ALIASES = {"text": "str", "string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_MAX_NESTING = 32
_TOKEN = re.compile(r"""\s*(?:(?P<name>[\w.-]+)|(?P<text>"[^"]*"|'[^']*')|(?P<sign>\[\]|[,:?|\[\]{}]))""")
_END = "the end"


def fields_schema(text: str) -> dict[str, Any]:
    """The JSON Schema of a list of fields. Raises :class:`~constrained.errors.FieldsError`, which shows the place."""
    if not isinstance(text, str):
        raise TypeError(f"fields: expected a list of fields as a str, such as 'name: str, due: date?', got {text!r}")
    parser = _Parser(text)
    schema, _ = parser.fields(0)
    parser.expect(_END)
    return schema


class _Parser:
    """One look-ahead token: ``kind`` is name, text, a sign, or the end; ``value`` its text; ``start`` where."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :]
            self.start = len(self.text) - len(rest.lstrip())
            if rest.strip():
                raise FieldsError(f"unexpected {rest.lstrip()[0]!r}", self.text, self.start)
            self.kind, self.value = _END, ""
            return
        self.position = match.end()
        group = match.lastgroup or ""
        self.start = match.start(group)
        self.value = match[group]
        self.kind = self.value if group == "sign" else group

    def take(self, kind: str) -> bool:
        if self.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str) -> None:
        if not self.take(kind):
            raise self.error(f"expected {kind if kind == _END else repr(kind)}")

    def error(self, expected: str) -> FieldsError:
        got = self.kind if self.kind == _END else repr(self.value)
        return FieldsError(f"{expected}, got {got}", self.text, self.start)

    # -- each gives a schema and how many types lie inside one another in it, itself included ------------------------

    def fields(self, depth: int) -> tuple[dict[str, Any], int]:
        properties: dict[str, Any] = {}
        height = 1
        while True:
            if self.kind not in ("name", "text"):
                raise self.error("expected the name of a field")
            name = self.value if self.kind == "name" else self.value[1:-1]
            if name in properties:
                raise self.error("expected each field once")
            self.advance()
            properties[name], inner = self.type(depth) if self.take(":") else ({"type": "string"}, 0)
            height = max(height, inner + 1)
            if not self.take(","):
                break
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        return schema, height

    def type(self, depth: int) -> tuple[dict[str, Any], int]:
        self.require_room(depth)
        schema, height = self.atom(depth)
        while self.kind == "[]":
            height += 1
            self.require_room(depth + height - 1)
            self.advance()
            schema = {"type": "array", "items": schema}
        return ({"anyOf": [schema, {"type": "null"}]} if self.take("?") else schema), height

    def require_room(self, depth: int) -> None:
        if depth > _MAX_NESTING:
            raise self.error(f"expected at most {_MAX_NESTING} types inside one another")

    def atom(self, depth: int) -> tuple[dict[str, Any], int]:
        if self.take("{"):
            inner = self.fields(depth + 1)
            self.expect("}")
            return inner
        if self.kind == "text":
            choices = [self.choice()]
            while self.take("|"):
                choices.append(self.choice())
            return {"enum": choices}, 1
        if self.kind == "name" and self.value == "list":
            self.advance()
            self.expect("[")
            items, height = self.type(depth + 1)
            self.expect("]")
            return {"type": "array", "items": items}, height + 1
        known = _TYPES.get(_ALIASES.get(self.value, self.value)) if self.kind == "name" else None
        if known is None:
            raise self.error(f"expected a type ({', '.join(_TYPES)}, list[...], {{...}}, or texts in quotes)")
        self.advance()
        return dict(known), 1

    def choice(self) -> str:
        if self.kind != "text":
            raise self.error("expected a text in quotes")
        value = self.value[1:-1]
        self.advance()
        return value
