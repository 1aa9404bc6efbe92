"""The normal form: for every place in a document, which values of each JSON type may stand there.

A :class:`Node` lists alternatives (shapes) type by type. Schemas below an array or object stay goals (conjunctions
of schemas, not yet normalised) until they are linked, so recursion is a cycle in this graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from ...errors import Problem
from ...guards import ValidValue
from ...ir.regular import Dfa
from ...ir.verbatim import Unit

__all__ = [
    "ANY",
    "ANY_GOAL",
    "FREE_ARRAY",
    "FREE_INTEGER",
    "FREE_NUMBER",
    "FREE_OBJECT",
    "FREE_STRING",
    "NEVER",
    "ArrayShape",
    "Contains",
    "Goal",
    "Layer",
    "Node",
    "NumberShape",
    "NumberValue",
    "ObjectShape",
    "StringShape",
    "TextRule",
    "Witness",
    "goal_key",
    "goal_of",
    "join_goals",
]

Goal = tuple[dict[str, Any], ...] | None
"""Schemas that must all hold; ``()`` allows everything, ``None`` nothing."""

ANY_GOAL: Goal = ()
NumberValue = tuple[Decimal, str]
"""A number and how JSON writes it."""


def goal_of(schema: Any) -> Goal:
    """The goal of one schema."""
    if type(schema) is dict:
        return (schema,) if schema else ANY_GOAL
    return ANY_GOAL if schema else None


def join_goals(left: Goal, right: Goal) -> Goal:
    """Both of them."""
    if left is None or right is None:
        return None
    if not left:
        return right
    if not right or (left == right and all(a is b for a, b in zip(left, right, strict=True))):
        return left
    known = {id(schema) for schema in left}
    return left + tuple(schema for schema in right if id(schema) not in known)


def goal_key(goal: Goal) -> object:
    """What tells goals apart: the identity of their schemas."""
    if not goal:
        return goal
    return id(goal[0]) if len(goal) == 1 else tuple(sorted(map(id, goal)))


@dataclass(slots=True, eq=False)
class NumberShape:
    """Numbers in bounds (``None``: none), multiples of all ``multiples``, of none of ``avoided``; or ``values``."""

    integer: bool = False
    low: Decimal | None = None
    low_open: bool = False
    high: Decimal | None = None
    high_open: bool = False
    multiples: tuple[Decimal, ...] = ()
    values: tuple[NumberValue, ...] | None = None
    problems: tuple[Problem, ...] = ()
    pointer: str = ""
    avoided: tuple[Decimal, ...] = ()
    checks: tuple[ValidValue, ...] = ()
    """Asked of the finished value, here and in the other shapes."""
    pointed: bool = False
    """Only those written with a fraction or an exponent: in draft 4 these are no integers, whatever their value."""


class TextRule(NamedTuple):
    """A pattern that is found in a string, or a format that it has; or is not found, or does not have."""

    kind: Literal["pattern", "format"]
    text: str
    holds: bool = True


@dataclass(slots=True, eq=False)
class StringShape:
    """Strings of a length in code points that follow all ``rules`` and are not ``excluded``; or just ``values``.

    ``verbatim``: they must be taken from the source, by such units.
    """

    minimum: int = 0
    maximum: int | None = None
    rules: tuple[TextRule, ...] = ()
    excluded: tuple[str, ...] = ()
    values: tuple[str, ...] | None = None
    problems: tuple[Problem, ...] = ()
    pointer: str = ""
    checks: tuple[ValidValue, ...] = ()
    verbatim: Unit | None = None


MOST_CONTAINS = 4
"""Different ``contains`` of one array that are counted by states."""


class Contains(NamedTuple):
    """At least ``least`` items from position ``start`` on satisfy ``goal``, at most ``most`` (``None``: any number).

    ``others`` is the negation of ``goal`` where ``most`` is given.
    """

    goal: Goal
    start: int
    least: int
    most: int | None
    others: Goal


@dataclass(slots=True, eq=False)
class ArrayShape:
    """Arrays of ``minimum`` to ``maximum`` items: ``prefix`` by position, then ``items``."""

    prefix: tuple[Goal, ...] = ()
    items: Goal = ANY_GOAL
    minimum: int = 0
    maximum: int | None = None
    problems: tuple[Problem, ...] = ()
    pointer: str = ""
    contains: tuple[Contains, ...] = ()
    distinct: bool = False
    """Whether no two items may be equal."""
    checks: tuple[ValidValue, ...] = ()
    # once linked:
    prefix_nodes: list[Node] = field(default_factory=list)
    items_node: Node | None = None
    hits: list[list[tuple[int, Node]]] = field(default_factory=list)
    """By position, the last for all that follow: items with bits for which of ``contains`` count them."""
    linked: bool = False
    productive: bool = False


class Layer(NamedTuple):
    """``patternProperties`` of one schema, and what it says of undeclared names that match no pattern."""

    patterns: tuple[tuple[str, Goal], ...]
    additional: Goal


class Witness(NamedTuple):
    """Some property whose name follows the rules and satisfies ``names``, and whose value satisfies the goal."""

    rules: tuple[TextRule, ...]
    goal: Goal
    names: Goal = ANY_GOAL


@dataclass(slots=True, eq=False)
class ObjectShape:
    """Objects: declared properties in order, ``required`` names (also undeclared ones), all others ``additional``.

    Each of ``layers`` says more of the undeclared names; ``names`` must hold for every name, as a string.
    """

    properties: dict[str, Goal] = field(default_factory=dict)
    required: dict[str, None] = field(default_factory=dict)
    additional: Goal = ANY_GOAL
    minimum: int = 0
    maximum: int | None = None
    problems: tuple[Problem, ...] = ()
    count_pointer: str = ""
    pointer: str = ""
    layers: tuple[Layer, ...] = ()
    names: Goal = ANY_GOAL
    witnesses: tuple[tuple[frozenset[str], Witness], ...] = ()
    """Properties that there must be, none of the given names."""
    some: tuple[Witness, ...] = ()
    """Undeclared properties that there must be."""
    checks: tuple[ValidValue, ...] = ()
    # once linked:
    members: list[tuple[str, Node, bool]] = field(default_factory=list)
    extras: list[tuple[Dfa | None, Node]] = field(default_factory=list)
    """The other names in disjoint classes (``None``: all of them), and what may stand there."""
    some_extras: list[tuple[int, Dfa | None, Node]] = field(default_factory=list)
    """The same for those that there must be, with bits for which of ``some`` it is."""
    linked: bool = False
    productive: bool = False


FREE_NUMBER = NumberShape()
FREE_INTEGER = NumberShape(integer=True)
FREE_STRING = StringShape()


@dataclass(slots=True, eq=False)
class Node:
    """What may stand at a place: the union of all its shapes. ``booleans`` holds bit 1 for false and 2 for true."""

    null: bool = False
    booleans: int = 0
    numbers: tuple[NumberShape, ...] = ()
    strings: tuple[StringShape, ...] = ()
    arrays: tuple[ArrayShape, ...] = ()
    objects: tuple[ObjectShape, ...] = ()
    problems: tuple[Problem, ...] = ()
    pointer: str = ""
    reason: str = ""
    """Why nothing is allowed, where that is known."""

    @property
    def has_scalars(self) -> bool:
        """Whether some value without parts is allowed."""
        return bool(self.null or self.booleans or self.numbers or self.strings)

    @property
    def is_empty(self) -> bool:
        """Whether no type is left at all (and none can be missing for want of what is not enforced)."""
        return not (self.has_scalars or self.arrays or self.objects or self.problems)

    @property
    def is_productive(self) -> bool:
        """Whether some finite value is allowed; arrays and objects must have been settled."""
        return (
            self.has_scalars
            or bool(self.problems)
            or any(shape.productive for shape in self.arrays)
            or any(shape.productive for shape in self.objects)
        )


FREE_ARRAY = ArrayShape(linked=True, productive=True)
FREE_OBJECT = ObjectShape(linked=True, productive=True)
ANY = Node(True, 3, (FREE_NUMBER,), (FREE_STRING,), (FREE_ARRAY,), (FREE_OBJECT,))
NEVER = Node(reason="the schema is false")
