"""What the model is told when it is asked to extract."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["DEFAULT_TEMPLATE", "Message", "PromptTemplate", "WorkedExample", "property_names"]

Message = dict[str, str]
"""One turn of a chat: ``role`` and ``content``."""

_PLACE = re.compile(r"\{(document|instructions|schema|names)\}")
_MAX_HOPS = 16
_PLAIN_INSTRUCTIONS = "Read the document and answer."


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedExample:
    """A document with its answer, shown to the model before the real one."""

    document: str
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTemplate:
    """The turns of an extraction.

    ``{document}``, ``{instructions}``, ``{schema}`` (the JSON Schema) and ``{names}`` (of the wanted properties) are
    filled in once, so that a document may hold such a place as text. Examples are shown for JSON only.

    >>> template = PromptTemplate(user="{instructions} {document}", instructions="Find {names}:")
    >>> template.messages("{names}", schema_text='{"properties": {"a": {}, "b": {}}}')
    [{'role': 'user', 'content': 'Find a, b: {names}'}]
    """

    user: str
    instructions: str
    system: str | None = None
    examples: tuple[WorkedExample, ...] = ()

    def __post_init__(self) -> None:
        for name in ("user", "instructions", "system"):
            value = getattr(self, name)
            if not isinstance(value, str) and not (name == "system" and value is None):
                raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
        if "{document}" not in self.user:
            raise ValueError("user: expected a text that says {document}, or the model would not see the document")
        if not isinstance(self.examples, tuple) or not all(isinstance(one, WorkedExample) for one in self.examples):
            raise TypeError(f"examples: expected a tuple of WorkedExample, got {type(self.examples).__name__}")

    def messages(
        self,
        document: str,
        instructions: str | None = None,
        *,
        schema_text: str | None,
        whitespace: str = "indent=2",
    ) -> list[Message]:
        """The chat for one document.

        ``instructions`` take the place of the template's own; if they say ``{document}``, they are the whole turn.
        ``schema_text`` is ``None`` for output that is not JSON. ``whitespace`` is that of the examples' answers.
        """
        if instructions and "{document}" in instructions:
            return [*self._system(), _turn("user", _filled(instructions, document, "", schema_text))]
        own = _PLAIN_INSTRUCTIONS if schema_text is None else self.instructions
        messages = self._system()
        for example in self.examples if schema_text is not None else ():
            shown = json.dumps({"type": "object", "properties": {name: {} for name in example.answer}})
            messages.append(_turn("user", _filled(self.user, example.document, self.instructions, shown)))
            messages.append(_turn("assistant", _written(example.answer, whitespace)))
        messages.append(_turn("user", _filled(self.user, document, instructions or own, schema_text)))
        return messages

    def _system(self) -> list[Message]:
        return [] if self.system is None else [_turn("system", self.system)]


def _turn(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _filled(template: str, document: str, instructions: str, schema_text: str | None) -> str:
    values = {"document": document.strip("\n"), "schema": schema_text or "", "names": property_names(schema_text)}
    values["instructions"] = _PLACE.sub(lambda place: values.get(place[1], place[0]), instructions)
    return _PLACE.sub(lambda place: values[place[1]], template)


def _written(answer: dict[str, Any], whitespace: str) -> str:
    if whitespace == "compact":
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    if whitespace == "spaced":
        return json.dumps(answer, ensure_ascii=False)
    indent = whitespace.removeprefix("indent=")
    return json.dumps(answer, ensure_ascii=False, indent=int(indent) if indent.isdecimal() else 2)


def property_names(schema_text: str | None) -> str:
    """The names of the properties that a schema asks for, in its order; "the data" if it names none.

    Those of a list are its items', those of alternatives are all of theirs.

    >>> property_names('{"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"size": {}, "due date": {}}}}}')
    'size, due date'
    """
    root = json.loads(schema_text) if schema_text else True
    names: dict[str, None] = {}
    pending, hops = [root], 0
    while pending and hops < _MAX_HOPS:
        hops += 1
        schema = pending.pop(0)
        if not isinstance(schema, dict):
            continue
        properties = schema.get("properties")
        if isinstance(properties, dict):
            names.update(dict.fromkeys(properties))
            continue
        pending.append(_definition(root, schema.get("$ref")))
        pending.append(schema.get("items"))
        for keyword in ("anyOf", "oneOf", "allOf"):
            branches = schema.get(keyword)
            pending.extend(branches if isinstance(branches, list) else ())
    return ", ".join(names) or "the data"


def _definition(root: Any, reference: Any) -> Any:
    """What a plain ``#/$defs/name`` refers to; ``None`` for anything else."""
    match = re.fullmatch(r"#/(\$defs|definitions)/([^/~%]+)", reference) if isinstance(reference, str) else None
    if match is None:
        return None
    definitions = root.get(match[1])
    return definitions.get(match[2]) if isinstance(definitions, dict) else None


DEFAULT_TEMPLATE = PromptTemplate(
    user="{instructions}\n\nDocument:\n{document}",
    instructions="Extract {names} from the document as JSON.",
    examples=(
        WorkedExample(
            document=(
                "Bestellung vom 09.11.2023\nKundin: Carla Mendes\n2 Lampen, 1 Teppich\n"
                "Summe: 1.056,40 €\nVersand: Express"
            ),
            answer={
                "customer": "Carla Mendes",
                "order_date": "2023-11-09",
                "items": ["Lampen", "Teppich"],
                "total": 1056.4,
                "express": True,
                "phone": None,
            },
        ),
    ),
)
"""Used by ``extract`` unless told otherwise: of those compared by ``benchmarks/quality.py``, the one with most fields
right. The example is in German since it shows most: a date, a number and a list in another form than JSON's."""
