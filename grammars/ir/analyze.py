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
            elif kind in (_SEQUENCE, _ALTERNATION):
                value = kind == _SEQUENCE
                for index in range(a, a + b):
                    if result[children[index]] != value:
                        value = not value
                        break
            elif kind == _REPEAT:
                value = b == 0 or result[a]
            elif kind == _CALL:
                value = result[rules[a]]
            if value:
                result[node] = True
                # children come first, so only a call can make another pass needed
                changed = True


@kernel
def mark_reachable(
    nodes: Int32Array, children: Int32Array, rules: Int32Array, start: int, seen: Int32Array, todo: Int32Array
) -> None:
    """Set ``seen`` (N,) to 1 for the nodes that can be reached from the start node; ``todo`` (N,) is scratch."""
    todo[0] = start
    seen[start] = 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = todo[waiting]
        kind, a = nodes[node, 0], nodes[node, 1]
        count = nodes[node, 2] if kind in (_SEQUENCE, _ALTERNATION) else 1 if kind in (_REPEAT, _CALL) else 0
        for index in range(count):
            child = a if kind == _REPEAT else rules[a] if kind == _CALL else children[a + index]
            if seen[child] == 0:
                seen[child] = 1
                todo[waiting] = child
                waiting += 1


@subroutine
def left_child(
    nodes: Int32Array, children: Int32Array, rules: Int32Array, nullable: BoolArray, node: int, index: int
) -> int:
    """The ``index``-th part of a node that can begin where the node begins, -1 behind the last."""
    kind, a, b = nodes[node, 0], nodes[node, 1], nodes[node, 2]
    if kind == _ALTERNATION:
        return children[a + index] if index < b else -1
    if kind == _SEQUENCE:
        begins = index == 0 or nullable[children[a + index - 1]]
        return children[a + index] if index < b and begins else -1
    if index > 0:
        return -1
    return a if kind == _REPEAT else rules[a] if kind == _CALL else -1


@kernel
def begins_with_itself(
    nodes: Int32Array, children: Int32Array, rules: Int32Array, nullable: BoolArray, reachable: Int32Array,
    path: Int32Array,
) -> bool:  # fmt: skip
    """Whether some reachable node can come again before a byte is read: a search in depth for a way back.

    ``path`` (N, 2) is scratch: the nodes on the way, and which part of each comes next. ``reachable`` (N,) becomes
    2 for nodes on the way, 3 for those that are done.
    """
    for root in range(len(nodes)):
        if reachable[root] != 1:
            continue
        depth = 0
        path[0, 0], path[0, 1] = root, 0
        reachable[root] = 2
        while depth >= 0:
            node = path[depth, 0]
            child = left_child(nodes, children, rules, nullable, node, path[depth, 1])
            path[depth, 1] += 1
            if child < 0:
                reachable[node] = 3
                depth -= 1
            elif reachable[child] == 2:
                return True
            elif reachable[child] == 1:
                reachable[child] = 2
                depth += 1
                path[depth, 0], path[depth, 1] = child, 0
    return False


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
    num_nodes = len(ir.nodes)
    graph = (ir.nodes, ir.children, ir.rules)
    productive = np.zeros(num_nodes, np.bool_)
    nullable = np.zeros(num_nodes, np.bool_)
    fixpoint(*graph, True, productive)
    fixpoint(*graph, False, nullable)
    seen, path = np.zeros(num_nodes, np.int32), np.empty((num_nodes, 2), np.int32)
    mark_reachable(*graph, ir.start, seen, path.reshape(-1))
    reachable = seen[ir.rules] != 0
    left_recursive = begins_with_itself(*graph, nullable, seen, path)
    return Facts(productive, nullable, left_recursive, reachable)
