"""Whether a value is valid under a schema: asked by guards, of finished values, where no automaton can tell.

Patterns, formats and numbers mean just what they mean in the grammar (the same automata, exact arithmetic), and
references lead where they lead there, dynamic ones too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...errors import GrammarError, LimitExceeded
from .keywords import Children, Draft
from .resources import Document
from .shapes import Goal, TextRule
from .string_languages import follows_pattern, rule_language
from .value_checks import CHECKS

__all__ = ["Validity", "children_of"]

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})


class Validity:
    """Validates values (``int`` or ``Decimal`` for numbers) under the schemas of one document."""

    def __init__(
        self, document: Document, targets: Callable[[dict[str, Any]], list[Any]], *, assert_formats: bool
    ) -> None:
        """``targets``: what the references of a schema lead to."""
        self.document = document
        self.targets = targets
        self.assert_formats = assert_formats

    def holds(self, goal: Goal, value: Any) -> bool:
        """Whether a value is valid under all schemas of a goal. Raises LimitExceeded if it is nested too deeply."""
        if goal is None:
            return False
        try:
            return all(self.valid(schema, value) for schema in goal)
        except RecursionError:
            limits = self.document.limits
            raise LimitExceeded("max_nesting", limits.max_nesting, "a value that a guard has to look at") from None

    def valid(self, schema: Any, value: Any) -> bool:
        """Whether a value is valid under one schema."""
        if not isinstance(schema, dict):
            return bool(schema)
        document = self.document
        dialect = document.dialect(schema)
        table = dialect.table
        if "$ref" in schema and dialect.draft <= Draft.DRAFT7:
            return all(self.valid(target, value) for target in self.targets(schema))
        if not _REFERENCES.isdisjoint(schema) and not all(self.valid(target, value) for target in self.targets(schema)):
            return False
        for name in schema:
            check = CHECKS.get(name)
            if check is not None and name in table and not check(self, schema, value):
                return False
        return True

    def follows_pattern(self, text: str, pattern: str) -> bool:
        """Whether a pattern is found in a text."""
        return follows_pattern(text, pattern)

    def fault(self, goal: Goal) -> str | None:
        """Why values cannot be validated under a goal, ``None`` if they can: some pattern or format is beyond us."""
        seen: set[int] = set()
        pending: list[Any] = list(goal or ())
        while pending:
            schema = pending.pop()
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen.add(id(schema))
            if schema.get("x-verbatim"):
                return "x-verbatim, which depends on the source"
            try:
                for pattern in [
                    *schema.get("patternProperties", ()),
                    *([schema["pattern"]] if "pattern" in schema else []),
                ]:
                    rule_language(TextRule("pattern", pattern))
            except GrammarError as error:
                return str(error)
            if not _REFERENCES.isdisjoint(schema):
                pending += self.targets(schema)
            pending += children_of(schema, self.document.dialect(schema).table)
        return None

    # -- what is evaluated --------------------------------------------------------------------------------------

    def evaluated(self, schema: Any, value: Any, *, without: str) -> set[Any]:
        """The names, or indices, of ``value`` that a schema under which it is valid evaluates.

        ``without``: a keyword of the schema itself that does not count.
        """
        found: set[Any] = set()
        pending = [schema]
        while pending:
            schema = pending.pop()
            if not isinstance(schema, dict):
                continue
            counted = {name: inner for name, inner in schema.items() if name != without} if without else schema
            without = ""
            table = self.document.dialect(schema).table
            found |= self._names(counted, value) if isinstance(value, dict) else self._indices(counted, value, table)
            pending += self._applied(schema, value)
        return found

    def _names(self, schema: dict[str, Any], value: dict[str, Any]) -> set[Any]:
        if "additionalProperties" in schema or "unevaluatedProperties" in schema:
            return set(value)
        patterns = schema.get("patternProperties", ())
        found: set[Any] = value.keys() & schema.get("properties", {}).keys()
        return found.union(name for name in value if any(self.follows_pattern(name, one) for one in patterns))

    def _indices(self, schema: dict[str, Any], value: list[Any], table: Any) -> set[Any]:
        items = schema.get("items")
        if (items is not None and not isinstance(items, list)) or "unevaluatedItems" in schema:
            return set(range(len(value)))
        prefix = items if isinstance(items, list) else schema.get("prefixItems", ())
        if isinstance(items, list) and "additionalItems" in schema:
            return set(range(len(value)))
        found: set[Any] = set(range(min(len(prefix), len(value))))
        if "contains" in schema and "prefixItems" in table:
            found.update(index for index, item in enumerate(value) if self.valid(schema["contains"], item))
        return found

    def _applied(self, schema: dict[str, Any], value: Any) -> Iterator[Any]:
        """The schemas that apply in place and under which the value is valid."""
        if not _REFERENCES.isdisjoint(schema):
            yield from self.targets(schema)
        yield from schema.get("allOf", ())
        for keyword in ("anyOf", "oneOf"):
            yield from (inner for inner in schema.get(keyword, ()) if self.valid(inner, value))
        if "if" in schema:
            condition = self.valid(schema["if"], value)
            yield from (schema["if"], schema.get("then", True)) if condition else (schema.get("else", True),)
        if isinstance(value, dict):
            dependents = schema.get("dependentSchemas", {})
            yield from (inner for name, inner in dependents.items() if name in value)


def children_of(schema: dict[str, Any], table: Any) -> Iterator[Any]:
    """The schemas directly below a schema."""
    for name, inner in schema.items():
        keyword = table.get(name)
        if keyword is None or not keyword.children:
            continue
        if isinstance(inner, list):
            yield from inner
        elif keyword.children in (Children.MAP, Children.MAP_OR_NAMES):
            yield from inner.values()
        else:
            yield inner
