"""The intermediate form: a grammar as flat arrays of nodes, easy to build and quick to analyse.

Front ends never fill these arrays by hand; they use :class:`~grammars.ir.builder.Builder`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NewType

import numpy as np
import numpy.typing as npt

__all__ = ["IR", "UNBOUNDED", "Int32Array", "Kind", "NodeId", "RuleId"]

NodeId = NewType("NodeId", int)
RuleId = NewType("RuleId", int)
Int32Array = npt.NDArray[np.int32]

UNBOUNDED = -1
"""As the maximum of a repeat: any number of times."""


class Kind(IntEnum):
    """What a node is, and what its arguments ``a``, ``b``, ``c`` mean."""

    NEVER = 0
    """Matches nothing at all."""
    EPSILON = 1
    """Matches the empty text."""
    LITERAL = 2
    """a: offset into ``data``, b: length in bytes (at least one)."""
    FRAGMENT = 3
    """a: index of the fragment, b: 1 if it matches every character of JSON string text, c: 1 if it may be empty."""
    SEQUENCE = 4
    """a: offset into ``children``, b: how many."""
    ALTERNATION = 5
    """a: offset into ``children``, b: how many."""
    REPEAT = 6
    """a: the node, b: minimum, c: maximum or ``UNBOUNDED``."""
    CALL = 7
    """a: the rule."""
    LITERALS = 8
    """Any of several texts. a: offset into ``children``, b: how many: LITERAL nodes, sorted by bytes, distinct."""
    JSON_STRINGS = 9
    """JSON strings, quotes included, by the text they mean. a: offset into ``children``, b: how many: LITERAL nodes
    (EPSILON for the empty text). c: 1 in every spelling, not just the canonical one; 2 all strings *but* these."""


@dataclass(frozen=True, slots=True, eq=False)
class IR:
    """A whole grammar, frozen. Lengths: N nodes, R rules, F fragments.

    ``nodes`` is (N, 4): kind, a, b, c. ``rules`` (R,) holds the body of each rule, ``start`` the node to match.
    ``fragments`` (F + 1,) are offsets into ``fragment_edges`` (E, 4): from, low, high, to (see
    :data:`~grammars.ir.utf8.Fragment`); ``fragment_states`` (F,) counts states.
    """

    nodes: Int32Array
    children: Int32Array
    data: npt.NDArray[np.uint8]
    fragments: Int32Array
    fragment_states: Int32Array
    fragment_edges: Int32Array
    rules: Int32Array
    rule_names: tuple[str, ...]
    start: NodeId
