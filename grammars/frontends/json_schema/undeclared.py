"""Undeclared properties behind the declared ones: how many may follow, and those that there must be.

Each of ``shape.some`` asks for some undeclared property with a name and a value of a kind. One property may serve
several of them, so what may follow depends on the set of those that are served: a rule for each set (and count).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...guards import DistinctFewNames
from ...ir import NodeId, RuleId
from ...ir.regular import Dfa, length_range
from .counts import times
from .prelude import Frame
from .shapes import Node, ObjectShape
from .strings import other_name

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["Undeclared", "can_serve_all"]


def can_serve_all(shape: ObjectShape) -> bool:
    """Whether for each kind of undeclared property that there must be some value can be written."""
    served = 0
    for kinds, _, node in shape.some_extras:
        if node.is_productive:
            served |= kinds
    return served == (1 << len(shape.some)) - 1


class Undeclared:
    """What undeclared properties an object may have. ``any`` is one of them, ``None`` if there can be none."""

    def __init__(self, lowering: Lowering, shape: ObjectShape, frame: Frame, inside: int) -> None:
        self.lowering = lowering
        self.shape = shape
        self.frame = frame
        self.least = 0
        self.most: int | None = None
        self._declared: list[str] | None = None
        anything = [self._written(*extra, inside) for extra in shape.extras if extra[1].is_productive]
        self.any = lowering.builder.alternation(*anything) if anything else None
        self._full = (1 << len(shape.some)) - 1
        self.serving: dict[int, NodeId] = {}
        if shape.some:
            self._serve(inside)
        self._rules: dict[tuple[int, int], RuleId] = {}
        self._open: list[tuple[int, int]] = []

    def _written(self, language: Dfa | None, node: Node, inside: int) -> NodeId:
        """A property with a name of the language, ``None``: any but the declared."""
        lowering = self.lowering
        distinct = lowering.distinct_name
        if language is not None:
            name = lowering.name(language)
            lengths = length_range(language)
            if lengths is not None and lengths[1] is not None:
                distinct = lowering.builder.guard(DistinctFewNames())
        else:
            if self._declared is None:
                self._declared = list(dict.fromkeys((*self.shape.properties, *self.shape.required)))
            name = other_name(lowering.prelude, self._declared)
        written = (name, distinct, self.frame.colon, lowering.value(node, inside))
        return lowering.builder.sequence(*written)

    def _serve(self, inside: int) -> None:
        """Rules for the properties that there must be, by which of them one property is."""
        ways: dict[int, list[NodeId]] = {}
        for kinds, language, node in self.shape.some_extras:
            if node.is_productive:
                ways.setdefault(kinds, []).append(self._written(language, node, inside))
        for kinds, written in ways.items():
            body = self.lowering.builder.alternation(*written)
            self.serving[kinds] = self.lowering.rule(f"{self.shape.pointer} some", body)

    def share(self) -> None:
        """Make a rule of ``any``, for it stands in several places."""
        if self.any is not None:
            self.any = self.lowering.rule(f"{self.shape.pointer} other", self.any)

    def count(self, least: int, most: int | None) -> None:
        """Ask for a number of properties in all, declared ones included."""
        self.least, self.most = least, most

    @property
    def num_states(self) -> int:
        """Rules for each declared property, at most."""
        return self._full + 1

    def after(self, count: int) -> NodeId:
        """What may follow ``count`` declared properties (at least one), the closing brace included."""
        builder, frame = self.lowering.builder, self.frame
        if self.most is not None and count > self.most:
            return builder.never
        if self._full:
            return self._finished(self._state(count, 0))
        missing = max(self.least - count, 0)
        if self.any is None:
            return builder.never if missing else frame.close_object
        item = builder.sequence(frame.comma, self.any)
        more = times(builder, item, missing, None if self.most is None else self.most - count)
        return builder.sequence(more, frame.close_object)

    def first(self) -> list[NodeId]:
        """Ways on from behind the opening brace with an undeclared property first."""
        builder = self.lowering.builder
        if self.most == 0:
            return []
        ways = [] if self.any is None else [builder.sequence(self.any, self.after(1))]
        for kinds, some in self.serving.items():
            ways.append(self._finished(builder.sequence(some, self._state(1, kinds))))
        return ways

    def _state(self, count: int, served: int) -> NodeId:
        """A call of what may follow so many properties when these kinds are served."""
        key = (min(count, self.least) if self.most is None else count, served)
        rule = self._rules.get(key)
        if rule is None:
            name = f"{self.shape.pointer} end {key[0]} {served:b}"
            rule = self._rules[key] = self.lowering.builder.declare_rule(name)
            self._open.append(key)
        return self.lowering.builder.call(rule)

    def _finished(self, node: NodeId) -> NodeId:
        builder, frame = self.lowering.builder, self.frame
        while self._open:
            count, served = key = self._open.pop()
            ways = [frame.close_object] if served == self._full and count >= self.least else []
            if self.most is None or count < self.most:
                if self.any is not None:
                    ways.append(builder.sequence(frame.comma, self.any, self._state(count + 1, served)))
                for kinds, some in self.serving.items():
                    if not kinds & served:
                        ways.append(builder.sequence(frame.comma, some, self._state(count + 1, served | kinds)))
            builder.define_rule(self._rules[key], builder.alternation(*ways))
        return node
