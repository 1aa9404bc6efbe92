"""Which keywords a schema means: its draft, or the vocabularies of its own metaschema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...errors import Problem
from .keywords import TABLES, Draft, Keyword

__all__ = ["NEWEST", "Dialect", "dialect_of", "draft_named"]

_DRAFT_OF = {
    "json-schema.org/schema": Draft.DRAFT2020,
    "json-schema.org/draft-04/schema": Draft.DRAFT4,
    "json-schema.org/draft-05/schema": Draft.DRAFT4,
    "json-schema.org/draft-06/schema": Draft.DRAFT6,
    "json-schema.org/draft-07/schema": Draft.DRAFT7,
    "json-schema.org/draft/2019-09/schema": Draft.DRAFT2019,
    "json-schema.org/draft/2020-12/schema": Draft.DRAFT2020,
}
_CORE = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions"})
_APPLICATOR = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
    | {"items", "prefixItems", "additionalItems", "contains"}
    | {"properties", "additionalProperties", "patternProperties", "propertyNames"}
)
_UNEVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_NEUTRAL = frozenset({"meta-data", "content"})


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """A draft and the keywords that count. ``dropped`` are those that a metaschema of one's own leaves out."""

    draft: Draft
    table: dict[str, Keyword]
    declared: bool
    dropped: frozenset[str] = frozenset()


_DIALECTS = {draft: Dialect(draft, TABLES[draft], True) for draft in Draft}
NEWEST = Dialect(Draft.DRAFT2020, TABLES[Draft.DRAFT2020], False)
"""What a schema without ``$schema`` means; a few older spellings are taken too."""


def draft_named(uri: str) -> Draft | None:
    """The draft whose metaschema has this address."""
    return _DRAFT_OF.get(uri.partition("://")[2].rstrip("#"))


def dialect_of(
    schema: object, pointer: str, default: Dialect, metaschema: Callable[[str], object | None]
) -> Dialect | Problem:
    """The dialect that ``$schema`` names, or what is wrong with it; ``default`` where nothing is named.

    ``metaschema`` finds the metaschema at an address, if it may be looked for.
    """
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if named is None:
        return default
    if not isinstance(named, str):
        return Problem(pointer, "$schema", f"expected the address of a metaschema, got {type(named).__name__}")
    draft = draft_named(named)
    if draft is not None:
        return _DIALECTS[draft]
    found = metaschema(named.rstrip("#"))
    if not isinstance(found, dict):
        known = ", ".join(f"draft {int(one)}" if one < Draft.DRAFT2019 else _year(one) for one in Draft)
        return Problem(pointer, "$schema", f"{named!r} is not known: expected {known}, or a metaschema in the registry")
    draft = draft_named(str(found.get("$schema")))
    if draft is None:
        return Problem(pointer, "$schema", f"the metaschema {named!r} is of no draft that is known")
    vocabularies = found.get("$vocabulary")
    if draft < Draft.DRAFT2019 or not isinstance(vocabularies, dict):
        return _DIALECTS[draft]
    return _of_vocabularies(draft, vocabularies, pointer)


def _of_vocabularies(draft: Draft, vocabularies: dict[str, Any], pointer: str) -> Dialect | Problem:
    prefix = f"https://json-schema.org/draft/{_year(draft)}/vocab/"
    names: set[str] = set()
    for uri, needed in vocabularies.items():
        name = uri.removeprefix(prefix)
        if name != uri and (name in _NEUTRAL or _keywords_of(draft, name)):
            names.add(name)
        elif needed:
            return Problem(pointer, "$vocabulary", f"the metaschema needs the vocabulary {uri!r}, which is not known")
    return _reduced(draft, frozenset(names))


@lru_cache(maxsize=64)
def _reduced(draft: Draft, names: frozenset[str]) -> Dialect:
    kept = _CORE.union(*(_keywords_of(draft, name) for name in names))
    table = TABLES[draft]
    dropped = frozenset(table) - kept
    return Dialect(draft, {name: table[name] for name in table if name in kept}, True, dropped)


def _keywords_of(draft: Draft, vocabulary: str) -> frozenset[str]:
    if vocabulary == "core":
        return _CORE
    if vocabulary == "applicator":
        return _APPLICATOR | _UNEVALUATED if draft is Draft.DRAFT2019 else _APPLICATOR
    if vocabulary == "unevaluated" and draft is Draft.DRAFT2020:
        return _UNEVALUATED
    if vocabulary in ("format", "format-annotation", "format-assertion"):
        return frozenset({"format"})
    if vocabulary == "validation":
        return frozenset(TABLES[draft]) - _CORE - _APPLICATOR - _UNEVALUATED - {"format"}
    return frozenset()


def _year(draft: Draft) -> str:
    return "2019-09" if draft is Draft.DRAFT2019 else "2020-12"
