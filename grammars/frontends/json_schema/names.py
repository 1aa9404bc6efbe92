"""Names of properties: which schemas concern a name, and the undeclared names in classes of equal schemas.

``patternProperties`` and ``propertyNames`` are settled here: every class of names is a finite automaton, made by
product and complement, and comes with the conjunction of the schemas of all its names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...errors import GrammarError, LimitExceeded, Problem
from ...guards import ValidValue
from ...ir.regular import Dfa, is_empty
from .shapes import ANY_GOAL, NEVER, Goal, Node, ObjectShape, TextRule, Witness, goal_key, join_goals
from .string_languages import (
    ALL_TEXT,
    any_of,
    cut,
    either,
    follows,
    follows_pattern,
    join,
    pattern_language,
    rule_language,
    without,
)

if TYPE_CHECKING:
    from .validity import Validity

__all__ = ["goal_of_name", "link_object", "witnessed"]

_MAX_CLASSES = 64
"""Classes of names of one object; beyond this it is refused."""
_MAX_WITNESSED = 64
"""Ways in which the properties of one object break a rule; beyond this it is refused."""
_MAX_SOME = 5
"""Undeclared properties of several kinds that an object must have; beyond this it is refused."""

MakeNode = Callable[[Goal], Node]
Class = tuple[Dfa | None, Goal]
"""Names, and the schemas that concern them; ``None``: all names."""


def goal_of_name(shape: ObjectShape, name: str) -> Goal:
    """The schemas of the property ``name``, declared or not. Raises GrammarError where a pattern is too large."""
    if name in shape.properties:
        return shape.properties[name]
    goal = shape.additional
    for patterns, additional in shape.layers:
        matching = [inner for pattern, inner in patterns if follows_pattern(name, pattern)]
        for inner in matching or [additional]:
            goal = join_goals(goal, inner)
    return goal


def link_object(shape: ObjectShape, make: MakeNode, validity: Validity) -> list[Node]:
    """Make the nodes of all properties and of all other names; those nodes, once each.

    What no automaton can tell becomes a check of ``validity``, or a problem where that cannot tell either.
    """
    if len(shape.some) > _MAX_SOME:
        reason = f"more than {_MAX_SOME} properties of undeclared names that there must be"
        _check_instead(shape, Problem(shape.pointer, "not", reason), validity)
    if not shape.layers and shape.names == ANY_GOAL and not shape.some:
        return _link_plain(shape, make)
    try:
        allowed = _allowed_names(shape, make)
        declared = list(dict.fromkeys((*shape.properties, *shape.required)))
        for name in declared:
            fits = shape.names is not None and (allowed is None or allowed.accepts(map(ord, name)))
            node = make(goal_of_name(shape, name)) if fits else NEVER
            shape.members.append((name, node, name in shape.required))
        if shape.names is None:
            return [node for _, node, _ in shape.members]
        for language, goal in _classes(shape, allowed):
            node = make(goal)
            if node.is_empty:
                continue
            if language is not None:
                language = without(language, tuple(name for name in declared if language.accepts(map(ord, name))))
                if is_empty(language):
                    continue
            shape.extras.append((language, node))
            if shape.some:
                _link_some(shape, language, goal, make)
    except GrammarError as error:
        keyword = "patternProperties" if shape.layers else "propertyNames"
        _check_instead(shape, Problem(shape.pointer, keyword, str(error)), validity)
        return _link_plain(shape, make)
    nodes = [node for _, node in shape.extras] + [node for _, _, node in shape.some_extras]
    return [*(node for _, node, _ in shape.members), *nodes]


def _check_instead(shape: ObjectShape, problem: Problem, validity: Validity) -> None:
    """Let the shape allow more, and check its values whole; the problem stays where they cannot be checked."""
    goals = [shape.additional, shape.names, *shape.properties.values()]
    goals += [goal for layer in shape.layers for goal in (layer.additional, *(inner for _, inner in layer.patterns))]
    goals += [goal for _, witness in shape.witnesses for goal in (witness.goal, witness.names)]
    goals += [goal for witness in shape.some for goal in (witness.goal, witness.names)]
    patterns = [TextRule("pattern", pattern) for layer in shape.layers for pattern, _ in layer.patterns]
    patterns += [rule for witness in (*shape.some, *(one for _, one in shape.witnesses)) for rule in witness.rules]
    if any(validity.fault(goal) is not None for goal in goals) or not all(map(_is_known, patterns)):
        shape.problems = (*shape.problems, problem)
    whole = _fresh(shape)
    shape.checks = (*shape.checks, ValidValue(f"object {id(whole)}", lambda value: _fits(whole, value, validity)))
    shape.additional = ANY_GOAL if shape.additional is not None or shape.layers else None
    shape.layers, shape.names, shape.some, shape.witnesses = (), ANY_GOAL, (), ()
    shape.members, shape.extras, shape.some_extras = [], [], []


def _is_known(rule: TextRule) -> bool:
    try:
        rule_language(rule)
    except GrammarError:
        return False
    return True


def _fits(shape: ObjectShape, value: dict[str, Any], validity: Validity) -> bool:
    """Whether an object is of the shape."""
    holds = validity.holds
    if any(name not in value for name in shape.required) or len(value) < shape.minimum:
        return False
    if shape.maximum is not None and len(value) > shape.maximum:
        return False

    def serves(witness: Witness, name: str) -> bool:
        return follows(name, witness.rules) and holds(witness.names, name) and holds(witness.goal, value[name])

    declared = shape.properties.keys() | shape.required.keys()
    return (
        all(holds(shape.names, name) and holds(goal_of_name(shape, name), item) for name, item in value.items())
        and all(any(serves(one, name) for name in value if name not in declared) for one in shape.some)
        and all(any(serves(one, name) for name in value if name not in names) for names, one in shape.witnesses)
    )


def _link_some(shape: ObjectShape, language: Dfa | None, goal: Goal, make: MakeNode) -> None:
    """Of a class of undeclared names: those that serve each set of the properties that there must be."""
    declared = tuple(dict.fromkeys((*shape.properties, *shape.required)))
    serving: list[tuple[int, Dfa | None, Goal]] = [(0, language, goal)]
    for place, witness in enumerate(shape.some):
        mine = _names_of(witness, make)
        for kinds, names, values in serving.copy():
            if mine is not None:
                names = without(mine, declared) if names is None else join(names, mine)
            if names is None or not is_empty(names):
                serving.append((kinds | 1 << place, names, join_goals(values, witness.goal)))
    for kinds, names, values in serving:
        node = make(values) if kinds else NEVER
        if not node.is_empty:
            shape.some_extras.append((kinds, names, node))


def _names_of(witness: Witness, make: MakeNode) -> Dfa | None:
    """The names that such a property may have, ``None``: any."""
    found: Dfa | None = None
    if witness.names != ANY_GOAL:
        found = _language_of_names(make(witness.names))
    for rule in witness.rules:
        found = rule_language(rule) if found is None else join(found, rule_language(rule))
    return found


def _language_of_names(node: Node) -> Dfa:
    problems = (*node.problems, *(problem for string in node.strings for problem in string.problems))
    if problems:
        raise GrammarError(problems[0].reason)
    return any_of(node.strings)


def witnessed(shape: ObjectShape, make: MakeNode, validity: Validity) -> list[ObjectShape]:
    """The shape as alternatives, by which property is each witness; a check where they are too many."""
    if not shape.witnesses:
        return [shape]
    shapes = [_fresh(shape, witnesses=())]
    distinct = {(names, _witness_key(witness)): (names, witness) for names, witness in shape.witnesses}
    for names, witness in distinct.values():
        shapes = [better for one in shapes for better in _with_witness(one, names, witness, make)]
        if len(shapes) > _MAX_WITNESSED:
            reason = f"more than {_MAX_WITNESSED} combinations of properties that break a rule"
            checked = _fresh(shape)
            _check_instead(checked, Problem(shape.pointer, "not", reason), validity)
            return [checked]
    return shapes


def _witness_key(witness: Witness) -> object:
    return witness.rules, goal_key(witness.goal), goal_key(witness.names)


def _fresh(shape: ObjectShape, **changes: Any) -> ObjectShape:
    return replace(shape, members=[], extras=[], some_extras=[], **changes)


_follows = lru_cache(maxsize=16_384)(follows)
"""For names of schemas, which are few, and asked about often."""


def _with_witness(shape: ObjectShape, names: frozenset[str], witness: Witness, make: MakeNode) -> list[ObjectShape]:
    found: list[ObjectShape] = []
    try:
        mine = None if witness.names == ANY_GOAL else _language_of_names(make(witness.names))
        for name in dict.fromkeys((*shape.properties, *shape.required)):
            if name in names or not _follows(name, witness.rules) or not (mine is None or mine.accepts(map(ord, name))):
                continue
            goal = join_goals(goal_of_name(shape, name), witness.goal)
            if goal is not None:
                properties, required = {**shape.properties, name: goal}, {**shape.required, name: None}
                found.append(_fresh(shape, properties=properties, required=required))
    except GrammarError as error:
        problem = Problem(shape.pointer, "patternProperties", str(error))
        return [_fresh(shape, problems=(*shape.problems, problem))]
    if shape.additional is None:
        return found
    known = {_witness_key(one) for one in shape.some}
    some = shape.some if _witness_key(witness) in known else (*shape.some, witness)
    return [*found, _fresh(shape, some=some)]


def _link_plain(shape: ObjectShape, make: MakeNode) -> list[Node]:
    required = shape.required
    nodes: list[Node] = []
    for name, goal in shape.properties.items():
        node = make(goal)
        shape.members.append((name, node, name in required))
        nodes.append(node)
    extra = make(shape.additional)
    shape.extras.append((None, extra))
    nodes.append(extra)
    shape.members.extend((name, extra, True) for name in required if name not in shape.properties)
    return nodes


def _allowed_names(shape: ObjectShape, make: MakeNode) -> Dfa | None:
    """The names that ``propertyNames`` allows, ``None``: all."""
    if shape.names == ANY_GOAL or shape.names is None:
        return None
    node = make(shape.names)
    problems = (*node.problems, *(problem for string in node.strings for problem in string.problems))
    shape.problems = tuple(dict.fromkeys((*shape.problems, *problems)))
    return any_of(node.strings)


def _classes(shape: ObjectShape, allowed: Dfa | None) -> list[Class]:
    """All names that are allowed, in disjoint classes by the schemas that concern them."""
    classes: list[Class] = [(allowed, shape.additional)]
    for patterns, additional in shape.layers:
        open_classes: list[tuple[Dfa | None, Goal, bool]] = [(names, goal, False) for names, goal in classes]
        for pattern, inner in patterns:
            found = pattern_language(pattern)
            split: list[tuple[Dfa | None, Goal, bool]] = []
            for names, goal, matched in open_classes:
                inside = found if names is None else join(names, found)
                outside = cut(ALL_TEXT if names is None else names, found)
                if not is_empty(inside):
                    split.append((inside, join_goals(goal, inner), True))
                if not is_empty(outside):
                    split.append((outside, goal, matched))
            open_classes = split
            if len(open_classes) > _MAX_CLASSES:
                raise LimitExceeded("max_states", _MAX_CLASSES, "classes of names that several patterns tell apart")
        classes = _joined(
            [(names, goal if matched else join_goals(goal, additional)) for names, goal, matched in open_classes]
        )
    return classes


def _joined(classes: list[Class]) -> list[Class]:
    """Classes with the same schemas as one; those that allow nothing are left out."""
    by_goal: dict[tuple[int, ...], Class] = {}
    for names, goal in classes:
        if goal is None:
            continue
        key = tuple(sorted(map(id, goal)))
        known = by_goal.get(key)
        if known is not None and known[0] is not None and names is not None:
            names = either(known[0], names)
        by_goal[key] = (names, goal)
    return list(by_goal.values())
