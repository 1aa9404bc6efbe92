"""The node of a schema's own keywords: what each type allows, references and in-place applicators apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import GrammarError, Problem
from ...ir.verbatim import DEFAULT_UNIT
from .combine import both, both_numbers, no_string
from .formats import ALL_FORMATS, FORMATS, format_meant
from .given_values import values_node
from .keywords import ARRAY, BOOLEAN, EVERY, INTEGER, NULL, NUMBER, OBJECT, STRING, TYPE_BITS, Group
from .notes import Note
from .numbers import as_decimal
from .resources import Document
from .shapes import (
    ANY,
    ANY_GOAL,
    FREE_ARRAY,
    FREE_INTEGER,
    FREE_NUMBER,
    FREE_OBJECT,
    FREE_STRING,
    ArrayShape,
    Contains,
    Goal,
    Layer,
    Node,
    NumberShape,
    ObjectShape,
    StringShape,
    TextRule,
    goal_of,
    join_goals,
)
from .string_languages import follows_pattern, pattern_fault

__all__ = ["OwnKeywords"]

_VALUES = int(Group.VALUES)
_OWN = int(Group.VALUES | Group.TYPE | Group.NUMBERS | Group.STRINGS | Group.ARRAYS | Group.OBJECTS)
_BOUNDS = (("minimum", "exclusiveMinimum", False), ("maximum", "exclusiveMaximum", True))


class OwnKeywords:
    """Makes nodes of the schemas of a document. ``notes`` collects formats that nobody knows."""

    def __init__(self, document: Document, negate: Callable[[Goal, str], Goal], *, assert_formats: bool) -> None:
        """``negate``: the goal of what is not of a goal, and the keyword that asks for it."""
        self.document = document
        self.negate = negate
        self.assert_formats = assert_formats
        self.notes: dict[Note, None] = {}
        self._plain: dict[int, Node] = {EVERY: ANY}

    def node(self, schema: dict[str, Any]) -> Node:
        """The node of a schema."""
        groups = self.document.groups[id(schema)]
        named = schema.get("type") if groups & Group.TYPE else None
        if named is None:
            mask = EVERY
        elif type(named) is str:
            mask = TYPE_BITS[named]
        else:
            mask = 0
            for one in named:
                mask |= TYPE_BITS[one]
        if mask & NUMBER:
            mask &= ~INTEGER
        if not groups & (_OWN & ~Group.TYPE):
            return self._plain_node(mask)
        pointer = self.document.pointers[id(schema)]
        if mask == OBJECT and not groups & _VALUES:
            shape = self._object(schema, pointer) if groups & Group.OBJECTS else FREE_OBJECT
            return Node(objects=(shape,), pointer=pointer)
        node = self._by_type(schema, groups, mask, pointer)
        if groups & _VALUES:
            values = values_node(self.document, schema, pointer)
            node = both(values, node)
            if node.is_empty and not values.is_empty:
                node.reason = "no value of enum or const satisfies the other keywords"
        return node

    def _plain_node(self, mask: int) -> Node:
        node = self._plain.get(mask)
        if node is None:
            node = self._plain[mask] = Node(
                bool(mask & NULL),
                3 if mask & BOOLEAN else 0,
                (FREE_NUMBER,) if mask & NUMBER else (FREE_INTEGER,) if mask & INTEGER else (),
                (FREE_STRING,) if mask & STRING else (),
                (FREE_ARRAY,) if mask & ARRAY else (),
                (FREE_OBJECT,) if mask & OBJECT else (),
            )
        return node

    def _by_type(self, schema: dict[str, Any], groups: int, mask: int, pointer: str) -> Node:
        node = Node(bool(mask & NULL), 3 if mask & BOOLEAN else 0, pointer=pointer)
        if mask & (NUMBER | INTEGER):
            number = FREE_NUMBER if mask & NUMBER else FREE_INTEGER
            if groups & Group.NUMBERS:
                bounded = self._number(schema, bool(mask & INTEGER), pointer)
                node.numbers = () if bounded is None else (bounded,)
            else:
                node.numbers = (number,)
        if mask & STRING:
            string = self._string(schema, pointer) if groups & Group.STRINGS else FREE_STRING
            node.strings = () if string is None else (string,)
        if mask & ARRAY:
            node.arrays = (self._array(schema, pointer) if groups & Group.ARRAYS else FREE_ARRAY,)
        if mask & OBJECT:
            node.objects = (self._object(schema, pointer) if groups & Group.OBJECTS else FREE_OBJECT,)
        if node.is_empty:
            node.reason = "the bounds leave no value"
        return node

    def _number(self, schema: dict[str, Any], integer: bool, pointer: str) -> NumberShape | None:
        shape = NumberShape(integer, pointer=pointer)
        for name, exclusive_name, upper in _BOUNDS:
            plain, exclusive = schema.get(name), schema.get(exclusive_name)
            value = None if plain is None else as_decimal(plain)
            is_open = exclusive is True and value is not None
            if exclusive is not None and not isinstance(exclusive, bool):
                other = as_decimal(exclusive)
                if value is None or (other <= value if upper else other >= value):
                    value, is_open = other, True
            if upper:
                shape.high, shape.high_open = value, is_open
            else:
                shape.low, shape.low_open = value, is_open
        multiple = schema.get("multipleOf")
        if multiple is not None:
            shape.multiples = (as_decimal(multiple),)
        return both_numbers(shape, NumberShape(integer))

    def _string(self, schema: dict[str, Any], pointer: str) -> StringShape | None:
        minimum = int(schema.get("minLength", 0))
        longest = schema.get("maxLength")
        maximum = None if longest is None else int(longest)
        problems: tuple[Problem, ...] = ()
        rules: tuple[TextRule, ...] = ()
        if "pattern" in schema:
            fault = pattern_fault(schema["pattern"])
            if fault is None:
                rules += (TextRule("pattern", schema["pattern"]),)
            else:
                problems += (Problem(pointer, "pattern", fault),)
        name = schema.get("format")
        if name is not None and self.assert_formats:
            if name in FORMATS:
                name = format_meant(name, self.document.dialect(schema).draft)
                rules += (TextRule("format", name),)
                most = ALL_FORMATS[name].most
                maximum = most if maximum is None else min(maximum, most or maximum)
            else:
                self.notes[Note(pointer, "format", f"the format {name!r} is not known, so it is an annotation")] = None
        asked = schema.get("x-verbatim", False)
        if not (minimum or problems or rules or asked) and maximum is None:
            return FREE_STRING
        shape = StringShape(minimum, maximum, rules, problems=problems, pointer=pointer)
        if asked:
            shape.verbatim = DEFAULT_UNIT if asked is True else asked
        return None if no_string(shape) else shape

    def _array(self, schema: dict[str, Any], pointer: str) -> ArrayShape:
        items = schema.get("items", True)
        table = self.document.dialect(schema).table
        if isinstance(items, list):  # the older spelling of prefixItems
            prefix, rest = items, schema.get("additionalItems", True)
        else:
            prefix, rest = schema.get("prefixItems", []) if "prefixItems" in table else [], items
        longest = schema.get("maxItems")
        contains: tuple[Contains, ...] = ()
        if "contains" in schema and "contains" in table:
            contains = self._contains(schema)
        return ArrayShape(
            tuple(map(goal_of, prefix)),
            goal_of(rest),
            int(schema.get("minItems", 0)),
            None if longest is None else int(longest),
            (),
            pointer,
            contains,
            schema.get("uniqueItems") is True and (longest is None or longest > 1),
        )

    def _contains(self, schema: dict[str, Any]) -> tuple[Contains, ...]:
        counted = "minContains" in self.document.dialect(schema).table
        least = int(schema.get("minContains", 1)) if counted else 1
        longest = schema.get("maxContains") if counted else None
        most = None if longest is None else int(longest)
        if not least and most is None:
            return ()
        goal = goal_of(schema["contains"])
        others = None if most is None else self.negate(goal, "contains")
        return (Contains(goal, 0, least, most, others),)

    def _object(self, schema: dict[str, Any], pointer: str) -> ObjectShape:
        goal = goal_of
        properties = schema.get("properties")
        most = schema.get("maxProperties")
        shape = ObjectShape(
            {name: goal(inner) for name, inner in properties.items()} if properties else {},
            dict.fromkeys(schema.get("required", ())),
            goal(schema.get("additionalProperties", True)),
            int(schema.get("minProperties", 0)),
            None if most is None else int(most),
            (),
            pointer if most is not None or "minProperties" in schema else "",
            pointer,
        )
        if schema.get("patternProperties"):
            self._add_patterns(shape, schema["patternProperties"])
        if "propertyNames" in schema and "propertyNames" in self.document.dialect(schema).table:
            shape.names = goal(schema["propertyNames"])
        return shape

    def _add_patterns(self, shape: ObjectShape, patterns: dict[str, Any]) -> None:
        """Let the patterns concern the declared names that match them, and the undeclared."""
        for pattern in patterns:
            fault = pattern_fault(pattern)
            if fault is not None:
                shape.problems = (*shape.problems, Problem(shape.pointer, "patternProperties", fault))
                shape.additional = ANY_GOAL
                return
        layer = Layer(tuple((pattern, goal_of(inner)) for pattern, inner in patterns.items()), shape.additional)
        shape.additional = ANY_GOAL
        try:
            for name, own in shape.properties.items():
                for pattern, inner in layer.patterns:
                    if follows_pattern(name, pattern):
                        own = shape.properties[name] = join_goals(own, inner)
        except GrammarError as error:
            shape.problems = (*shape.problems, Problem(shape.pointer, "patternProperties", str(error)))
        shape.layers = (layer,)
