"""Whether a guard will be asked about something that was begun: then what was written since may have to be undone.

A guard behind a value concerns the text of that value: it is open while the call of the value's rule is. One that
compares items concerns the whole array: it is open as long as the array's rule may still come to it. Guards that tell
names of an object apart are left out, for there is nearly always another name.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from ..automaton.machine import Machine
from ..automaton.memory import (
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    END_CALL,
    END_EDGE,
    END_EPSILON,
    END_ITEM,
    FIRST_CALL,
    FIRST_EDGE,
    FIRST_EPSILON,
    FIRST_ITEM,
    ITEMS,
    STACK_EDGES,
    STACK_WORDS,
    STACKS,
    words_of,
)
from ..automaton.network import Network
from ..guards import DistinctItems, DistinctNames, JsonBegins, ValidValue
from ..ir.nodes import Int32Array, Kind

__all__ = ["OpenGuards", "in_words"]

_IN_WORDS: dict[type, str] = {
    DistinctItems: "no two items of the array may be equal (uniqueItems)",
    DistinctNames: "no two names of the object may be equal",
    ValidValue: "the finished value must be valid under its schema",
}


def in_words(question: Hashable) -> str:
    """What a guard asks, for people."""
    return _IN_WORDS.get(type(question), repr(question))


class OpenGuards:
    """What is open at the configurations of one machine. Called with the machine's lock held."""

    def __init__(self, machine: Machine, questions: Sequence[Hashable]) -> None:
        """``questions``: the guards of the machine's grammar."""
        self._machine = machine
        self._open = _states_before(machine.network, questions)
        self._is_ever_open = bool(self._open.any())
        self._known: dict[int, bool] = {}  # of stack sets
        self._epoch = machine.epoch

    def is_open(self, configuration: int) -> bool:
        """Whether some way to go on from a configuration comes to a guard about what was begun before."""
        if not self._is_ever_open:
            return False
        memory = self._machine.memory
        if self._epoch != self._machine.epoch:
            self._known.clear()
            self._epoch = self._machine.epoch
        words = words_of(memory)
        record = int(memory[CONFIGURATIONS]) + CONFIGURATION_WORDS * configuration
        first, end = int(memory[record + FIRST_ITEM]), int(memory[record + END_ITEM])
        base = int(memory[ITEMS])
        items = words[base + 2 * first : base + 2 * end].reshape(-1, 2)
        return bool(self._open[items[:, 0]].any()) or any(map(self._is_open_below, items[:, 1].tolist()))

    def _is_open_below(self, stack: int) -> bool:
        """Whether a call is open in a stack set behind which a guard stands."""
        memory, known = self._machine.memory, self._known
        words = words_of(memory)
        stacks, edges = int(memory[STACKS]), int(memory[STACK_EDGES])
        pending = [stack]
        while pending:
            top = pending[-1]
            if top not in known:
                record = stacks + STACK_WORDS * top
                first, end = words[record : record + 2].tolist()
                below = words[edges + 2 * first : edges + 2 * end].reshape(-1, 2)
                returns = below[:, 0]
                if self._open[returns[returns >= 0]].any():  # the others are sets of names
                    known[top] = True
                else:
                    unknown = [one for one in below[:, 1].tolist() if one not in known]
                    if unknown:
                        pending += unknown
                        continue
                    known[top] = any(known[one] for one in below[:, 1].tolist())
            pending.pop()
        return known[stack]


def _states_before(network: Network, questions: Sequence[Hashable]) -> npt.NDArray[np.bool_]:
    """(S,) The states at which a guard about what was begun in the rule, or in the call before, is still to come."""
    states, calls = network.states, network.call_edges
    marked = np.zeros(len(states), np.bool_)
    sources, targets = _edges(network)
    returned = np.zeros(len(states), np.bool_)  # reached by more than the end of a call
    num_others = len(network.byte_edges) + len(network.epsilon_edges)
    returned[targets[:num_others]] = True
    pending: list[int] = []
    for row, source in zip(*_calls_by_state(states), strict=True):
        step = -1 - int(calls[row, 0])
        if step < 0 or int(network.steps[step, 0]) != Kind.GUARD:
            continue
        question = questions[int(network.steps[step, 1])]
        if isinstance(question, DistinctNames | JsonBegins):
            continue
        if not marked[source]:
            marked[source] = True
            if isinstance(question, DistinctItems) or returned[source]:
                pending.append(int(source))
    if not pending:
        return marked
    order = np.argsort(targets, kind="stable")
    before, ends = sources[order], np.searchsorted(targets[order], np.arange(len(states) + 1))
    while pending:
        state = pending.pop()
        for source in before[ends[state] : ends[state + 1]].tolist():
            if not marked[source]:
                marked[source] = True
                pending.append(source)
    return marked


def _edges(network: Network) -> tuple[Int32Array, Int32Array]:
    """Sources and targets of the edges inside rules: of bytes, then of epsilon edges, then past calls and steps."""
    states = network.states
    numbers = np.arange(len(states), dtype=np.int32)
    spans = ((FIRST_EDGE, END_EDGE), (FIRST_EPSILON, END_EPSILON), (FIRST_CALL, END_CALL))
    sources = np.concatenate([np.repeat(numbers, states[:, end] - states[:, first]) for first, end in spans])
    targets = np.concatenate([network.byte_edges[:, 1], network.epsilon_edges, network.call_edges[:, 1]])
    inside = targets >= 0  # the others are calls in place of the rule's end
    return sources[inside], targets[inside]


def _calls_by_state(states: Int32Array) -> tuple[Int32Array, Int32Array]:
    """The rows of all call edges, and the state of each."""
    counts = states[:, END_CALL] - states[:, FIRST_CALL]
    owners = np.repeat(np.arange(len(states), dtype=np.int32), counts)
    return np.arange(len(owners), dtype=np.int32), owners
