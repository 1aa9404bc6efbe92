"""Facts about an IR: which rules can match something, which can match nothing, which begin with themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..jit import kernel, subroutine
from .nodes import IR, Int32Array, Kind

__all__ = ["Facts", "analyze"]

BoolArray = npt.NDArray[np.bool_]
Int64Array = npt.NDArray[np.int64]

_NEVER, _EPSILON, _SEQUENCE, _ALTERNATION = (
    int(Kind.NEVER),
    int(Kind.EPSILON),
    int(Kind.SEQUENCE),
    int(Kind.ALTERNATION),
)
_REPEAT, _CALL, _FRAGMENT = int(Kind.REPEAT), int(Kind.CALL), int(Kind.FRAGMENT)
_GUARD, _REGISTER = int(Kind.GUARD), int(Kind.REGISTER)


class Facts(NamedTuple):
    """What :func:`analyze` finds. Lengths: N nodes, R rules."""

    productive: BoolArray
    """(N,) the node matches at least one text."""
    nullable: BoolArray
    """(N,) the node matches the empty text."""
    left_recursive: bool
    """Some rule in use can call itself before any byte was read, directly, through others, or behind empty parts."""
    reachable: BoolArray
    """(R,) the rule can be called, directly or through others, from the start."""


@kernel
def fixpoint(nodes: Int32Array, children: Int32Array, rules: Int32Array, leaf_value: bool, result: BoolArray) -> None:
    """Least fixpoint of "matches something" (``leaf_value`` true) or "matches nothing" (false) over all nodes."""
    changed = True
    while changed:
        changed = False
        for node in range(len(nodes)):
            if result[node]:
                continue
            kind, a, b = nodes[node, 0], nodes[node, 1], nodes[node, 2]
            value = leaf_value
            if kind == _NEVER:
                value = False
            elif kind in (_EPSILON, _GUARD, _REGISTER):
                value = True
            elif kind == _FRAGMENT:
                value = leaf_value or nodes[node, 3] != 0
            elif kind == _SEQUENCE:
                value = True
                for child in children[a : a + b]:
                    value = value and result[child]
            elif kind == _ALTERNATION:
                value = False
                for child in children[a : a + b]:
                    value = value or result[child]
            elif kind == _REPEAT:
                value = b == 0 or result[a]
            elif kind == _CALL:
                value = result[rules[a]]
            if value:
                result[node] = True
                # children come first, so only a call can make another pass needed
                changed = True


@subroutine
def left_calls(
    nodes: Int32Array, children: Int32Array, rules: Int32Array, nullable: BoolArray, body: int, seen: Int32Array,
    stamp: int, todo: Int32Array, found: Int32Array,
) -> int:  # fmt: skip
    """Collect into ``found`` the rules that ``body`` may call before a byte is read; how many."""
    count, waiting = 0, 1
    todo[0] = body
    seen[body] = stamp
    while waiting > 0:
        waiting -= 1
        node = todo[waiting]
        kind, a, b = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        if kind == _CALL:
            found[count] = a
            count += 1
        elif kind == _REPEAT:
            if seen[a] != stamp:
                seen[a] = stamp
                todo[waiting] = a
                waiting += 1
        elif kind in (_SEQUENCE, _ALTERNATION):
            for child in children[a : a + b]:
                if seen[child] != stamp:
                    seen[child] = stamp
                    todo[waiting] = child
                    waiting += 1
                if kind == _SEQUENCE and not nullable[child]:
                    break
    return count


@kernel
def left_call_graph(
    nodes: Int32Array, children: Int32Array, rules: Int32Array, nullable: BoolArray
) -> tuple[Int64Array, Int32Array]:
    """Which rules each rule may call before a byte is read: ``targets[offsets[rule] : offsets[rule + 1]]``."""
    num_rules = len(rules)
    seen = np.zeros(len(nodes), np.int32)
    todo = np.empty(len(nodes), np.int32)
    found = np.empty(len(nodes), np.int32)
    offsets = np.zeros(num_rules + 1, np.int64)
    for rule in range(num_rules):
        count = left_calls(nodes, children, rules, nullable, rules[rule], seen, rule + 1, todo, found)
        offsets[rule + 1] = offsets[rule] + count
    targets = np.empty(offsets[num_rules], np.int32)
    for rule in range(num_rules):
        count = left_calls(nodes, children, rules, nullable, rules[rule], seen, num_rules + rule + 1, todo, found)
        for index in range(count):  # assigning a slice would make numba compile 20 functions more
            targets[offsets[rule] + index] = found[index]
    return offsets, targets


@kernel
def leads_to_cycle(offsets: Int64Array, targets: Int32Array) -> BoolArray:
    """(R,) whether a cycle can be reached: what is left when rules that lead nowhere are peeled off."""
    num_rules = len(offsets) - 1
    left = np.ones(num_rules, np.bool_)
    changed = True
    while changed:
        changed = False
        for rule in range(num_rules):
            leads_on = False
            for target in targets[offsets[rule] : offsets[rule + 1]]:
                leads_on = leads_on or left[target]
            if left[rule] and not leads_on:
                left[rule] = False
                changed = True
    return left


@kernel
def reachable_rules(nodes: Int32Array, children: Int32Array, rules: Int32Array, start: int) -> BoolArray:
    """(R,) the rules that the start node calls, directly or through others."""
    reached = np.zeros(len(rules), np.bool_)
    seen = np.zeros(len(nodes), np.bool_)
    todo = np.empty(len(nodes) + 1, np.int32)
    todo[0] = start
    seen[start] = True
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = todo[waiting]
        kind, a, b = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        first, end = 0, 0
        if kind in (_SEQUENCE, _ALTERNATION):
            first, end = a, a + b
        for index in range(first, end):
            if not seen[children[index]]:
                seen[children[index]] = True
                todo[waiting] = children[index]
                waiting += 1
        inner = a if kind == _REPEAT else -1
        if kind == _CALL:
            reached[a] = True
            inner = rules[a]
        if inner >= 0 and not seen[inner]:
            seen[inner] = True
            todo[waiting] = inner
            waiting += 1
    return reached


def strong_components(offsets: Int64Array, targets: Int32Array, among: Sequence[int]) -> list[list[int]]:
    """The strongly connected components that hold a cycle, of the graph restricted to ``among`` (Tarjan, iterative)."""
    allowed = set(among)
    successors = {
        rule: [int(t) for t in targets[offsets[rule] : offsets[rule + 1]] if int(t) in allowed] for rule in among
    }
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    components: list[list[int]] = []
    for root in among:
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = lowest[root] = len(index)
        path.append(root)
        on_path.add(root)
        while work:
            rule, rest = work[-1]
            target = next(rest, None)
            if target is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[rule])
                if lowest[rule] == index[rule]:
                    cut = path.index(rule)
                    component, path = path[cut:], path[:cut]
                    on_path.difference_update(component)
                    if len(component) > 1 or rule in successors[rule]:
                        components.append(component)
            elif target not in index:
                index[target] = lowest[target] = len(index)
                path.append(target)
                on_path.add(target)
                work.append((target, iter(successors[target])))
            elif target in on_path:
                lowest[rule] = min(lowest[rule], index[target])
    return components


def analyze(ir: IR) -> Facts:
    """Compute all facts of ``ir``; linear in its size but for long chains of rules."""
    productive = np.zeros(len(ir.nodes), np.bool_)
    nullable = np.zeros(len(ir.nodes), np.bool_)
    fixpoint(ir.nodes, ir.children, ir.rules, True, productive)
    fixpoint(ir.nodes, ir.children, ir.rules, False, nullable)
    offsets, targets = left_call_graph(ir.nodes, ir.children, ir.rules, nullable)
    reachable = reachable_rules(ir.nodes, ir.children, ir.rules, ir.start)
    cyclic = len(targets) > 0 and bool((leads_to_cycle(offsets, targets) & reachable).any())
    return Facts(productive, nullable, cyclic, reachable)
