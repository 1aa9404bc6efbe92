"""A document: everything in it that is a schema, with its place, its base address and what its references lead to.

Nothing is fetched unless the caller passes a registry (:class:`referencing.Registry`); the metaschemas of the drafts
come with an installed package. Schemas are known by identity (``id``), which the document keeps alive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import unquote, urldefrag, urljoin

from ...errors import LimitExceeded, Problem, SchemaError
from ...limits import Limits
from .dialects import NEWEST, Dialect, dialect_of
from .keywords import Children, Draft, Group, Keyword

__all__ = ["Document", "NotPlain", "Registry", "RemoteReference", "Resource", "Schema", "child_pointer", "plain_copy"]

Schema = dict[str, Any] | bool
"""A schema of JSON Schema as parsed JSON."""
_REFERENCE = int(Group.REFERENCE)
_NAMES = frozenset({"$anchor", "$dynamicAnchor", "$recursiveAnchor", "$id", "id"})


class Registry(Protocol):
    """What is needed of a :class:`referencing.Registry`."""

    def get_or_retrieve(self, uri: str) -> Any:
        """Something with ``value.contents`` and the next ``registry``."""


class NotPlain(Exception):
    """Some schema is a mapping but no dict; a plain copy is needed."""


class RemoteReference(Problem):
    """A reference that leads out of the document: it may be right, but it is not ours to fetch."""


def plain_copy(value: Any) -> Any:
    """A copy made of dicts and lists, however deep."""
    whole: list[Any] = [value]
    pending: list[tuple[Any, Any]] = [(whole, 0)]
    copy: Any
    while pending:
        holder, place = pending.pop()
        value = holder[place]
        if isinstance(value, Mapping):
            copy = holder[place] = dict(value)
            pending.extend((copy, name) for name in copy)
        elif isinstance(value, list | tuple):
            copy = holder[place] = list(value)
            pending.extend((copy, index) for index in range(len(copy)))
    return whole[0]


def _is_plain(value: Any) -> bool:
    pending: list[Any] = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, Mapping | tuple):
            return False
    return True


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


class Resource:
    """A schema with an address of its own, and the names that are given inside it."""

    __slots__ = ("anchors", "dialect", "dynamic", "root", "uri")

    def __init__(self, uri: str, root: Schema, dialect: Dialect) -> None:
        self.uri = uri
        self.root = root
        self.dialect = dialect
        self.anchors: dict[str, dict[str, Any]] = {}
        self.dynamic: dict[str, dict[str, Any]] = {}
        """What ``$dynamicAnchor`` names; under ``""`` the resource itself if it has ``$recursiveAnchor``."""


class Document:
    """A checked schema. Raises :class:`SchemaError` with all faults."""

    def __init__(self, root: Schema, limits: Limits, registry: Registry | None) -> None:
        self.root = root
        self.limits = limits
        self.groups: dict[int, int] = {}
        """Bits of :class:`~.keywords.Group` of each schema seen, by identity."""
        self.pointers: dict[int, str] = {}
        self.problems: list[Problem] = []
        """What makes the document no valid JSON Schema."""
        self.references: list[dict[str, Any]] = []
        """Every schema with a reference, as it is found."""
        self._registry = registry
        self._resources: dict[str, Resource] = {}
        self._resource_of: dict[int, Resource] = {}
        self._targets: dict[tuple[int, str], Schema | Problem] = {}
        self._keep: list[Any] = []
        self._home = self._load("", root, "", NEWEST)
        self.root = self._home.root
        self.draft = self._home.dialect.draft
        if self.problems and not _is_plain(self.root):
            raise NotPlain
        self.raise_problems()

    def raise_problems(self) -> None:
        """Raise what was found wrong so far, if anything."""
        if self.problems:
            raise SchemaError(sorted(set(self.problems), key=lambda problem: (problem.pointer, problem.keyword)))

    def register(
        self, schema: dict[str, Any], groups: int, pointer: str, *, like: dict[str, Any] | None = None
    ) -> None:
        """Take in a schema of our own making, as at ``pointer``, and of the resource of ``like``."""
        self._keep.append(schema)
        self.groups[id(schema)] = groups
        self.pointers[id(schema)] = pointer
        if like is not None and id(like) in self._resource_of:
            self._resource_of[id(schema)] = self._resource_of[id(like)]

    def resource(self, schema: object) -> Resource:
        """The resource that holds a schema."""
        return self._resource_of.get(id(schema), self._home)

    def dialect(self, schema: object) -> Dialect:
        """What the keywords of a schema mean."""
        return self._resource_of.get(id(schema), self._home).dialect

    # -- loading ------------------------------------------------------------------------------------------------

    def _load(self, uri: str, root: Any, pointer: str, default: Dialect) -> Resource:
        """Take in a whole document that was found at ``uri``; faults go to ``problems``."""
        dialect = self._dialect(root, pointer, default)
        if dialect.dropped:
            root = plain_copy(root)  # those keywords will be taken out of it
        resource = self._resources[uri] = Resource(uri, root, dialect)
        self._keep.append(root)
        if uri == "":
            self._home = resource
        self._visit(root, pointer, resource, 0)
        return resource

    def _dialect(self, schema: object, pointer: str, default: Dialect) -> Dialect:
        found = dialect_of(schema, pointer, default, self._metaschema)
        if not isinstance(found, Dialect):
            self.problems.append(found)
            return default
        if self._resources and (found.draft is Draft.DRAFT4) != (self._home.dialect.draft is Draft.DRAFT4):
            reason = "draft 4 and later drafts in one schema: they differ in what an integer is"
            self.problems.append(Problem(pointer, "$schema", reason))
        return found

    def _metaschema(self, uri: str) -> object | None:
        known = self._resources.get(uri)
        return self._retrieved(uri) if known is None else known.root

    def _retrieved(self, uri: str) -> Any | None:
        """What the registry has at an address; the metaschemas of the drafts need none."""
        if uri.partition("://")[2].startswith("json-schema.org/draft"):
            from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

            return REGISTRY[uri].contents if uri in REGISTRY else None
        if self._registry is None:
            return None
        from referencing.exceptions import NoSuchResource, Unresolvable, Unretrievable

        try:
            found = self._registry.get_or_retrieve(uri)
        except (NoSuchResource, Unresolvable, Unretrievable):
            return None  # the reference is refused by name
        self._registry = found.registry
        return found.value.contents

    # -- the walk -----------------------------------------------------------------------------------------------

    def _visit(self, schema: Any, pointer: str, resource: Resource, depth: int) -> None:
        groups_of, pointers, home = self.groups, self.pointers, self._home
        stack: list[tuple[Any, str, Resource, int]] = [(schema, pointer, resource, depth)]
        while stack:
            schema, pointer, resource, depth = stack.pop()
            if type(schema) is not dict:
                if isinstance(schema, Mapping):
                    raise NotPlain
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
            if not _NAMES.isdisjoint(schema):
                resource = self._name(schema, pointer, resource)
            if resource is not home:
                self._resource_of[key] = resource
            table = resource.dialect.table
            if resource.dialect.dropped:
                for name in resource.dialect.dropped & schema.keys():
                    del schema[name]
            groups = 0
            for name, value in schema.items():
                keyword = table.get(name)
                if keyword is None:
                    if type(name) is not str:
                        self.problems.append(
                            Problem(pointer, "schema", f"expected keys that are strings, got {name!r}")
                        )
                    continue
                fault = self._fault(keyword, value, resource.dialect)
                if fault is not None:
                    self.problems.append(Problem(pointer, name, fault))
                    continue
                groups |= keyword.group
                if keyword.children:
                    self._push(stack, keyword, value, pointer, resource, depth + 1)
            groups_of[key] = groups
            if groups & _REFERENCE:
                self.references.append(schema)

    def _fault(self, keyword: Keyword, value: Any, dialect: Dialect) -> str | None:
        reason = keyword.check(value)
        if reason is None and dialect.declared:
            if keyword.name in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool) != (
                dialect.draft == Draft.DRAFT4
            ):
                expected = "a boolean" if dialect.draft == Draft.DRAFT4 else "a number"
                return f"expected {expected} in this draft"
            if keyword.name == "items" and isinstance(value, list) and dialect.draft >= Draft.DRAFT2020:
                return "expected a schema in this draft (an array of schemas is 'prefixItems')"
        if reason is None and keyword.group == Group.VALUES:
            self._check_nesting(value)
        return reason

    def _check_nesting(self, value: Any) -> None:
        """Given values become schemas of their own, so they may not be nested deeper than schemas."""
        level, depth = [value], 0
        while level:
            level = [
                inner
                for one in level
                if type(one) is dict or type(one) is list
                for inner in (one.values() if type(one) is dict else one)
            ]
            depth += 1
            if depth > self.limits.max_nesting:
                raise LimitExceeded("max_nesting", self.limits.max_nesting, "a given value nested in itself")

    @staticmethod
    def _push(
        stack: list[tuple[Any, str, Resource, int]],
        keyword: Keyword,
        value: Any,
        pointer: str,
        resource: Resource,
        depth: int,
    ) -> None:
        prefix = f"{pointer}/{keyword.name}"
        children = keyword.children
        if children == Children.ONE or (children == Children.ONE_OR_LIST and not isinstance(value, list)):
            stack.append((value, prefix, resource, depth))
        elif children in (Children.LIST, Children.ONE_OR_LIST):
            last = len(value) - 1
            stack.extend((value[index], f"{prefix}/{index}", resource, depth) for index in range(last, -1, -1))
        else:
            for name in reversed(value):
                child = value[name]
                if children == Children.MAP_OR_NAMES and isinstance(child, list):
                    continue
                stack.append((child, child_pointer(prefix, name), resource, depth))

    def _name(self, schema: dict[str, Any], pointer: str, resource: Resource) -> Resource:
        """Enter the schema under its ``$id`` and anchors; the resource that it is in."""
        draft = resource.dialect.draft
        name = schema.get("id" if draft == Draft.DRAFT4 else "$id")
        if isinstance(name, str) and not ("$ref" in schema and draft <= Draft.DRAFT7):
            address, fragment = urldefrag(name)
            if address:
                dialect = resource.dialect
                if schema is not resource.root:
                    dialect = self._dialect(schema, pointer, dialect)
                    if dialect.dropped != resource.dialect.dropped:
                        problem = Problem(pointer, "$schema", "vocabularies that differ inside one document")
                        self.problems.append(problem)
                uri = urljoin(resource.uri, address)
                if schema is resource.root:
                    resource.uri = uri
                else:
                    resource = Resource(uri, schema, dialect)
                self._resources.setdefault(uri, resource)
            if fragment and draft <= Draft.DRAFT7:
                resource.anchors.setdefault(fragment, schema)
        if draft >= Draft.DRAFT2019:
            anchor, dynamic = schema.get("$anchor"), schema.get("$dynamicAnchor")
            if isinstance(anchor, str):
                resource.anchors.setdefault(anchor, schema)
            if isinstance(dynamic, str) and draft >= Draft.DRAFT2020:
                resource.anchors.setdefault(dynamic, schema)
                resource.dynamic.setdefault(dynamic, schema)
            if draft == Draft.DRAFT2019 and schema.get("$recursiveAnchor") is True and schema is resource.root:
                resource.dynamic[""] = schema
        return resource

    # -- references ---------------------------------------------------------------------------------------------

    def target(self, schema: dict[str, Any], keyword: str) -> Schema | Problem:
        """What a reference leads to, dynamic scope apart, or why it leads nowhere."""
        key = (id(schema), keyword)
        found = self._targets.get(key)
        if found is None:
            found = self._targets[key] = self._find(schema, keyword)
        return found

    def _find(self, schema: dict[str, Any], keyword: str) -> Schema | Problem:
        reference: str = schema[keyword]
        address, fragment = urldefrag(reference)
        resource = self.resource(schema)
        pointer = self.pointers.get(id(schema), "")
        if address:
            where = urljoin(resource.uri, address)
            found = self._resources.get(where)
            if found is None:
                contents = self._retrieved(where)
                if contents is None:
                    reason = "is outside the schema, and nothing is ever fetched"
                    if self._registry is not None:
                        reason = "is neither in the schema nor in the registry"
                    return RemoteReference(pointer, keyword, f"{reference!r} {reason}")
                found = self._load(where, contents, f"{where}#", resource.dialect)
            resource = found
        if fragment and not fragment.startswith("/"):
            anchored = resource.anchors.get(unquote(fragment))
            return anchored if anchored is not None else Problem(pointer, keyword, f"{reference!r}: no such anchor")
        target: Any = resource.root
        place = self.pointers.get(id(target), "")
        for token in unquote(fragment).split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            try:
                target = target[int(token)] if isinstance(target, list) else target[token]
            except (KeyError, IndexError, ValueError, TypeError):
                reason = f"{reference!r} leads nowhere: there is no {token!r} at {place or '#'}"
                return Problem(pointer, keyword, reason)
            place = child_pointer(place, token)
        if isinstance(target, bool):
            return target
        if not isinstance(target, dict):
            return Problem(pointer, keyword, f"{reference!r} leads to {type(target).__name__}, not to a schema")
        if id(target) not in self.groups:
            self._visit(target, place, resource, 0)
        return target
