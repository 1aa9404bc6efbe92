"""From what the caller gave (text, mapping, boolean) to a checked document with its references.

Nothing is ever fetched: a ``$ref`` finds its target inside the document or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from ...errors import LimitExceeded, Problem, SchemaError
from ...limits import Limits
from .keywords import TABLES, Children, Draft, Keyword

__all__ = ["Document", "RemoteReference", "Schema", "child_pointer", "load_schema"]

Schema = dict[str, Any] | bool
"""A schema of JSON Schema as parsed JSON."""

_DRAFT_OF = {
    "json-schema.org/draft-04/schema": Draft.DRAFT4,
    "json-schema.org/draft-06/schema": Draft.DRAFT6,
    "json-schema.org/draft-07/schema": Draft.DRAFT7,
    "json-schema.org/draft/2019-09/schema": Draft.DRAFT2019,
    "json-schema.org/draft/2020-12/schema": Draft.DRAFT2020,
}
_MAX_EXPONENT = 4096


def load_schema(source: Mapping[str, Any] | bool | str, *, limits: Limits) -> Document:
    """Read and check a schema; every fault of the whole document is reported at once.

    Raises :class:`~grammars.errors.SchemaError` where the text is not JSON, a key comes twice, a number is not
    finite or a keyword holds what it may not, and :class:`~grammars.errors.LimitExceeded` where it is too large.
    """
    if isinstance(source, str):
        root = _parse(source, limits)
    elif isinstance(source, bool):
        root = source
    elif isinstance(source, Mapping):
        root = source if type(source) is dict else dict(source)
    else:
        problem = Problem("", "schema", f"expected a mapping, a boolean or JSON text, got {type(source).__name__}")
        raise SchemaError([problem])
    if not isinstance(root, dict | bool):
        problem = Problem("", "schema", f"expected a schema (an object or a boolean), got {type(root).__name__}")
        raise SchemaError([problem])
    document = Document(root, limits)
    document.check()
    return document


def _parse(text: str, limits: Limits) -> Any:
    if len(text) > limits.max_source_length:
        raise LimitExceeded("max_source_length", limits.max_source_length, "the schema text")
    problems: list[Problem] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            seen: set[str] = set()
            for name, _ in items:
                if name in seen:
                    problems.append(Problem("", "schema", f"the key {name!r} comes twice in one object"))
                seen.add(name)
        return result

    def constant(name: str) -> float:
        problems.append(Problem("", "schema", f"{name} is not JSON"))
        return 0.0

    def decimal(digits: str) -> Decimal:
        try:
            number = Decimal(digits)
        except InvalidOperation:
            number = Decimal("Infinity")
        if not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
            problems.append(Problem("", "schema", f"the number {digits[:40]} is beyond 10**{_MAX_EXPONENT}"))
            return Decimal(0)
        return number

    def integer(digits: str) -> int:
        if len(digits) > _MAX_EXPONENT:
            problems.append(Problem("", "schema", f"an integer of {len(digits):,} digits"))
            return 0
        return int(digits)

    try:
        root = json.loads(
            text, object_pairs_hook=pairs, parse_constant=constant, parse_float=decimal, parse_int=integer
        )
    except RecursionError:
        raise LimitExceeded("max_nesting", limits.max_nesting, "the schema text") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SchemaError([Problem("", "schema", f"not JSON: {error.msg} at {where}")]) from None
    if problems:
        raise SchemaError(problems)
    return root


def child_pointer(pointer: str, *tokens: str | int) -> str:
    """The JSON pointer that goes on from ``pointer`` by these tokens.

    >>> child_pointer("/properties", "a/b")
    '/properties/a~1b'
    """
    for token in tokens:
        text = str(token)
        if "~" in text or "/" in text:
            text = text.replace("~", "~0").replace("/", "~1")
        pointer = f"{pointer}/{text}"
    return pointer


class RemoteReference(Problem):
    """A reference that leads out of the document: it may be right, but it is not ours to fetch."""


class Document:
    """A schema with everything in it that is a schema: its kinds of keywords, its place, and its base address.

    Schemas are known by identity (``id``), which the document keeps alive.
    """

    def __init__(self, root: Schema, limits: Limits) -> None:
        self.root = root
        self.limits = limits
        self.draft, self.declared = _draft_of(root)
        self.table = TABLES[self.draft]
        self.groups: dict[int, int] = {}
        """Bits of :class:`~.keywords.Group` of each schema seen, by identity."""
        self.pointers: dict[int, str] = {}
        self.problems: list[Problem] = []
        """What makes the document no valid JSON Schema."""
        self._bases: dict[int, str] = {}
        self._resources: dict[str, Schema] = {"": root}
        self._anchors: dict[tuple[str, str], dict[str, Any]] = {}
        self._keep: list[dict[str, Any]] = []

    def check(self) -> None:
        """Look at every schema of the document; raises :class:`SchemaError` with all faults."""
        self._visit(self.root, "", "", 0)
        self.raise_problems()

    def raise_problems(self) -> None:
        """Raise what was found wrong so far, if anything."""
        if self.problems:
            raise SchemaError(sorted(set(self.problems), key=lambda problem: (problem.pointer, problem.keyword)))

    def register(self, schema: dict[str, Any], groups: int, pointer: str) -> None:
        """Take in a schema of our own making, as at ``pointer``."""
        self._keep.append(schema)
        self.groups[id(schema)] = groups
        self.pointers[id(schema)] = pointer

    # -- the walk -----------------------------------------------------------------------------------------------

    def _visit(self, schema: Any, pointer: str, base: str, depth: int) -> None:
        table, groups_of, pointers = self.table, self.groups, self.pointers
        id_keyword = "id" if self.draft == Draft.DRAFT4 else "$id"
        stack: list[tuple[Any, str, str, int]] = [(schema, pointer, base, depth)]
        while stack:
            schema, pointer, base, depth = stack.pop()
            if type(schema) is not dict:
                if not isinstance(schema, bool):
                    reason = f"expected an object or a boolean, got {type(schema).__name__}"
                    self.problems.append(Problem(pointer, "schema", reason))
                continue
            key = id(schema)
            if key in groups_of:
                continue
            if depth > self.limits.max_nesting:
                raise LimitExceeded("max_nesting", self.limits.max_nesting, f"schemas nested at {pointer[:80]}...")
            pointers[key] = pointer
            if id_keyword in schema or "$anchor" in schema or "$dynamicAnchor" in schema:
                base = self._name(schema, id_keyword, base)
            if base:
                self._bases[key] = base
            groups = 0
            for name, value in schema.items():
                keyword = table.get(name)
                if keyword is None:
                    continue
                fault = self._fault(keyword, value)
                if fault is not None:
                    self.problems.append(Problem(pointer, name, fault))
                    continue
                groups |= keyword.group
                if keyword.children:
                    self._push(stack, keyword, value, pointer, base, depth + 1)
            groups_of[key] = groups

    def _fault(self, keyword: Keyword, value: Any) -> str | None:
        reason = keyword.check(value)
        if reason is None and self.declared:
            if keyword.name in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool) != (
                self.draft == Draft.DRAFT4
            ):
                expected = "a boolean" if self.draft == Draft.DRAFT4 else "a number"
                return f"expected {expected} in this draft"
            if keyword.name == "items" and isinstance(value, list) and self.draft >= Draft.DRAFT2020:
                return "expected a schema in this draft (an array of schemas is 'prefixItems')"
        return reason

    @staticmethod
    def _push(
        stack: list[tuple[Any, str, str, int]], keyword: Keyword, value: Any, pointer: str, base: str, depth: int
    ) -> None:
        prefix = f"{pointer}/{keyword.name}"
        children = keyword.children
        if children == Children.ONE or (children == Children.ONE_OR_LIST and not isinstance(value, list)):
            stack.append((value, prefix, base, depth))
        elif children in (Children.LIST, Children.ONE_OR_LIST):
            last = len(value) - 1
            stack.extend((value[index], f"{prefix}/{index}", base, depth) for index in range(last, -1, -1))
        else:
            for name in reversed(value):
                child = value[name]
                if children == Children.MAP_OR_NAMES and isinstance(child, list):
                    continue
                stack.append((child, child_pointer(prefix, name), base, depth))

    def _name(self, schema: dict[str, Any], id_keyword: str, base: str) -> str:
        """Enter the schema under its ``$id`` and ``$anchor``; the base address inside it."""
        name = schema.get(id_keyword)
        ignored = "$ref" in schema and self.draft <= Draft.DRAFT7
        if isinstance(name, str) and not ignored:
            address, fragment = urldefrag(name)
            if address:
                base = urljoin(base, address)
                self._resources.setdefault(base, schema)
            if fragment and self.draft <= Draft.DRAFT7:
                self._anchors.setdefault((base, fragment), schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(keyword)
            if isinstance(anchor, str) and self.draft >= Draft.DRAFT2019:
                self._anchors.setdefault((base, anchor), schema)
        return base

    # -- references ---------------------------------------------------------------------------------------------

    def resolve(self, schema: dict[str, Any]) -> Schema | Problem:
        """What the ``$ref`` of ``schema`` leads to, or why it leads nowhere."""
        reference: str = schema["$ref"]
        base = self._bases.get(id(schema), "")
        address, fragment = urldefrag(reference)
        where = urljoin(base, address) if address else base
        resource = self._resources.get(where)
        pointer = self.pointers.get(id(schema), "")
        if resource is None:
            return RemoteReference(pointer, "$ref", f"{reference!r} is outside the schema, and nothing is ever fetched")
        if fragment and not fragment.startswith("/"):
            anchored = self._anchors.get((where, unquote(fragment)))
            return anchored if anchored is not None else Problem(pointer, "$ref", f"{reference!r}: no such anchor")
        target: Any = resource
        place = "" if resource is self.root else self.pointers.get(id(resource), "")
        for token in unquote(fragment).split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            try:
                target = target[int(token)] if isinstance(target, list) else target[token]
            except (KeyError, IndexError, ValueError, TypeError):
                return Problem(pointer, "$ref", f"{reference!r} leads nowhere: there is no {token!r} at {place or '#'}")
            place = child_pointer(place, token)
        if isinstance(target, bool):
            return target
        if not isinstance(target, dict):
            return Problem(pointer, "$ref", f"{reference!r} leads to {type(target).__name__}, not to a schema")
        if id(target) not in self.groups:
            self._visit(target, place, where, 0)
        return target


def _draft_of(root: Schema) -> tuple[Draft, bool]:
    """The draft by ``$schema``, and whether it is one we know; without one the newest."""
    named = root.get("$schema") if isinstance(root, dict) else None
    if not isinstance(named, str):
        return Draft.DRAFT2020, False
    draft = _DRAFT_OF.get(named.partition("://")[2].rstrip("#"))
    return (Draft.DRAFT2020, False) if draft is None else (draft, True)
