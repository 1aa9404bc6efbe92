"""Names of properties: which schemas concern a name, and the undeclared names in classes of equal schemas.

``patternProperties`` and ``propertyNames`` are settled here: every class of names is a finite automaton, made by
product and complement, and comes with the conjunction of the schemas of all its names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...errors import GrammarError, LimitExceeded, Problem
from ...ir.regular import Dfa, is_empty
from .shapes import ANY_GOAL, NEVER, Goal, Node, ObjectShape, Witness, join_goals
from .string_languages import ALL_TEXT, any_of, cut, either, follows, follows_pattern, join, pattern_language, without

__all__ = ["goal_of_name", "link_object", "witnessed"]

_MAX_CLASSES = 64
"""Classes of names of one object; beyond this it is refused."""

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


def link_object(shape: ObjectShape, make: Callable[[Goal], Node]) -> list[Node]:
    """Make the nodes of all properties and of all other names; those nodes, once each."""
    if len(shape.some) > 1:
        reason = "several properties of undeclared names that there must be are not enforced yet"
        shape.problems = (*shape.problems, Problem(shape.pointer, "not", reason))
    if not shape.layers and shape.names == ANY_GOAL:
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
                shape.some_extras.append((language, make(join_goals(goal, shape.some[0]))))
    except GrammarError as error:
        keyword = "patternProperties" if shape.layers else "propertyNames"
        shape.problems = (*shape.problems, Problem(shape.pointer, keyword, str(error)))
    extras = shape.extras + shape.some_extras
    return [*(node for _, node, _ in shape.members), *(node for _, node in extras)]


def witnessed(shape: ObjectShape) -> list[ObjectShape]:
    """The shape as alternatives, by which property is each witness."""
    shapes = [replace(shape, witnesses=(), members=[], extras=[], some_extras=[])]
    for names, witness in shape.witnesses:
        shapes = [better for one in shapes for better in _with_witness(one, names, witness)]
        if len(shapes) > _MAX_CLASSES:
            reason = f"more than {_MAX_CLASSES} combinations of properties that break a rule"
            return [replace(shapes[0], problems=(*shape.problems, Problem(shape.pointer, "not", reason)))]
    return shapes


def _with_witness(shape: ObjectShape, names: frozenset[str], witness: Witness) -> list[ObjectShape]:
    found: list[ObjectShape] = []
    problems = shape.problems
    try:
        for name in dict.fromkeys((*shape.properties, *shape.required)):
            if name in names or not follows(name, witness.rules):
                continue
            goal = join_goals(goal_of_name(shape, name), witness.goal)
            if goal is not None:
                found.append(
                    replace(
                        shape,
                        properties={**shape.properties, name: goal},
                        required={**shape.required, name: None},
                        members=[],
                        extras=[],
                        some_extras=[],
                    )
                )
    except GrammarError as error:
        problems += (Problem(shape.pointer, "patternProperties", str(error)),)
    if shape.additional is None:
        return [replace(one, problems=problems, members=[], extras=[], some_extras=[]) for one in found]
    if witness.rules:
        reason = "that some undeclared name breaks patternProperties is not enforced yet"
        problems += (Problem(shape.pointer, "not", reason),)
    some = (*shape.some, witness.goal)
    return [*found, replace(shape, some=some, problems=problems, members=[], extras=[], some_extras=[])]


def _link_plain(shape: ObjectShape, make: Callable[[Goal], Node]) -> list[Node]:
    required = shape.required
    nodes: list[Node] = []
    for name, goal in shape.properties.items():
        node = make(goal)
        shape.members.append((name, node, name in required))
        nodes.append(node)
    extra = make(shape.additional)
    shape.extras.append((None, extra))
    nodes.append(extra)
    if shape.some:
        some = make(join_goals(shape.additional, shape.some[0]))
        shape.some_extras.append((None, some))
        nodes.append(some)
    shape.members.extend((name, extra, True) for name in required if name not in shape.properties)
    return nodes


def _allowed_names(shape: ObjectShape, make: Callable[[Goal], Node]) -> Dfa | None:
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
