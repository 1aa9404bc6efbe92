"""``oneOf``: what exactly one branch allows, where that can be told from the shapes alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from ...errors import GrammarError
from .combine import both, both_numbers, both_strings, either, number_fits, string_fits
from .complement import complement
from .names import goal_of_name
from .shapes import ANY, ANY_GOAL, NEVER, ArrayShape, Goal, Node, NumberShape, ObjectShape, StringShape
from .string_languages import share_a_text

__all__ = ["exactly_one", "nodes_disjoint"]

MakeNode = Callable[[Goal], Node]
_MAX_CUTS = 64
"""Pairs of branches of one ``oneOf`` that are cut by each other's complement."""
_MAX_SHAPES = 512
_DEPTH = 3
"""How many properties deep a difference is looked for."""


def exactly_one(
    products: Sequence[Node],
    branches: Sequence[Node],
    pointer: str,
    make: MakeNode,
    negate: Callable[[Goal], Goal],
    *,
    only: int | None = None,
) -> Node | str:
    """What exactly one of the branches allows, or which two may overlap beyond what can be taken out.

    ``products`` are the branches together with what else must hold. Null, booleans and given strings or numbers that
    several of them allow are taken out; where two are not provably disjoint, each is cut by the other's complement.
    ``make`` gives the nodes of the schemas below, ``negate`` their negations. ``only`` is the branch to keep, if not
    all are of interest.
    """
    live = [(index, branch) for index, branch in enumerate(products) if not branch.is_empty]
    if len(live) == 1:
        return live[0][1] if only is None or only == live[0][0] else NEVER
    nodes = [branch for _, branch in live]
    null = sum(node.null for node in nodes) == 1
    booleans = sum(bit for bit in (1, 2) if sum(bool(node.booleans & bit) for node in nodes) == 1)
    nodes = _without_common_values(nodes)
    cuts: list[tuple[int, int, list[str]]] = []
    for position, left in enumerate(nodes):
        for other, right in enumerate(nodes[:position]):
            kinds = [kind for kind, overlaps in _OVERLAPS.items() if overlaps(left, right, make, _DEPTH)]
            if kinds:
                cuts.append((position, other, kinds))
    if len(cuts) > _MAX_CUTS:
        return f"more than {_MAX_CUTS} pairs of branches may both allow the same {cuts[0][2][0]}"
    for pair in cuts:
        for mine, its in (pair[:2], pair[1::-1]):
            without = complement(branches[live[its][0]], pointer, negate, keyword="oneOf")
            if any(len(getattr(nodes[mine], kind)) * len(getattr(without, kind)) > _MAX_SHAPES for kind in pair[2]):
                return f"more than {_MAX_SHAPES} combinations of alternatives to tell branches apart"
            kept = {kind: getattr(ANY, kind) for kind in _OVERLAPS if kind not in pair[2]}
            nodes[mine] = both(nodes[mine], replace(without, null=True, booleans=3, **kept))
            if _has_problems(nodes[mine], pair[2]):
                first, second = sorted((live[mine][0], live[its][0]))
                return f"branches {first} and {second} may both allow the same {pair[2][0][:-1]}"
    if only is not None:
        kept_at = next((place for place, (index, _) in enumerate(live) if index == only), None)
        if kept_at is None:
            return NEVER
        return replace(nodes[kept_at], null=null and nodes[kept_at].null, booleans=booleans & nodes[kept_at].booleans)
    joined = either([replace(node, null=False, booleans=0) for node in nodes], pointer)
    return replace(joined, null=null, booleans=booleans, pointer=pointer)


def _without_common_values(nodes: list[Node]) -> list[Node]:
    """The nodes without those given values that several of them list."""
    strings = Counter(value for node in nodes for value in {v for s in node.strings for v in s.values or ()})
    numbers = Counter(value for node in nodes for value in {v for n in node.numbers for v, _ in n.values or ()})
    if all(count == 1 for count in strings.values()) and all(count == 1 for count in numbers.values()):
        return nodes
    return [
        replace(
            node,
            strings=tuple(filter(None, (_keep_strings(shape, strings) for shape in node.strings))),
            numbers=tuple(filter(None, (_keep_numbers(shape, numbers) for shape in node.numbers))),
        )
        for node in nodes
    ]


def _keep_strings(shape: StringShape, counts: Counter[str]) -> StringShape | None:
    if shape.values is None:
        return shape
    values = tuple(value for value in shape.values if counts[value] == 1)
    return replace(shape, values=values) if values else None


def _keep_numbers(shape: NumberShape, counts: Counter[Decimal]) -> NumberShape | None:
    if shape.values is None:
        return shape
    values = tuple(value for value in shape.values if counts[value[0]] == 1)
    return replace(shape, values=values) if values else None


def nodes_disjoint(left: Node, right: Node, make: MakeNode, depth: int = _DEPTH) -> bool:
    """Whether the nodes provably share no value at all."""
    if (left.null and right.null) or left.booleans & right.booleans:
        return False
    return not any(overlaps(left, right, make, depth) for overlaps in _OVERLAPS.values())


def _has_problems(node: Node, kinds: list[str]) -> bool:
    return bool(node.problems) or any(shape.problems for kind in kinds for shape in getattr(node, kind))


_OVERLAPS: dict[str, Callable[[Node, Node, MakeNode, int], bool]] = {
    "numbers": lambda left, right, make, depth: any(
        not _numbers_disjoint(a, b) for a in left.numbers for b in right.numbers
    ),
    "strings": lambda left, right, make, depth: any(
        not _strings_disjoint(a, b) for a in left.strings for b in right.strings
    ),
    "arrays": lambda left, right, make, depth: any(
        not _arrays_disjoint(a, b, make, depth) for a in left.arrays for b in right.arrays
    ),
    "objects": lambda left, right, make, depth: any(
        not _objects_disjoint(a, b, make, depth) for a in left.objects for b in right.objects
    ),
}
"""By the name of a node's field: whether both may allow the same value of that type."""


def _numbers_disjoint(left: NumberShape, right: NumberShape) -> bool:
    for given, other in ((left, right), (right, left)):
        if given.values is not None:
            return not any(number_fits(value, other) for value, _ in given.values)
    return both_numbers(left, right) is None


def _strings_disjoint(left: StringShape, right: StringShape) -> bool:
    for given, other in ((left, right), (right, left)):
        if given.values is not None:
            try:
                return not any(string_fits(value, other) for value in given.values)
            except GrammarError:
                return False
    if both_strings(left, right) is None:
        return True
    return bool(left.rules and right.rules) and not share_a_text(left, right)


def _arrays_disjoint(left: ArrayShape, right: ArrayShape, make: MakeNode, depth: int) -> bool:
    if left.maximum is not None and right.minimum > left.maximum:
        return True
    if right.maximum is not None and left.minimum > right.maximum:
        return True
    if depth == 0:
        return False
    for index in range(min(left.minimum, right.minimum)):
        ours = left.prefix[index] if index < len(left.prefix) else left.items
        theirs = right.prefix[index] if index < len(right.prefix) else right.items
        if nodes_disjoint(make(ours), make(theirs), make, depth - 1):
            return True
        if index >= max(len(left.prefix), len(right.prefix)):
            break  # from here on every position is the same
    return False


def _objects_disjoint(left: ObjectShape, right: ObjectShape, make: MakeNode, depth: int) -> bool:
    if depth == 0:
        return False
    for name in left.required | right.required:
        if name in left.required and name in right.required:
            ours, theirs = _goal_of_name(left, name), _goal_of_name(right, name)
            if nodes_disjoint(make(ours), make(theirs), make, depth - 1):
                return True
        else:
            other = right if name in left.required else left
            if make(_goal_of_name(other, name)).is_empty:
                return True
    return False


def _goal_of_name(shape: ObjectShape, name: str) -> Goal:
    try:
        return goal_of_name(shape, name)
    except GrammarError:  # it will be refused; here anything may be
        return ANY_GOAL
