"""Very many rules at once, as arrays: the states of a large automaton."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...errors import LimitExceeded
from ..builder import Builder
from ..nodes import Kind

__all__ = ["append_rules"]

_Ints = npt.NDArray[np.int64]


def append_rules(
    builder: Builder, sources: _Ints, letters: _Ints, targets: _Ints, ends: npt.NDArray[np.bool_]
) -> _Ints:
    """Add R rules to a builder; the nodes that call them, (R,).

    Edge e (E of them) lets rule ``sources[e]`` go on by the node ``letters[e]`` and rule ``targets[e]``, or by the node
    ``-1 - targets[e]`` where that is negative; a rule of ``ends`` (R,) may also end. What a rule calls should have a
    lower number than the rule: then whoever reads the nodes in order knows what they call.
    """
    num_rules, num_edges = len(ends), len(sources)
    order = np.argsort(sources, kind="stable")
    sources, letters, targets = sources[order], letters[order], targets[order]
    counts = np.bincount(sources, minlength=num_rules)  # a rule is its edges, its body, and a call of it
    first_node = len(builder._nodes) // 4
    if first_node + num_edges + 2 * num_rules > builder.limits.max_nodes:
        raise LimitExceeded("max_nodes", builder.limits.max_nodes, "the grammar")
    first_edge = np.cumsum(counts) - counts
    starts = first_node + first_edge + 2 * np.arange(num_rules)
    bodies, calls = starts + counts, starts + counts + 1
    edges = starts[sources] + np.arange(num_edges) - first_edge[sources]

    first_child = len(builder._children)
    pairs = np.stack([letters, np.where(targets >= 0, calls[np.maximum(targets, 0)], -1 - targets)], axis=1)
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
    builder._nodes.frombytes(nodes.tobytes())
    builder._children.frombytes(np.concatenate([pairs.ravel(), listed]).astype(np.int32).tobytes())
    builder._rules.frombytes(bodies.astype(np.int32).tobytes())
    builder._rule_names.extend(["state"] * num_rules)
    return calls
