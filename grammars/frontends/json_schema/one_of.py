"""``oneOf``: what exactly one branch allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from .combine import either
from .complement import minus
from .disjoint import Judge
from .shapes import NEVER, Goal, Node, NumberShape, StringShape

__all__ = ["exactly_one"]


def exactly_one(
    products: Sequence[Node],
    branches: Sequence[Node],
    pointer: str,
    judge: Judge,
    negate: Callable[[Goal], Goal],
    *,
    only: int | None = None,
) -> Node:
    """What exactly one of the branches allows.

    ``products`` are the branches together with what else must hold. Null, booleans and given strings or numbers that
    several of them allow are taken out; then every other branch is taken away from each, as far as they overlap.
    ``negate`` makes the negations of schemas below. ``only`` is the branch to keep, if not all are of interest.
    """
    live = [(index, branch) for index, branch in enumerate(products) if not branch.is_empty]
    if len(live) == 1:
        return live[0][1] if only is None or only == live[0][0] else NEVER
    whole = [branch for _, branch in live]
    null = sum(node.null for node in whole) == 1
    booleans = sum(bit for bit in (1, 2) if sum(bool(node.booleans & bit) for node in whole) == 1)
    nodes = _without_common_values(whole)
    kept: list[Node] = []
    apart: set[tuple[int, int]] = set()
    for place, (index, _) in enumerate(live):
        if only is not None and only != index:
            continue
        node = nodes[place]
        for other, (its, _) in enumerate(live):
            if other == place or (other, place) in apart:  # what was cut off cannot make them meet
                continue
            if judge.nodes_apart(node, nodes[other]):
                if node is nodes[place]:
                    apart.add((place, other))
            else:
                node = minus(node, branches[its], f"{pointer}", judge, negate, keyword="oneOf")
        bits = node.booleans & booleans if only is not None else 0
        kept.append(replace(node, null=null and whole[place].null and only is not None, booleans=bits))
    joined = either(kept, f"{pointer}/oneOf")
    if only is not None:
        return joined
    return replace(joined, null=null, booleans=booleans, pointer=f"{pointer}/oneOf")


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
