"""The draft of a network: one int32 array into which nodes of the IR are emitted, before it is packed.

Like the machine's memory it begins with a header: how much there is of everything, and where each part begins. Its
size is known from measuring, so nothing ever grows.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..ir.nodes import Int32Array
from ..jit import inlined
from .memory import Memory, words_of, wrap

__all__ = ["Draft", "add_call", "add_edge", "add_task", "new_draft", "new_state", "rows_of"]

Draft = Memory

# -- header: counts -----------------------------------------------------------------------------------------------
STATES: Final = 0
EDGES: Final = 1
CALLS: Final = 2
TASKS: Final = 3
RULES: Final = 4
GRAPH_NODES: Final = 5
GRAPH_LINKS: Final = 6

# -- header: where the parts begin --------------------------------------------------------------------------------
CAPACITIES: Final = 8  # 1 word a state, as STATE_CAPACITY
FLAGS: Final = 9  # 1 word a state, as STATE_FLAGS
RULE_STARTS: Final = 10  # 1 word a rule: its first state
RULE_BODIES: Final = 11  # 1 word a rule: its node
RULE_OF: Final = 12  # 1 word a node of the IR: the rule made of it, or -1
BUFFER: Final = 13  # scratch of a literal or string
GRAPH: Final = 14  # 4 words a node of the graph of a set of strings, see emit_strings
LINKS: Final = 15  # 3 words a link of it
TASK_ROWS: Final = 16  # 3 words: node, source, target
CALL_ROWS: Final = 17  # 3 words: source, rule (or -1 - node of a step), return state
EDGE_ROWS: Final = 18  # 3 words: source, low | high << 8 (-1: epsilon), target
HEADER: Final = 20

TASK_WORDS: Final = 3
CALL_WORDS: Final = 3
EDGE_WORDS: Final = 3
GRAPH_WORDS: Final = 4
LINK_WORDS: Final = 3
BUFFER_WORDS: Final = 512  # at least


def new_draft(sizes: dict[int, int]) -> Draft:
    """An empty draft with so many words for each part."""
    words = np.empty(HEADER + sum(sizes.values()), np.int32)
    words[:HEADER] = 0
    offset = HEADER
    for part, size in sizes.items():
        words[part] = offset
        offset += size
    return wrap(words)


def rows_of(draft: Draft, part: int, count: int, width: int = 1) -> Int32Array:
    """The first ``count`` rows of a part."""
    first = int(draft[part])
    words = words_of(draft)[first : first + width * int(draft[count])]
    return words.reshape(-1, width) if width > 1 else words


@inlined
def new_state(draft: Draft) -> int:
    """A state that nothing else uses."""
    state = draft[STATES]
    draft[STATES] = state + 1
    draft[draft[CAPACITIES] + state] = 0
    draft[draft[FLAGS] + state] = 0
    return state


@inlined
def add_edge(draft: Draft, source: int, low: int, high: int, target: int) -> None:
    """A byte edge, or an epsilon edge when ``low > high`` (marked by a span of -1)."""
    row = draft[EDGE_ROWS] + EDGE_WORDS * draft[EDGES]
    draft[row] = source
    draft[row + 1] = low | high << 8 if low <= high else -1
    draft[row + 2] = target
    draft[EDGES] += 1


@inlined
def add_call(draft: Draft, source: int, rule: int, back: int) -> None:
    """A call of a rule, or with ``rule = -1 - node`` a step that is a node of the IR."""
    row = draft[CALL_ROWS] + CALL_WORDS * draft[CALLS]
    draft[row] = source
    draft[row + 1] = rule
    draft[row + 2] = back
    draft[CALLS] += 1


@inlined
def add_task(draft: Draft, node: int, source: int, target: int) -> None:
    """Leave ``emit(node, source, target)`` for later."""
    row = draft[TASK_ROWS] + TASK_WORDS * draft[TASKS]
    draft[row] = node
    draft[row + 1] = source
    draft[row + 2] = target
    draft[TASKS] += 1
