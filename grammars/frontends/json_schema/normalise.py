"""From schemas to nodes: references followed, keywords that apply in place merged, one list of shapes for each type.

No step recurses on the depth of its input: nodes that need other nodes wait on a stack, and schemas below an
object or array are only linked (a work list), never descended into.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import GrammarError, LimitExceeded, Problem
from ...guards import ValidValue
from .arrays import link_contains
from .checks import all_problems, is_open, relaxed
from .combine import both, both_numbers, no_string
from .disjoint import Judge
from .dynamic import References
from .formats import ALL_FORMATS, FORMATS, format_meant
from .given_values import values_node
from .in_place import PendingNode
from .keywords import ARRAY, BOOLEAN, EVERY, INTEGER, NULL, NUMBER, OBJECT, STRING, TYPE_BITS, Group
from .names import link_object, witnessed
from .notes import Note
from .numbers import as_decimal
from .relax import UNKNOWN, passes, unknown, unknown_node
from .resources import Document, RemoteReference
from .shapes import (
    ANY,
    ANY_GOAL,
    FREE_ARRAY,
    FREE_INTEGER,
    FREE_NUMBER,
    FREE_OBJECT,
    FREE_STRING,
    NEVER,
    ArrayShape,
    Contains,
    Goal,
    Layer,
    Node,
    NumberShape,
    ObjectShape,
    StringShape,
    TextRule,
    goal_key,
    join_goals,
)
from .string_languages import follows_pattern, pattern_fault
from .unevaluated import Unevaluated
from .validity import Validity

__all__ = ["Normaliser"]

_MAX_PEEKS = 8
"""Nested ``oneOf`` whose branches need each other to be told apart."""
_MAX_WORK = 20_000
"""Alternatives that all combinations of schemas may have together."""
_NOTHING_MET = 1 << 30
_VALUES = int(Group.VALUES)
_NOT_PLAIN = int(Group.REFERENCE | Group.IN_PLACE | Group.UNEVALUATED)
_OWN = int(Group.VALUES | Group.TYPE | Group.NUMBERS | Group.STRINGS | Group.ARRAYS | Group.OBJECTS)

_BOUNDS = (("minimum", "exclusiveMinimum", False), ("maximum", "exclusiveMaximum", True))


class Normaliser:
    """Makes the node of any goal, once. ``unsupported`` and ``document.problems`` collect what is wrong on the way."""

    def __init__(self, document: Document, *, assert_formats: bool, relax: bool = False) -> None:
        """``relax``: leave out what would be refused; ``left_out`` collects it."""
        self.document = document
        self.relax = relax
        self.left_out: dict[Problem, None] = {}
        self.references = References(document)
        self.unevaluated = Unevaluated(self)
        self.judge = Judge(self.peek)
        self.chosen: dict[int, int] = {}
        """By the identity of schemas of our own with ``oneOf``: the only branch that counts."""
        self.assert_formats = assert_formats
        self.notes: dict[Note, None] = {}
        self.unsupported: dict[Problem, None] = {}
        """Problems of references; those of shapes stay with the shapes, so that they count only where they matter."""
        self._nodes: dict[object, Node] = {}
        self._own: dict[int, Node] = {}
        self._plain: dict[int, Node] = {EVERY: ANY}
        self._in_progress: set[object] = set()
        self._written: dict[int, tuple[Node, Node]] = {}
        """By identity of a node: the node, so that no other gets its identity, and what is written for it."""
        self.dependent: dict[tuple[str, str, int], tuple[dict[str, Any], dict[str, Any]]] = {}
        """Schemas of our own making: a property is absent, or present."""
        self._negated: dict[tuple[object, ...], dict[str, Any]] = {}
        self.asked_by: dict[int, str] = {}
        """Negations of our own making, by identity, and the keyword that they serve."""
        self.validity = Validity(document, self.targets, assert_formats=assert_formats)
        self._checks: dict[object, ValidValue | None] = {}
        self._peeking = 0
        self.work = 0

    @staticmethod
    def goal(schema: Any) -> Goal:
        """The goal of one schema."""
        if type(schema) is dict:
            return (schema,) if schema else ANY_GOAL
        return ANY_GOAL if schema else None

    def targets(self, schema: dict[str, Any]) -> list[Any]:
        """What the references of a schema lead to; what leads nowhere is noted, and holds for anything."""
        found: list[Any] = []
        for target in self.references.targets(schema):
            if isinstance(target, RemoteReference) and self.relax:
                self.left_out[target] = None
                self.document.register(UNKNOWN, int(Group.STRINGS), target.pointer)
                found.append(UNKNOWN)
            elif isinstance(target, RemoteReference):
                self.unsupported[target] = None
            elif isinstance(target, Problem):
                self.document.problems.append(target)
            else:
                found.append(target)
        return found

    def negate(self, goal: Goal, keyword: str = "not") -> Goal:
        """The schema of what is not of the goal; ``keyword`` is what asks for it."""
        if goal is None:
            return ANY_GOAL
        if not goal:
            return None
        if len(goal) == 1 and goal[0].keys() == {"not"}:
            return self.goal(goal[0]["not"])
        key = (keyword, *sorted(map(id, goal)))
        known = self._negated.get(key)
        if known is None:
            pointer = self.document.pointers[id(goal[0])]
            inner: dict[str, Any] = goal[0]
            if len(goal) > 1:
                inner = {"allOf": list(goal)}
                self.document.register(inner, int(Group.IN_PLACE), pointer)
            known = self._negated[key] = {"not": inner}
            self.document.register(known, int(Group.IN_PLACE), pointer)
            self.asked_by[id(known)] = keyword
        return (known,)

    # -- nodes --------------------------------------------------------------------------------------------------

    def node(self, goal: Goal) -> Node:
        """The node of a goal."""
        if goal is None:
            return NEVER
        if not goal:
            return ANY
        if len(goal) == 1:
            schema = goal[0]
            key: object = id(schema)
            node = self._nodes.get(key)
            if node is None:
                if not self.document.groups.get(id(schema), _NOT_PLAIN) & _NOT_PLAIN:
                    node = self._nodes[key] = self.own_node(schema)
                else:
                    node = self._solve(goal, key)
            return node
        key = tuple(sorted(map(id, goal)))
        node = self._nodes.get(key)
        return self._solve(goal, key) if node is None else node

    def _solve(self, goal: Goal, key: object) -> Node:
        """Nodes that wait for the nodes of their branches, on a stack of their own."""
        assert goal is not None
        stack = [PendingNode(self, goal, key)]
        on_stack = {key: 0}
        lowest = _NOTHING_MET  # the outermost pending node that was met again, and so left out
        while True:
            top = stack[-1]
            wanted = top.next_branch()
            if wanted is not None:
                branch, branch_key = wanted
                if branch is None:
                    top.receive(NEVER)
                elif not branch:
                    top.receive(ANY)
                elif branch_key in self._nodes:
                    top.receive(self._nodes[branch_key])
                elif branch_key in on_stack or branch_key in self._in_progress:
                    lowest = min(lowest, on_stack.get(branch_key, -1))
                    for pending in stack[on_stack.get(branch_key, 0) :]:
                        pending.note_left_out()
                    top.receive(NEVER)  # an alternative that is the whole itself adds nothing
                else:
                    on_stack[branch_key] = len(stack)
                    stack.append(PendingNode(self, branch, branch_key))
                continue
            self._in_progress |= on_stack.keys()
            node = top.finish()
            self.work += 1 + len(node.objects) + len(node.arrays) + len(node.strings)
            if self.work > _MAX_WORK:
                raise LimitExceeded("max_states", _MAX_WORK, "alternatives of schemas that combine schemas")
            self._in_progress -= on_stack.keys()
            stack.pop()
            place = on_stack.pop(top.key)
            if lowest >= place:  # what was left out lay inside: the node holds everywhere
                self._nodes[top.key] = node
                lowest = _NOTHING_MET
            if not stack:
                return node
            stack[-1].receive(node)

    def settled(self, node: Node, goal: Goal) -> Node:
        """The node of a goal; where some of it is not settled, one that allows more, and checks the rest."""
        if not is_open(node):
            return node
        check = self.check(goal)
        if check is not None and check.check is passes:
            self.left_out.update(dict.fromkeys(all_problems(node)))
        return node if check is None else relaxed(node, check)

    def check(self, goal: Goal) -> ValidValue | None:
        """The check that a finished value is valid under a goal, ``None`` where that is beyond us too."""
        key = goal_key(goal)
        if key not in self._checks:
            if self.validity.fault(goal) is None:
                name = f"{id(self)}: {key}"
                self._checks[key] = ValidValue(name, lambda value: self.validity.holds(goal, value))
            else:
                self._checks[key] = unknown(f"{id(self)}: {key}") if self.relax else None
        return self._checks[key]

    def peek(self, goal: Goal) -> Node:
        """The node of a goal if it can be told now; else ``ANY``, which is safe where only disjointness matters."""
        if not goal:
            return self.node(goal)
        key = goal_key(goal)
        if key in self._nodes:
            return self._nodes[key]
        if key in self._in_progress or self._peeking >= _MAX_PEEKS:
            return ANY
        self._peeking += 1
        self.node(goal)
        self._peeking -= 1
        return self._nodes.get(key, ANY)

    def own_node(self, schema: dict[str, Any]) -> Node:
        """The node of a schema's own keywords, references and in-place applicators apart."""
        key = id(schema)
        node = self._own.get(key)
        if node is None:
            made = self._make_own(schema, self.document.groups[key])
            if schema is UNKNOWN:
                made = unknown_node(Problem(self.document.pointers[key], "$ref", "leads nowhere"))
            node = self._own[key] = self.settled(made, (schema,))
        return node

    def _make_own(self, schema: dict[str, Any], groups: int) -> Node:
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

    # -- keywords by type ---------------------------------------------------------------------------------------

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
        if not (minimum or problems or rules) and maximum is None:
            return FREE_STRING
        shape = StringShape(minimum, maximum, rules, problems=problems, pointer=pointer)
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
            tuple(map(self.goal, prefix)),
            self.goal(rest),
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
        goal = self.goal(schema["contains"])
        others = None if most is None else self.negate(goal, "contains")
        return (Contains(goal, 0, least, most, others),)

    def _object(self, schema: dict[str, Any], pointer: str) -> ObjectShape:
        goal = self.goal
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
        layer = Layer(tuple((pattern, self.goal(inner)) for pattern, inner in patterns.items()), shape.additional)
        shape.additional = ANY_GOAL
        try:
            for name, own in shape.properties.items():
                for pattern, inner in layer.patterns:
                    if follows_pattern(name, pattern):
                        own = shape.properties[name] = join_goals(own, inner)
        except GrammarError as error:
            shape.problems = (*shape.problems, Problem(shape.pointer, "patternProperties", str(error)))
        shape.layers = (layer,)

    # -- links --------------------------------------------------------------------------------------------------

    def written(self, goal: Goal) -> Node:
        """The node of a goal as it is linked and written: witnesses are told by what they are.

        It is another one than is combined and negated: alternatives say no longer what they have in common.
        """
        node = self.node(goal)
        if not any(shape.witnesses for shape in node.objects):
            return node
        known = self._written.get(id(node))
        if known is None:
            shapes = (one for shape in node.objects for one in witnessed(shape, self.node, self.validity))
            known = self._written[id(node)] = node, replace(node, objects=tuple(shapes))
        return known[1]

    def link(self, root: Node) -> list[ArrayShape | ObjectShape]:
        """Make the nodes below every array and object that ``root`` can reach; those shapes, parents first."""
        found: list[ArrayShape | ObjectShape] = []

        def visit(node: Node) -> None:
            for shape in node.objects:
                if not shape.linked:
                    shape.linked = True
                    found.append(shape)
            for array in node.arrays:
                if not array.linked:
                    array.linked = True
                    found.append(array)

        visit(root)
        make = self.written
        for shape in found:
            if isinstance(shape, ObjectShape):
                for node in link_object(shape, make, self.validity):
                    if node.objects or node.arrays:
                        visit(node)
            else:
                shape.prefix_nodes = [make(goal) for goal in shape.prefix]
                shape.items_node = make(shape.items)
                for node in shape.prefix_nodes:
                    visit(node)
                visit(shape.items_node)
                if shape.contains:
                    for node in link_contains(shape, make):
                        visit(node)
        return found
