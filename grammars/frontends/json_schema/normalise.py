"""From schemas to nodes: references followed, keywords that apply in place merged, one list of shapes for each type.

No step recurses on the depth of its input: nodes that need other nodes wait on a stack, and schemas below an
object or array are only linked (a work list), never descended into.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import LimitExceeded, Problem
from ...guards import ValidValue
from .arrays import link_contains
from .checks import all_problems, is_open, relaxed
from .disjoint import Judge
from .dynamic import References
from .in_place import PendingNode
from .keywords import Draft, Group
from .names import link_object, witnessed
from .notes import Note
from .own_keywords import OwnKeywords
from .relax import UNKNOWN, passes, unknown, unknown_node
from .resources import Document, RemoteReference
from .shapes import (
    ANY,
    ANY_GOAL,
    NEVER,
    ArrayShape,
    Goal,
    Node,
    ObjectShape,
    goal_key,
    goal_of,
)
from .unevaluated import Unevaluated
from .validity import Validity

__all__ = ["Normaliser"]

_MAX_PEEKS = 8
"""Nested ``oneOf`` whose branches need each other to be told apart."""
_MAX_WORK = 40_000
"""Alternatives that all combinations of schemas may have together."""
_NOTHING_MET = 1 << 30
_NOT_PLAIN = int(Group.REFERENCE | Group.IN_PLACE | Group.UNEVALUATED)


class Normaliser:
    """Makes the node of any goal, once. ``unsupported`` and ``document.problems`` collect what is wrong on the way."""

    def __init__(self, document: Document, *, assert_formats: bool, relax: bool = False) -> None:
        """``relax``: leave out what would be refused; ``left_out`` collects it."""
        self.document = document
        self.relax = relax
        self.left_out: dict[Problem, None] = {}
        self.references = References(document)
        self.unevaluated = Unevaluated(self)
        self.judge = Judge(self.peek, pointed_integers=document.draft != Draft.DRAFT4)
        self.chosen: dict[int, int] = {}
        """By the identity of schemas of our own with ``oneOf``: the only branch that counts."""
        self.own_keywords = OwnKeywords(document, self.negate, assert_formats=assert_formats)
        self.unsupported: dict[Problem, None] = {}
        """Problems of references; those of shapes stay with the shapes, so that they count only where they matter."""
        self._nodes: dict[object, Node] = {}
        self._own: dict[int, Node] = {}
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

    goal = staticmethod(goal_of)

    @property
    def notes(self) -> dict[Note, None]:
        """What is left unenforced because it is an annotation."""
        return self.own_keywords.notes

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
            made = self.own_keywords.node(schema)
            if schema is UNKNOWN:
                made = unknown_node(Problem(self.document.pointers[key], "$ref", "leads nowhere"))
            node = self._own[key] = self.settled(made, (schema,))
        return node

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
