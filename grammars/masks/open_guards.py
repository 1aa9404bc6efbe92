"""Whether a guard will be asked about something that was begun: then what was written since may have to be undone.

A guard behind a value concerns the text of that value: it is open while the call of the value's rule is. One that
compares items concerns the whole array, one that compares names the object: it is open as long as the rule of that may
still come to it. Where names are without number, their guard is left out, for there is always another name.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

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
from ..guards import DistinctFewNames, DistinctItems, DistinctNames, JsonBegins, ValidValue
from ..ir.nodes import Kind

__all__ = ["OpenGuards", "in_words"]

_OPENINGS = [byte | byte << 8 for byte in b"[{"]  # as spans of edges

_IN_WORDS: dict[type, str] = {
    DistinctItems: "no two items of the array may be equal (uniqueItems)",
    DistinctNames: "no two names of the object may be equal",
    DistinctFewNames: "no two names of the object may be equal",
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
        states = items[:, 0]
        states = states[states < len(self._open)]  # in a document no guard stands
        return bool(self._open[states].any()) or any(map(self._is_open_below, items[:, 1].tolist()))

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
    edges = _Edges(network)
    behind_call = np.zeros(network.num_states, np.bool_)
    before = np.zeros(network.num_states, np.bool_)
    compared = np.zeros(network.num_states, np.bool_)  # before a guard that compares, and inside the array or object
    pending: list[tuple[int, bool]] = []
    for row, state in enumerate(edges.callers.tolist()):
        step = -1 - int(network.call_edges[row, 0])
        if step < 0 or int(network.steps[step, 0]) != Kind.GUARD:
            continue
        question = questions[int(network.steps[step, 1])]
        if type(question) in (DistinctNames, JsonBegins):
            continue
        behind_call[state] = True
        compares = isinstance(question, DistinctItems | DistinctNames)
        if compares or edges.is_reached_by_text[state]:
            pending.append((state, compares))
    while pending:
        state, inside = pending.pop()
        if (compared if inside else before)[state]:
            continue
        before[state] = True
        compared[state] |= inside
        pending.extend((source, inside and not opens) for source, opens in edges.into(state))
        if inside:  # a rule for an item alone: the array is in the rules that call it
            pending.extend((caller, True) for caller in edges.callers_of(state))
    return before | behind_call


class _Edges:
    """The edges of a network, backwards."""

    def __init__(self, network: Network) -> None:
        states, calls = network.states, network.call_edges
        numbers = np.arange(network.num_states, dtype=np.int32)
        spans = ((FIRST_EDGE, END_EDGE), (FIRST_EPSILON, END_EPSILON), (FIRST_CALL, END_CALL))
        of_bytes, of_epsilons, self.callers = (
            np.repeat(numbers, states[:, end] - states[:, first]) for first, end in spans
        )
        sources = np.concatenate([of_bytes, of_epsilons, self.callers])
        targets = np.concatenate([network.byte_edges[:, 1], network.epsilon_edges, calls[:, 1]])  # -1: no return
        opens = np.zeros(len(sources), np.bool_)
        opens[: len(of_bytes)] = np.isin(network.byte_edges[:, 0], _OPENINGS)
        self.is_reached_by_text = np.zeros(network.num_states, np.bool_)
        self.is_reached_by_text[targets[: len(of_bytes) + len(of_epsilons)]] = True
        order = np.argsort(targets, kind="stable")
        self._sources, self._opens = sources[order], opens[order]
        self._ends = np.searchsorted(targets[order], np.arange(network.num_states + 1))
        called = np.argsort(calls[:, 0], kind="stable")
        self._callers = self.callers[called]
        self._called_ends = np.searchsorted(calls[called, 0], np.arange(network.num_states + 1))

    def into(self, state: int) -> Iterator[tuple[int, bool]]:
        """The states with an edge to a state, past calls and steps too, and whether it opens an array or object."""
        span = slice(self._ends[state], self._ends[state + 1])
        return zip(self._sources[span].tolist(), self._opens[span].tolist(), strict=True)

    def callers_of(self, state: int) -> list[int]:
        """The states that call the rule that begins at a state."""
        callers: list[int] = self._callers[self._called_ends[state] : self._called_ends[state + 1]].tolist()
        return callers
