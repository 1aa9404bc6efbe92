"""Facts about an IR: which rules can match something, which can match nothing, which begin with themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..jit import kernel
from .nodes import IR, Int32Array, Kind

__all__ = ["Facts", "analyze"]

BoolArray = npt.NDArray[np.bool_]

_NEVER, _EPSILON, _SEQUENCE, _ALTERNATION = int(Kind.NEVER), int(Kind.EPSILON), int(Kind.SEQUENCE), int(Kind.ALTERNATION)
_REPEAT, _CALL = int(Kind.REPEAT), int(Kind.CALL)


class Facts(NamedTuple):
    """What :func:`analyze` finds. Lengths: N nodes, R rules."""

    productive: BoolArray
    """(N,) the node matches at least one text."""
    nullable: BoolArray
    """(N,) the node matches the empty text."""
    left_recursive: BoolArray
    """(R,) the rule can call itself before any byte was read (directly, through others, behind empty parts)."""


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
            elif kind == _EPSILON:
                value = True
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


@kernel
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
        elif kind == _SEQUENCE or kind == _ALTERNATION:
            for child in children[a : a + b]:
                if seen[child] != stamp:
                    seen[child] = stamp
                    todo[waiting] = child
                    waiting += 1
                if kind == _SEQUENCE and not nullable[child]:
                    break
    return count


@kernel
def find_left_recursion(nodes: Int32Array, children: Int32Array, rules: Int32Array, nullable: BoolArray) -> BoolArray:
    """The rules on a cycle of left calls: what remains when rules with no way in or out of a cycle are peeled off."""
    num_rules = len(rules)
    seen = np.zeros(len(nodes), np.int32)
    todo = np.empty(len(nodes), np.int32)
    found = np.empty(len(nodes), np.int32)
    offsets = np.zeros(num_rules + 1, np.int64)
    total = 0
    for rule in range(num_rules):
        total += left_calls(nodes, children, rules, nullable, rules[rule], seen, rule + 1, todo, found)
        offsets[rule + 1] = total
    targets = np.empty(total, np.int32)
    for rule in range(num_rules):
        count = left_calls(nodes, children, rules, nullable, rules[rule], seen, num_rules + rule + 1, todo, found)
        targets[offsets[rule] : offsets[rule] + count] = found[:count]
    on_cycle = np.ones(num_rules, np.bool_)
    changed = total > 0
    if total == 0:
        on_cycle[:] = False
    while changed:
        changed = False
        for rule in range(num_rules):
            if on_cycle[rule]:
                leads_on = False
                for target in targets[offsets[rule] : offsets[rule + 1]]:
                    leads_on = leads_on or on_cycle[target]
                if not leads_on:
                    on_cycle[rule] = False
                    changed = True
    return on_cycle


def analyze(ir: IR) -> Facts:
    """Compute all facts of ``ir``; linear in its size but for long chains of rules."""
    productive = np.zeros(len(ir.nodes), np.bool_)
    nullable = np.zeros(len(ir.nodes), np.bool_)
    fixpoint(ir.nodes, ir.children, ir.rules, True, productive)
    fixpoint(ir.nodes, ir.children, ir.rules, False, nullable)
    return Facts(productive, nullable, find_left_recursion(ir.nodes, ir.children, ir.rules, nullable))
