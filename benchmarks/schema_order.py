"""An instance with its keys in the order of its schema, for engines that write them in that order."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote, urldefrag

from jsonschema import ValidationError
from jsonschema.validators import validator_for
from referencing.exceptions import Unresolvable

__all__ = ["in_schema_order"]

_MOST_ALTERNATIVES = 64
_OLD_DRAFTS = ("draft-03", "draft-04", "draft-06", "draft-07")


def in_schema_order(schema: Any, instance: Any) -> Any:
    """The instance with declared keys first, as declared: a schema's own, then those of ``$ref``, ``allOf``, of the
    branches of ``anyOf`` and ``oneOf`` that hold, and so on. Keys that no schema declares keep their order, behind.

    >>> in_schema_order({"properties": {"a": {}, "b": {}}}, {"c": 0, "b": 1, "a": 2})
    {'a': 2, 'b': 1, 'c': 0}
    """
    return _Orderer(schema).ordered([schema], instance, 0)


class _Orderer:
    """One schema document."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.validator = validator_for(root)
        named = root.get("$schema") if isinstance(root, dict) else None
        self.ref_alone = isinstance(named, str) and any(draft in named for draft in _OLD_DRAFTS)
        self.by_id: dict[str, Any] = {}
        pending = [root]
        while pending:
            one = pending.pop()
            if isinstance(one, dict):
                name = one.get("$id", one.get("id"))
                if isinstance(name, str):
                    self.by_id.setdefault(name.rstrip("#"), one)
                pending.extend(one.values())
            elif isinstance(one, list):
                pending.extend(one)

    def resolve(self, reference: str) -> Any:
        """What a reference leads to, ``True`` where that is not in the document."""
        address, fragment = urldefrag(reference)
        target = self.by_id.get(address, self.root) if address else self.root
        if fragment and not fragment.startswith("/"):
            return self.by_id.get(f"#{fragment}", True)
        for token in unquote(fragment).split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            try:
                target = target[int(token)] if isinstance(target, list) else target[token]
            except (KeyError, IndexError, ValueError, TypeError):
                return True
        return target

    def holds(self, schema: Any, instance: Any) -> bool:
        """Whether the instance is valid; what cannot be told counts as valid."""
        try:
            return bool(self.validator(self.root).evolve(schema=schema).is_valid(instance))
        except (ValidationError, Unresolvable, re.error, RecursionError):
            return True

    def in_place(self, schemas: list[Any], instance: Any) -> list[dict[str, Any]]:
        """Every schema that applies to the instance at its place, in order."""
        found: dict[int, dict[str, Any]] = {}
        pending = list(reversed(schemas))
        late: list[Any] = []
        while pending or late:
            if not pending:
                pending.append(late.pop(0))
            schema = pending.pop()
            if not isinstance(schema, dict) or id(schema) in found:
                continue
            found[id(schema)] = schema
            reference = schema.get("$ref")
            if isinstance(reference, str) and self.ref_alone:
                pending.append(self.resolve(reference))
                continue
            for keyword in ("anyOf", "oneOf"):
                branches = schema.get(keyword, [])
                if isinstance(branches, list):
                    held = (branch for branch in branches[:_MOST_ALTERNATIVES] if self.holds(branch, instance))
                    late.extend([branch for branch, _ in zip(held, range(1), strict=False)])
            if "if" in schema:
                chosen = "then" if self.holds(schema["if"], instance) else "else"
                late.extend([schema["if"], schema.get(chosen)] if chosen == "then" else [schema.get(chosen)])
            for keyword in ("dependentSchemas", "dependencies"):
                inner = schema.get(keyword, {})
                if isinstance(inner, dict) and isinstance(instance, dict):
                    late.extend(one for name, one in inner.items() if name in instance)
            pending.extend(reversed(schema.get("allOf") or ()))
            if isinstance(reference, str):
                pending.append(self.resolve(reference))
        return list(found.values())

    def ordered(self, schemas: list[Any], instance: Any, depth: int) -> Any:
        """The instance under these schemas, in order."""
        if not isinstance(instance, dict | list) or depth > 100:
            return instance
        applying = self.in_place(schemas, instance)
        if isinstance(instance, list):
            return [self.ordered(self.of_item(applying, index), item, depth + 1) for index, item in enumerate(instance)]
        declared: dict[str, None] = {}
        for schema in applying:
            properties = schema.get("properties")
            declared.update(dict.fromkeys(properties if isinstance(properties, dict) else ()))
        for schema in applying:
            required = schema.get("required")
            declared.update(dict.fromkeys(required if isinstance(required, list) else ()))
        names = [name for name in declared if name in instance]
        names += [name for name in instance if name not in declared]
        return {name: self.ordered(self.of_name(applying, name), instance[name], depth + 1) for name in names}

    @staticmethod
    def of_item(schemas: list[dict[str, Any]], index: int) -> list[Any]:
        """The schemas of the item at ``index``."""
        found: list[Any] = []
        for schema in schemas:
            items = schema.get("items", True)
            if isinstance(items, list):
                prefix, rest = items, schema.get("additionalItems", True)
            else:
                prefix, rest = schema.get("prefixItems", []), items
            found.append(prefix[index] if index < len(prefix) else rest)
        return found

    @staticmethod
    def of_name(schemas: list[dict[str, Any]], name: str) -> list[Any]:
        """The schemas of the property ``name``."""
        found: list[Any] = []
        for schema in schemas:
            properties, patterns = schema.get("properties"), schema.get("patternProperties")
            own = [properties[name]] if isinstance(properties, dict) and name in properties else []
            if isinstance(patterns, dict):
                own += [inner for pattern, inner in patterns.items() if _found(pattern, name)]
            found += own or [schema.get("additionalProperties", True)]
        return found


def _found(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def as_text(schema: Any, instance: Any) -> str:
    """The instance in the order of the schema, as ``json.dumps`` writes it."""
    return json.dumps(in_schema_order(schema, instance), ensure_ascii=False)
