"""The JSON texts of a value that an engine should take: one of them is enough."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, permutations
from typing import Any

__all__ = ["texts_of"]

_MOST_ORDERS = 24
_SEPARATORS = ((",", ":"), (", ", ": "))


def texts_of(value: Any, schema: Any) -> Iterator[bytes]:
    """Texts of a value, in several orders of names, without blanks and as `json.dumps` writes it.

    An engine may insist on an order of properties; first comes the order in which a schema names them.

    >>> list(texts_of({"b": 1, "a": 2}, {"properties": {"a": {}, "b": {}}}))[:2]
    [b'{"a":2,"b":1}', b'{"a": 2, "b": 1}']
    """
    written = json.dumps(schema, ensure_ascii=False)
    seen: set[bytes] = set()
    for ordered in (_in_order(value, written), value, *_other_orders(value)):
        for separators in _SEPARATORS:
            text = json.dumps(ordered, ensure_ascii=False, separators=separators).encode("utf-8", "surrogatepass")
            if text not in seen:
                seen.add(text)
                yield text


def _in_order(value: Any, written: str) -> Any:
    """The value with the names of its objects as they come first in a schema."""
    if isinstance(value, dict):

        def place(name: str) -> int:
            found = written.find(json.dumps(name, ensure_ascii=False))
            return len(written) if found < 0 else found

        return {name: _in_order(value[name], written) for name in sorted(value, key=place)}
    return [_in_order(item, written) for item in value] if isinstance(value, list) else value


def _other_orders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for names in islice(permutations(value), _MOST_ORDERS):
            yield {name: value[name] for name in names}
