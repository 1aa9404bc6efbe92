"""``unevaluatedProperties`` and ``unevaluatedItems``: the ways in which the rest of a schema can hold, one by one.

A way says which branches hold, and so which names and items they evaluate; all others must follow the keyword. Where
more branches hold than a way says, more is evaluated and less is asked; so the union of the ways is exact although they
overlap, and no branch must be shown *not* to hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ...errors import Problem
from .choices import dependent
from .keywords import Draft, Group
from .shapes import Goal, join_goals

if TYPE_CHECKING:
    from .normalise import Normaliser

__all__ = ["Unevaluated", "is_active"]

_MAX_WAYS = 256
"""Ways of one schema; beyond this it is refused."""
_MAX_DEPTH = 64
"""Schemas applied in place inside each other that are looked through."""
_KEYWORDS = ("unevaluatedProperties", "unevaluatedItems")


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is evaluated: names, names by pattern, or every name; the first items, those that follow, or every item."""

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    every_name: bool = False
    items: int = 0
    every_item: bool = False
    contained: tuple[int, ...] = ()
    """Identities of the ``contains`` schemas whose items are evaluated."""

    def __or__(self, other: _Seen) -> _Seen:
        if self == other or other == _NOTHING:
            return self
        return _Seen(
            self.names | other.names,
            self.patterns | other.patterns,
            self.every_name or other.every_name,
            max(self.items, other.items),
            self.every_item or other.every_item,
            tuple(sorted({*self.contained, *other.contained})),
        )


_NOTHING = _Seen()
_Way = tuple[Goal, _Seen]


class _TooManyWays(Exception):
    """The schema is refused by name."""


def is_active(schema: dict[str, Any]) -> bool:
    """Whether the schema asserts anything of what is not evaluated."""
    return any(schema.get(keyword, True) not in (True, {}) for keyword in _KEYWORDS)


class Unevaluated:
    """Finds the ways of schemas, each once."""

    def __init__(self, normaliser: Normaliser) -> None:
        self.normaliser = normaliser
        self.document = normaliser.document
        self._goals: dict[int, list[Goal] | Problem] = {}
        self._contained: dict[int, Any] = {}
        self._open: set[int] = set()

    def goals(self, schema: dict[str, Any]) -> list[Goal] | Problem:
        """Goals of which any must hold instead of the schema; or why it is refused."""
        found = self._goals.get(id(schema))
        if found is None:
            pointer = self.document.pointers[id(schema)]
            try:
                ways = self._ways_of(schema, 0, whole=False)
                found = [join_goals(goal, self._rest(schema, seen)) for goal, seen in ways]
            except _TooManyWays:
                keyword = next(keyword for keyword in _KEYWORDS if keyword in schema)
                reason = f"more than {_MAX_WAYS} ways to evaluate properties or items"
                found = Problem(pointer, keyword, reason)
            self._goals[id(schema)] = found
        return found

    def _made(self, like: dict[str, Any], schema: dict[str, Any]) -> Goal:
        """A schema of our own, at the place of another."""
        if not schema:
            return ()
        table = self.document.dialect(like).table
        groups = 0
        for name in schema:
            if name in table:
                groups |= table[name].group
        self.document.register(schema, groups, self.document.pointers[id(like)], like=like)
        return (schema,)

    def _rest(self, schema: dict[str, Any], seen: _Seen) -> Goal:
        """What is asked of the names and items that are not evaluated."""
        asked: dict[str, Any] = {}
        names, items = schema.get("unevaluatedProperties", True), schema.get("unevaluatedItems", True)
        if names not in (True, {}) and not seen.every_name:
            asked["properties"] = dict.fromkeys(sorted(seen.names), True)
            if seen.patterns:
                asked["patternProperties"] = dict.fromkeys(sorted(seen.patterns), True)
            asked["additionalProperties"] = names
        if items not in (True, {}) and not seen.every_item:
            if seen.contained:
                allowed = [self._contained[key] for key in seen.contained]
                allowed += [] if items is False else [items]
                (items,) = self._made(schema, {"anyOf": allowed}) or (True,)
            if seen.items:
                asked["items"], asked["additionalItems"] = [True] * seen.items, items
            else:
                asked["items"] = items
        if "items" in asked and "additionalItems" in asked:
            (made,) = self._made(schema, asked) or ({},)
            self.document.groups[id(made)] |= int(Group.ARRAYS)
            return (made,)
        return self._made(schema, asked)

    # -- ways ---------------------------------------------------------------------------------------------------

    def _ways(self, schema: Any, depth: int) -> list[_Way]:
        """The ways of a schema that applies in place."""
        if not isinstance(schema, dict):
            return [((), _NOTHING)] if schema else []
        if id(schema) in self._open:
            return []  # what is applied to itself in place adds nothing
        if depth > _MAX_DEPTH:
            raise _TooManyWays
        return self._ways_of(schema, depth, whole=any(keyword in schema for keyword in _KEYWORDS))

    def _ways_of(self, schema: dict[str, Any], depth: int, *, whole: bool) -> list[_Way]:
        """The ways of a schema: all of it stays (``whole``), or just what the ways do not say."""
        self._open.add(id(schema))
        table = self.document.dialect(schema).table
        said: set[str] = set(_KEYWORDS)
        factors: list[list[_Way]] = []
        targets = self.normaliser.targets(schema)
        if targets and self.document.dialect(schema).draft <= Draft.DRAFT7:
            ways = self._ways(targets[0], depth + 1)
            self._open.discard(id(schema))
            return ways
        factors.extend(self._ways(target, depth + 1) for target in targets)
        said.update(("$ref", "$dynamicRef", "$recursiveRef"))
        factors.extend(self._ways(branch, depth + 1) for branch in schema.get("allOf", ()))
        said.add("allOf")
        for keyword, made in (
            ("anyOf", self._any_of),
            ("oneOf", self._one_of),
            ("if", self._condition),
            ("dependentSchemas", self._dependents),
        ):
            if keyword in schema and keyword in table:
                found = made(schema, depth + 1)
                if found:
                    factors += found
                    said.update((keyword, "then", "else") if keyword == "if" else (keyword,))
        own = schema if whole else {name: value for name, value in schema.items() if name not in said}
        result: list[_Way] = [((schema,) if whole else self._made(schema, own), self._own(schema, whole=whole))]
        for factor in factors:
            result = self._product(result, factor)
        self._open.discard(id(schema))
        return result

    def _product(self, left: list[_Way], right: list[_Way]) -> list[_Way]:
        if len(left) * len(right) > _MAX_WAYS:
            raise _TooManyWays
        return [(join_goals(goal, other), seen | more) for goal, seen in left for other, more in right]

    def _own(self, schema: dict[str, Any], *, whole: bool) -> _Seen:
        """What the schema's own keywords evaluate."""
        table = self.document.dialect(schema).table
        items = schema.get("items")
        prefix = schema.get("prefixItems", ()) if "prefixItems" in table else ()
        rest = whole and "unevaluatedItems" in schema
        every_item = items is not None or rest
        if isinstance(items, list):
            prefix, every_item = items, "additionalItems" in schema or rest
        contained: tuple[int, ...] = ()
        if "contains" in schema and self.document.dialect(schema).draft >= Draft.DRAFT2020:
            inner = schema["contains"]
            self._contained[id(inner)] = inner
            contained = (id(inner),)
        return _Seen(
            frozenset(schema.get("properties", ())),
            frozenset(schema.get("patternProperties", ())),
            "additionalProperties" in schema or (whole and "unevaluatedProperties" in schema),
            len(prefix),
            every_item,
            contained,
        )

    def _any_of(self, schema: dict[str, Any], depth: int) -> list[list[_Way]]:
        """Every choice of branches that evaluate something, or any branch at all."""
        ways = [self._ways(branch, depth) for branch in schema["anyOf"]]
        telling = [some for some in ways if any(seen != _NOTHING for _, seen in some)]
        if not telling:
            return []
        if 2 ** len(telling) > _MAX_WAYS:
            raise _TooManyWays
        choices: list[_Way] = []
        if len(telling) < len(ways):
            choices.append((self._made(schema, {"anyOf": schema["anyOf"]}), _NOTHING))
        for size in range(1, len(telling) + 1):
            for chosen in combinations(telling, size):
                product: list[_Way] = [((), _NOTHING)]
                for some in chosen:
                    product = self._product(product, some)
                choices += product
        if len(choices) > _MAX_WAYS:
            raise _TooManyWays
        return [choices]

    def _one_of(self, schema: dict[str, Any], depth: int) -> list[list[_Way]]:
        ways = [self._ways(branch, depth) for branch in schema["oneOf"]]
        if all(seen == _NOTHING for some in ways for _, seen in some):
            return []
        choices: list[_Way] = []
        for index, some in enumerate(ways):
            alone = self._made(schema, {"oneOf": schema["oneOf"]})
            if alone:
                self.normaliser.chosen[id(alone[0])] = index
            choices += [(join_goals(alone, goal), seen) for goal, seen in some]
        return [choices]

    def _condition(self, schema: dict[str, Any], depth: int) -> list[list[_Way]]:
        held = self._ways(schema["if"], depth)
        then, other = (self._ways(schema.get(keyword, True), depth) for keyword in ("then", "else"))
        if all(seen == _NOTHING for some in (held, then, other) for _, seen in some):
            return []
        if "then" not in schema and "else" not in schema:
            return [[((), _NOTHING), *held]]
        negated = self.normaliser.negate(self.normaliser.goal(schema["if"]), "if")
        return [self._product(held, then) + self._product([(negated, _NOTHING)], other)]

    def _dependents(self, schema: dict[str, Any], depth: int) -> list[list[_Way]]:
        ways = {  # they hold for arrays too, but evaluate nothing there
            name: [(goal, replace(seen, items=0, every_item=False, contained=())) for goal, seen in found]
            for name, inner in schema["dependentSchemas"].items()
            for found in (self._ways(inner, depth),)
        }
        if all(seen == _NOTHING for some in ways.values() for _, seen in some):
            return []
        pointer = self.document.pointers[id(schema)]
        factors: list[list[_Way]] = []
        for name, some in ways.items():
            absent, present = dependent(self.normaliser, pointer, name, True)
            factors.append([(absent, _NOTHING), *self._product([(present, _NOTHING)], some)])
        return factors
