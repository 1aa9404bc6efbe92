"""Very many rules at once, as arrays: the states of a large automaton."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import LimitExceeded
from ..builder import Builder
from ..charset import Charset
from ..nodes import Kind, NodeId
from .dfa import Dfa, is_empty
from .text_ahead import text_ahead

__all__ = ["append_rules", "rules_of"]

_Ints = npt.NDArray[np.int64]


def append_rules(
    builder: Builder, sources: _Ints, letters: _Ints, targets: _Ints, ends: npt.NDArray[np.bool_], ahead: _Ints
) -> _Ints:
    """Add R rules to a builder; the nodes that call them, (R,).

    Edge e (E of them) lets rule ``sources[e]`` go on by the node ``letters[e]`` and rule ``targets[e]``, or by the node
    ``-1 - targets[e]`` where that is negative; a rule of ``ends`` (R,) may also end. What a rule calls should have a
    lower number than the rule where there is no cycle: then whoever reads the nodes in order knows what they call.
    ``ahead`` (R,) is what :meth:`~grammars.ir.builder.Builder.text_ahead` promises at the start of each.
    """
    num_rules, num_edges = len(ends), len(sources)
    order = np.argsort(sources, kind="stable")
    sources, letters, targets = sources[order], letters[order], targets[order]
    counts = np.bincount(sources, minlength=num_rules)  # a rule is its edges, its body, and a call of it
    backward = targets >= sources  # children come before their parents, so these have calls of their own
    first_call = len(builder._nodes) // 4
    first_node = first_call + int(backward.sum())
    if first_node + num_edges + 3 * num_rules > builder.limits.max_nodes:
        raise LimitExceeded("max_nodes", builder.limits.max_nodes, "the grammar")
    first_edge = np.cumsum(counts) - counts
    starts = first_node + first_edge + 2 * np.arange(num_rules)
    bodies, calls = starts + counts, starts + counts + 1
    edges = starts[sources] + np.arange(num_edges) - first_edge[sources]

    first_child = len(builder._children)
    called = np.where(targets >= 0, calls[np.maximum(targets, 0)], -1 - targets)
    called[backward] = np.arange(first_call, first_node)
    pairs = np.stack([letters, called], axis=1)
    sizes = counts + ends  # children of the bodies
    lists = first_child + 2 * num_edges + np.cumsum(sizes) - sizes
    listed = np.ones(int(sizes.sum()), np.int64)  # node 1 is the empty text
    listed[lists[sources] - first_child - 2 * num_edges + np.arange(num_edges) - first_edge[sources]] = edges

    nodes = np.zeros((num_edges + 2 * num_rules, 4), np.int32)
    nodes[edges - first_node] = np.stack(
        [
            np.full(num_edges, Kind.SEQUENCE),
            first_child + 2 * np.arange(num_edges),
            np.full(num_edges, 2),
            np.zeros(num_edges, np.int64),
        ],
        axis=1,
    )
    nodes[bodies - first_node, 0] = Kind.ALTERNATION
    nodes[bodies - first_node, 1] = lists
    nodes[bodies - first_node, 2] = sizes
    nodes[calls - first_node, 0] = Kind.CALL
    nodes[calls - first_node, 1] = len(builder._rules) + np.arange(num_rules)
    early = np.zeros((first_node - first_call, 4), np.int32)
    early[:, 0] = Kind.CALL
    early[:, 1] = len(builder._rules) + targets[backward]
    builder._nodes.frombytes(early.tobytes())
    builder._nodes.frombytes(nodes.tobytes())
    builder._children.frombytes(np.concatenate([pairs.ravel(), listed]).astype(np.int32).tobytes())
    builder._rules.frombytes(_promising(builder, bodies, ahead).astype(np.int32).tobytes())
    builder._rule_names.extend(["state"] * num_rules)
    return calls


def _promising(builder: Builder, bodies: _Ints, ahead: _Ints) -> _Ints:
    """The nodes ``bodies``, behind the promises of text ahead that there are."""
    promised = np.flatnonzero(ahead)
    if not len(promised):
        return bodies
    promises = {number: builder.text_ahead(number) for number in set(ahead[promised].tolist())}
    pairs = np.stack([np.array([promises[number] for number in ahead[promised].tolist()]), bodies[promised]], axis=1)
    nodes = np.zeros((len(promised), 4), np.int32)
    nodes[:, 0], nodes[:, 2] = Kind.SEQUENCE, 2
    nodes[:, 1] = len(builder._children) + 2 * np.arange(len(promised))
    bodies = bodies.copy()
    bodies[promised] = len(builder._nodes) // 4 + np.arange(len(promised))
    builder._children.frombytes(pairs.astype(np.int32).tobytes())
    builder._nodes.frombytes(nodes.tobytes())
    return bodies


class _Edges(NamedTuple):
    """An automaton as :func:`append_rules` takes it, but for letters: numbers of ``charsets``."""

    sources: _Ints
    letters: _Ints
    targets: _Ints
    ends: npt.NDArray[np.bool_]
    ahead: _Ints
    charsets: tuple[Charset, ...]
    start: int


@lru_cache(maxsize=64)
def _edges_of(dfa: Dfa) -> _Edges:
    ways = dfa.edges()
    number: dict[int, int] = {}
    seen = {dfa.start}
    stack = [(dfa.start, iter(ways[dfa.start]))]
    while stack:  # what a state leads to gets the lower numbers
        state, left = stack[-1]
        target = next((target for target, _ in left if target not in seen), None)
        if target is None:
            stack.pop()
            number[state] = len(number)
        else:
            seen.add(target)
            stack.append((target, iter(ways[target])))
    charsets: dict[Charset, int] = {}
    rows = [
        (number[state], charsets.setdefault(members, len(charsets)), number[target])
        for state in number
        for target, members in ways[state]
    ]
    sources, letters, targets = np.array(rows, np.int64).reshape(-1, 3).T
    ends = np.array([bool(dfa.accepting[state]) for state in number])
    ahead = np.array([text_ahead(dfa)[state] for state in number])
    return _Edges(sources, letters, targets, ends, ahead, tuple(charsets), number[dfa.start])


def rules_of(dfa: Dfa, builder: Builder, characters: Callable[[Charset], NodeId]) -> NodeId:
    """The members of an automaton over text, a rule for each state: quick where the automaton is used again."""
    if is_empty(dfa):
        return builder.never
    edges = _edges_of(dfa)
    nodes = np.array([characters(members) for members in edges.charsets], np.int64)
    letters = nodes[edges.letters] if len(nodes) else edges.letters
    calls = append_rules(builder, edges.sources, letters, edges.targets, edges.ends, edges.ahead)
    return NodeId(int(calls[edges.start]))
