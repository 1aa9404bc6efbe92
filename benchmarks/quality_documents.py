"""The labelled documents of the quality benchmark, and how an answer is scored field by field.

One JSON file a document in `benchmarks/quality_data/`:

- `text`, `schema`: what the model is given, and what its answer must satisfy;
- `expected`: the right answer, itself valid for the schema;
- `rules`: for every field (`guest/name` is the field `name` inside `guest`) how it is compared, see :data:`RULES`;
- `alternatives`: for some fields, further answers that are as right.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "quality_data"

ABSENT = object()  # an answer may lack a field, and None is a value


@dataclass(frozen=True)
class LabelledDocument:
    """A text, the schema of what is to be read from it, and the right answer."""

    id: str
    kind: str
    language: str
    text: str
    schema: Mapping[str, Any]
    expected: Mapping[str, Any]
    rules: Mapping[str, str]
    alternatives: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def accepted(self, path: str) -> list[Any]:
        """Every value that counts as right for the field at `path`, the expected one first."""
        return [value_at(self.expected, path), *self.alternatives.get(path, ())]


@dataclass(frozen=True)
class Score:
    """Fields right out of `total`, and what stood in the wrong ones (:data:`ABSENT` where there was nothing)."""

    right: int
    total: int
    wrong: Mapping[str, Any]


def load_documents(folder: Path = DATA, *, limit: int | None = None) -> list[LabelledDocument]:
    """All documents of a folder in the order of their file names, or the first `limit`."""
    paths = sorted(folder.glob("*.json"))[:limit]
    if not paths:
        raise FileNotFoundError(f"expected JSON files of labelled documents in {folder}, found none")
    return [LabelledDocument(**json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def score(document: LabelledDocument, answer: Any) -> Score:
    """Compare an answer (any JSON value; None for no answer at all) with what the document expects.

    >>> document = LabelledDocument(
    ...     id="x", kind="note", language="en", text="Ann, 3", schema={},
    ...     expected={"name": "Ann", "count": 3}, rules={"name": "text", "count": "number"},
    ... )
    >>> score(document, {"name": "ANN ", "count": 4})
    Score(right=1, total=2, wrong={'count': 4})
    """
    wrong = {}
    for path, rule in document.rules.items():
        value = value_at(answer, path)
        if value is ABSENT or not any(RULES[rule](value, right) for right in document.accepted(path)):
            wrong[path] = value
    return Score(right=len(document.rules) - len(wrong), total=len(document.rules), wrong=wrong)


def value_at(value: Any, path: str) -> Any:
    """The value at `outer/inner`, or :data:`ABSENT`."""
    for key in path.split("/"):
        if not isinstance(value, Mapping) or key not in value:
            return ABSENT
        value = value[key]
    return value


def bounded(document: LabelledDocument) -> LabelledDocument:
    """The same document, but strings of at most 80 characters and lists of at most 8 items.

    Sampled at temperature 1, a small model may never end a string by itself, and without a bound none has to end.
    """
    return replace(document, schema=_bounded(document.schema))


def _bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(schema)
    types = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])
    if "string" in types and "format" not in schema:
        result["maxLength"] = 80
    if "array" in types:
        result |= {"maxItems": 8, "items": _bounded(schema["items"])}
    if "properties" in schema:
        result["properties"] = {name: _bounded(inner) for name, inner in schema["properties"].items()}
    if "anyOf" in schema:
        result["anyOf"] = [_bounded(inner) for inner in schema["anyOf"]]
    return result


def same_exactly(value: Any, right: Any) -> bool:
    """Equal and of one type, so that 1 is not true."""
    return type(value) is type(right) and value == right


def same_text(value: Any, right: Any) -> bool:
    """Equal but for case, white space and Unicode normal form; null equals only null."""
    if isinstance(value, str) and isinstance(right, str):
        return _folded(value) == _folded(right)
    return value is None and right is None


def same_number(value: Any, right: Any) -> bool:
    """Equal as numbers, 12 and 12.0 alike; true and false are none; null equals only null."""
    if value is None or right is None:
        return value is right
    return _is_number(value) and _is_number(right) and bool(value == right)


def same_set(value: Any, right: Any) -> bool:
    """Lists of the same texts in any order, compared as :func:`same_text` does."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return False
    return sorted(map(_folded, value)) == sorted(map(_folded, right))


RULES: Mapping[str, Callable[[Any, Any], bool]] = {
    "exact": same_exactly,
    "text": same_text,
    "number": same_number,
    "set": same_set,
}


def first_json_object(text: str) -> dict[str, Any] | None:
    """The first JSON object that stands whole in a text, for what a model wrote unconstrained.

    >>> first_json_object('Here you are:\\n```json\\n{"a": [1]}\\n```')
    {'a': [1]}
    >>> first_json_object('{"a": ') is None
    True
    """
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            start = text.find("{", start + 1)
        else:
            assert isinstance(value, dict)
            return value
    return None


def _folded(text: str) -> str:
    return "".join(unicodedata.normalize("NFC", text).casefold().split())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
