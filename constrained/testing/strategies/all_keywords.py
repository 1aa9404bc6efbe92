"""Hypothesis strategy: small schemas over every keyword of every draft, in every combination.

Keywords are drawn freely, whatever they concern, so each pair of them meets in one schema; what they hold is drawn from
few names, texts and numbers, so that they have to do with each other.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st

from .schemas import json_values

__all__ = ["DRAFTS", "FORMATS", "KEYWORDS", "NAMES", "TEXTS", "keyword_pairs", "keyword_schemas", "schemas"]

Schema = dict[str, Any] | bool

DRAFTS = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
"""Name of a draft -> its ``$schema``."""
NAMES = ("a", "ab", "b", 'q"', "é", "x-1")
TEXTS = ("", "a", "ab", "abc", "é", "\n", '"', "1", "😀")
"""Names and texts that schemas and values share: prefixes of each other, to be escaped, beyond ASCII, beyond 2**16."""
FORMATS = (
    *("date", "time", "date-time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri"),
    *("uri-reference", "iri", "iri-reference", "uuid", "uri-template", "json-pointer", "relative-json-pointer"),
    *("regex", "unheard-of"),
)
_PATTERNS = ("^a", "b$", "^[a-c]+$", "a|é", "\\d", "^x-", "^(?!ab)", "^$", "[^a]", "^\\w{2}$")
"""Each means the same in ECMA-262 and in :mod:`re`, with ``(?a)`` and a ``$`` that does not look beyond a newline."""
_NUMBERS = (0, 1, -1, 2, 3, 5, -3, 10, 0.5, -2.25, 100, 2**53 + 1, -(2**63), 1e20, 1e-7)
_FACTORS = (1, 2, 3, 5, 7, 10, 0.5, 0.01, 2.5, 1e-8, 2**53 + 1)
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_ALWAYS = (
    *("$ref", "type", "enum", "allOf", "anyOf", "oneOf", "not", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format", "items", "minItems", "maxItems"),
    *("uniqueItems", "properties", "patternProperties", "additionalProperties", "required", "minProperties"),
    *("maxProperties",),
)
_SIX = ("const", "contains", "propertyNames")
_OLD = ("additionalItems", "dependencies")
_SEVEN = ("if", "then", "else")
_NEW = (
    *("dependentRequired", "dependentSchemas", "minContains", "maxContains", "unevaluatedItems"),
    "unevaluatedProperties",
)
KEYWORDS: dict[str, tuple[str, ...]] = {
    "4": (*_ALWAYS, *_OLD),
    "6": (*_ALWAYS, *_SIX, *_OLD),
    "7": (*_ALWAYS, *_SIX, *_SEVEN, *_OLD),
    "2019-09": (*_ALWAYS, *_SIX, *_SEVEN, *_NEW, "additionalItems", "$recursiveRef"),
    "2020-12": (*_ALWAYS, *_SIX, *_SEVEN, *_NEW, "prefixItems", "$dynamicRef"),
}
"""Draft -> the keywords that can refuse something there, or change what others refuse."""
_CONCERNS = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "array": (
        *("items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains", "minItems", "maxItems"),
        *("uniqueItems", "unevaluatedItems"),
    ),
    "object": (
        *("properties", "patternProperties", "additionalProperties", "propertyNames", "required", "minProperties"),
        *("maxProperties", "dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties"),
    ),
}
_NEEDS = {
    "then": "if",
    "else": "if",
    "minContains": "contains",
    "maxContains": "contains",
    "additionalItems": "items",
}
"""Keywords that mean nothing without another."""


@st.composite
def schemas(
    draw: st.DrawFn, *, draft: str | None = None, keywords: Collection[str] | None = None, max_depth: int = 2
) -> Schema:
    """JSON Schemas, small ones, ``$schema`` included; some allow nothing at all.

    ``draft`` is a key of :data:`DRAFTS` (any of them by default), ``keywords`` the only ones to use beside ``type``,
    ``enum`` and definitions (all of the draft by default). ValueError for a draft or keywords that there are not.

    >>> from hypothesis import find
    >>> wanted = schemas(draft="7", keywords=["contains", "uniqueItems"])
    >>> find(wanted, lambda schema: isinstance(schema, dict) and "uniqueItems" in schema)["uniqueItems"]
    True
    """
    if draft is not None and draft not in DRAFTS:
        raise ValueError(f"draft: expected one of {', '.join(DRAFTS)}, got {draft!r}")
    chosen = draw(st.sampled_from(list(DRAFTS))) if draft is None else draft
    if keywords is not None and not set(keywords) & set(KEYWORDS[chosen]):
        raise ValueError(f"keywords: expected some of draft {chosen}, got {', '.join(map(repr, keywords)) or 'none'}")
    most = draw(st.sampled_from((2, 4, 6, 10)))
    return draw(_roots(chosen, max_depth, 1, most, None if keywords is None else tuple(keywords)))


def keyword_schemas(
    draft: str, *, max_depth: int = 2, min_keywords: int = 1, max_keywords: int = 7
) -> st.SearchStrategy[Schema]:
    """Schemas of a draft (a key of :data:`DRAFTS`), ``$schema`` included; some allow nothing at all.

    ``min_keywords`` to ``max_keywords`` are drawn for the outermost schema, the same one perhaps again, and up to three
    for those within it, of which ``max_depth`` are nested.
    """
    return _roots(draft, max_depth, min_keywords, max_keywords)


def keyword_pairs(schema: Any, keywords: tuple[str, ...]) -> set[tuple[str, str]]:
    """The pairs of ``keywords``, in that order, that stand beside each other somewhere in a schema."""
    found: set[tuple[str, str]] = set()
    pending = [schema]
    while pending:
        inner = pending.pop()
        if isinstance(inner, dict):
            present = [name for name in keywords if name in inner]
            found.update((one, other) for index, one in enumerate(present) for other in present[index + 1 :])
            pending.extend(inner.values())
        elif isinstance(inner, list):
            pending.extend(inner)
    return found


@st.composite
def _roots(
    draw: st.DrawFn,
    draft: str,
    max_depth: int,
    min_keywords: int,
    max_keywords: int,
    keywords: tuple[str, ...] | None = None,
) -> Schema:
    writer = _Writer(draw, draft, keywords)
    schema = writer.schema(max_depth, max_keywords, least=min_keywords)
    if isinstance(schema, bool):
        return schema
    held = "$defs" if draft in ("2019-09", "2020-12") else "definitions"
    while len(writer.defined) < len(writer.wanted):  # definitions may want further ones
        name = next(name for name in writer.wanted if name not in writer.defined)
        writer.defined[name] = True
        writer.outermost = int(name[1:]) + 1
        writer.nested = False
        writer.defined[name] = writer.schema(1, 3)
    if writer.defined:
        schema[held] = writer.defined
    if writer.dynamic:
        schema["$recursiveAnchor" if draft == "2019-09" else "$dynamicAnchor"] = True if draft == "2019-09" else "node"
    return {"$schema": DRAFTS[draft], **schema}


class _Writer:
    """Draws one schema with its definitions."""

    def __init__(self, draw: st.DrawFn, draft: str, keywords: tuple[str, ...] | None = None) -> None:
        self.draw = draw
        self.draft = draft
        self.known = tuple(name for name in KEYWORDS[draft] if keywords is None or name in keywords)
        self.old = draft in ("4", "6", "7")
        self.wanted: dict[str, None] = {}
        self.defined: dict[str, Schema] = {}
        self.outermost = 0  # definitions refer, in place, to later ones only: nothing refers to itself in place
        self.nested = False
        self.dynamic = False

    def schema(self, depth: int, most: int, *, least: int = 1) -> Schema:
        if least == 1 and self.draft != "4" and self.draw(st.integers(0, 9)) == 0:
            return self.draw(st.booleans())
        known = self.known
        count = self.draw(st.integers(least, most))
        chosen = dict.fromkeys(self.draw(st.lists(st.sampled_from(known), min_size=1, max_size=count, unique=True)))
        for _ in range(count - len(chosen)):  # lists are shorter than they may be for the most part
            chosen[self.draw(st.sampled_from(known))] = None
        needs = _NEEDS | ({"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} if self.draft == "4" else {})
        for name in list(chosen):
            if name in needs:
                chosen[needs[name]] = None
        schema: dict[str, Any] = {}
        for name in chosen:
            value = self.keyword(name, tuple(chosen), depth)
            if value is not None:
                schema[name] = value
        return schema

    def inner(self, depth: int, *, nested: bool) -> Schema:
        """A schema within: of the same value, or (``nested``) of a part of it."""
        before, self.nested = self.nested, self.nested or nested
        schema = self.leaf() if depth <= 0 else self.schema(depth - 1, 3)
        self.nested = before
        return schema

    def leaf(self) -> Schema:
        draw = self.draw
        match draw(st.integers(0, 5)):
            case 0:
                return {} if self.draft == "4" else draw(st.booleans())
            case 1:
                return {"enum": draw(st.lists(json_values(max_leaves=2), min_size=1, max_size=3, unique_by=repr))}
            case 2 | 3:
                return {"type": draw(st.sampled_from(_TYPES))}
            case _:
                kind = draw(st.sampled_from(("integer", "number", "string")))
                names = [name for name in _CONCERNS[kind] if name in self.known]
                if not names:
                    return {"type": kind}
                name = draw(st.sampled_from(names))
                if self.draft == "4":
                    name = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}.get(name, name)
                return {"type": kind, name: self.keyword(name, (name,), 0)}

    def keyword(self, name: str, chosen: tuple[str, ...], depth: int) -> Any:
        """A value of a keyword; ``None`` to leave it out after all."""
        draw = self.draw
        if name == "type":
            return self.types(chosen)
        if name in ("$ref", "$recursiveRef", "$dynamicRef"):
            return self.reference(name)
        if name in ("exclusiveMinimum", "exclusiveMaximum") and self.draft == "4":
            return draw(st.booleans()) if name[9:].lower() in chosen else None
        if name in _PLAIN:
            return draw(_PLAIN[name])
        if name in ("allOf", "anyOf", "oneOf"):
            return [self.inner(depth, nested=False) for _ in range(draw(st.integers(1, 3)))]
        if name in ("not", "if", "then", "else"):
            return self.inner(depth, nested=False)
        if (
            name == "items"
            and self.draft != "2020-12"
            and ("additionalItems" in chosen or draw(st.integers(0, 2)) == 0)
        ):
            return [self.inner(depth, nested=True) for _ in range(draw(st.integers(1, 2)))]
        if name == "prefixItems":
            return [self.inner(depth, nested=True) for _ in range(draw(st.integers(1, 2)))]
        if name in ("properties", "patternProperties", "dependentSchemas"):
            names = st.sampled_from(_PATTERNS if name == "patternProperties" else NAMES)
            listed = draw(st.lists(names, min_size=1, max_size=3, unique=True))
            return {one: self.inner(depth, nested=name != "dependentSchemas") for one in listed}
        if name == "dependencies":
            listed = draw(_NAMES)
            needed = _NAMES if self.draft == "4" else _SOME_NAMES
            return {one: draw(needed) if draw(st.booleans()) else self.inner(depth, nested=False) for one in listed}
        if name == "dependentRequired":
            return {one: draw(_SOME_NAMES) for one in draw(_NAMES)}
        if name == "propertyNames":
            return self.of_names()
        if name in ("additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties"):
            return self.inner(depth, nested=True) if draw(st.booleans()) else draw(st.booleans())
        return self.inner(depth, nested=True)  # items, contains

    def types(self, chosen: tuple[str, ...]) -> str | list[str]:
        """Types that the other keywords concern, for the most part."""
        fitting = [kind for kind, names in _CONCERNS.items() if not set(names).isdisjoint(chosen)] or list(_TYPES)
        types = st.sampled_from(fitting) if self.draw(st.integers(0, 3)) else st.sampled_from(_TYPES)
        listed: list[str] = self.draw(st.lists(types, min_size=1, max_size=3, unique=True))
        return listed[0] if len(listed) == 1 and self.draw(st.booleans()) else listed

    def reference(self, name: str) -> str | None:
        if name != "$ref":
            if not self.nested:  # what is in place may only refer onwards
                return self.reference("$ref") if name == "$dynamicRef" else None
            self.dynamic = True
            return "#" if name == "$recursiveRef" else self.draw(st.sampled_from(("#node", "#")))
        targets = [f"d{index}" for index in range(0 if self.nested else self.outermost, 3)]
        if self.nested:
            targets.append("#")
        if not targets:
            return None
        target = self.draw(st.sampled_from(targets))
        if target == "#":
            return "#"
        self.wanted[target] = None
        return f"#/{'definitions' if self.old else '$defs'}/{target}"

    def of_names(self) -> Schema:
        """A schema of strings."""
        draw = self.draw
        match draw(st.integers(0, 4)):
            case 0:
                return {"enum": draw(_NAMES)}
            case 1:
                return {"pattern": draw(st.sampled_from(_PATTERNS))}
            case 2:
                return {"maxLength": draw(st.integers(0, 3)), "minLength": draw(st.integers(0, 1))}
            case 3:
                return {"not": {"enum": draw(_NAMES)}}
            case _:
                return self.inner(0, nested=True)


_SOME_NAMES = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
_NAMES = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)
_PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "enum": st.lists(json_values(max_leaves=4), min_size=1, max_size=5, unique_by=repr),
    "const": json_values(max_leaves=4),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.sampled_from(_NUMBERS)),
    "multipleOf": st.sampled_from(_FACTORS),
    "minLength": st.integers(0, 3),
    "maxLength": st.integers(0, 6),
    "pattern": st.sampled_from(_PATTERNS),
    "format": st.sampled_from(FORMATS),
    "minItems": st.integers(0, 2),
    "maxItems": st.integers(0, 4),
    "uniqueItems": st.sampled_from((True, True, False)),
    "minContains": st.integers(0, 2),
    "maxContains": st.integers(0, 3),
    "required": _NAMES,
    "minProperties": st.integers(0, 2),
    "maxProperties": st.integers(0, 3),
}
