"""References, and the dynamic scope of those that depend on it.

What ``$dynamicRef`` and ``$recursiveRef`` lead to depends on the resources that were entered on the way. Of a dynamic
scope only the outermost holder of each name matters, so there are few: where a document has such references, every
schema is copied once for each scope that it is used in, and what refers to what is settled before anything is lowered.
"""

from __future__ import annotations

from typing import Any

from ...errors import LimitExceeded, Problem
from .keywords import Children, Draft
from .resources import Document, Schema

__all__ = ["References"]

_KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")
_MAX_COPIES = 100_000


class References:
    """Follows the references of a document. ``start`` is the schema to begin with."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.start: Schema = document.root
        self._names: list[dict[str, dict[str, Any]]] = [{}]
        """Of each dynamic scope: what its names lead to."""
        self._scopes: dict[tuple[tuple[str, int], ...], int] = {(): 0}
        self._entered: dict[tuple[int, int], int] = {}
        self._copies: dict[tuple[int, int], dict[str, Any]] = {}
        self._origins: dict[int, tuple[dict[str, Any], int]] = {}
        """Of each copy: the schema and the scope."""
        if document.references and self._is_dynamic():
            self.start = self._enter(document.root, 0)

    def _is_dynamic(self) -> bool:
        """Whether the scope can matter anywhere; this looks up every reference first."""
        document = self.document
        home = document.dialect(document.root)
        if home.draft < Draft.DRAFT2019 or home.dropped:
            return False
        found = False
        for schema in document.references:  # grows while it runs
            for keyword in self.keywords(schema):
                target = document.target(schema, keyword)
                found |= keyword != "$ref" and bool(document.resource(target).dynamic)
        return found

    def keywords(self, schema: dict[str, Any]) -> list[str]:
        """The references that a schema has."""
        table = self.document.dialect(schema).table
        return [keyword for keyword in _KEYWORDS if keyword in schema and keyword in table]

    def targets(self, schema: dict[str, Any]) -> list[Schema | Problem]:
        """What each of a schema's references leads to, or why it leads nowhere."""
        origin = self._origins.get(id(schema))
        if origin is None:
            return [self.document.target(schema, keyword) for keyword in self.keywords(schema)]
        return [self._target(*origin, keyword) for keyword in self.keywords(schema)]

    def _target(self, schema: dict[str, Any], scope: int, keyword: str) -> Schema | Problem:
        target = self.document.target(schema, keyword)
        if not isinstance(target, dict):
            return target
        if keyword != "$ref":
            name = schema[keyword].partition("#")[2] if keyword == "$dynamicRef" else ""
            resource = self.document.resource(target)
            if resource.dynamic.get(name) is target:
                target = self._names[scope].get(name, target)
        return self._enter(target, scope)

    # -- copies -------------------------------------------------------------------------------------------------

    def _enter(self, schema: Schema, scope: int) -> Schema:
        """The copy of a schema for a scope that its own resource is entered into."""
        if not isinstance(schema, dict):
            return schema
        pending: list[tuple[dict[str, Any], int, dict[str, Any]]] = []
        copy: Schema = self._copy(schema, self._inside(schema, scope), pending)
        while pending:
            origin, here, unfilled = pending.pop()
            self._fill(origin, here, unfilled, pending)
        return copy

    def _inside(self, schema: dict[str, Any], scope: int) -> int:
        """The scope with the resource of the schema in it."""
        resource = self.document.resource(schema)
        if not resource.dynamic:
            return scope
        key = (id(resource), scope)
        known = self._entered.get(key)
        if known is None:
            names = {**resource.dynamic, **self._names[scope]}  # the outermost counts
            content = tuple(sorted((name, id(target)) for name, target in names.items()))
            known = self._scopes.setdefault(content, len(self._names))
            if known == len(self._names):
                self._names.append(names)
            self._entered[key] = known
        return known

    def _copy(self, schema: Any, scope: int, pending: list[tuple[dict[str, Any], int, dict[str, Any]]]) -> Any:
        """The copy of a schema for a scope, still to be filled if it is new."""
        if not isinstance(schema, dict):
            return schema
        key = (id(schema), scope)
        copy = self._copies.get(key)
        if copy is None:
            if len(self._copies) >= _MAX_COPIES:
                raise LimitExceeded("max_nodes", _MAX_COPIES, "schemas in all their dynamic scopes")
            copy = self._copies[key] = {}
            document = self.document
            document.register(copy, document.groups[id(schema)], document.pointers[id(schema)], like=schema)
            self._origins[id(copy)] = (schema, scope)
            pending.append((schema, scope, copy))
        return copy

    def _fill(
        self,
        schema: dict[str, Any],
        scope: int,
        copy: dict[str, Any],
        pending: list[tuple[dict[str, Any], int, dict[str, Any]]],
    ) -> None:
        document = self.document
        table = document.dialect(schema).table

        def child(inner: Any) -> Any:
            return self._copy(inner, self._inside(inner, scope) if isinstance(inner, dict) else scope, pending)

        for name, value in schema.items():
            keyword = table.get(name)
            children = keyword.children if keyword is not None else Children.NONE
            if not children:
                copy[name] = value
            elif isinstance(value, list):
                copy[name] = [child(inner) for inner in value]
            elif children in (Children.MAP, Children.MAP_OR_NAMES):
                copy[name] = {key: child(inner) for key, inner in value.items()}
            else:
                copy[name] = child(value)
