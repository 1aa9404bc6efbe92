"""What the tests of this folder share: a grammar of a schema, and the texts of a value."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from grammars import Vocabulary, compile_ir
from grammars.frontends.json_schema import lower_json_schema

__all__ = ["DUMPS", "Language", "language", "orders"]

DUMPS: dict[str, dict[str, Any]] = {
    "indent=2": {"indent": 2},
    "indent=0": {"indent": 0},
    "spaced": {},
    "compact": {"separators": (",", ":")},
    "flexible": {"indent": 3},
    "any": {"indent": 1},
}
"""How ``json.dumps`` writes what each layout takes."""


@lru_cache(maxsize=1)
def _bytes() -> Vocabulary:
    return Vocabulary.from_bytes([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])


class Language:
    """The texts that a schema allows in one layout."""

    def __init__(self, schema: Any, whitespace: str, **options: Any) -> None:
        self.whitespace = whitespace
        self.ir = lower_json_schema(schema, whitespace=whitespace, **options)
        self.grammar = compile_ir(self.ir, _bytes())

    def takes(self, text: str | bytes) -> bool:
        """Whether the text is allowed."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        matcher = self.grammar.matcher()
        return matcher.consume_bytes(data) and matcher.is_accepting

    def takes_value(self, value: Any) -> bool:
        """Whether the value is allowed as ``json.dumps`` writes it in this layout."""
        return self.takes(json.dumps(value, ensure_ascii=False, **DUMPS[self.whitespace]))


def language(schema: Any, whitespace: str = "compact", **options: Any) -> Language:
    """The language of a schema."""
    return Language(schema, whitespace, **options)


def orders(value: Any, limit: int = 200) -> Iterator[Any]:
    """The value with its keys in every order, up to ``limit`` of them."""
    return itertools.islice(_orders(value), limit)


def _orders(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for items in itertools.product(*(list(_orders(item)) for item in value)):
            yield list(items)
    elif isinstance(value, dict):
        for keys in itertools.permutations(value):
            for items in itertools.product(*(list(_orders(value[key])) for key in keys)):
                yield dict(zip(keys, items, strict=True))
    else:
        yield value
