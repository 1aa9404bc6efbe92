"""Counts the tokens of limited text, and leaves it at the limit.

In the network each state inside such text has an edge to its twin, from which only the way out is left, on a byte that
no token has (:mod:`grammars.ir.private`). A token counts if the text ends inside after it. When as many as are allowed
have been, that edge is taken: every state inside is replaced by its twin, all else stays.

The states of one piece of text in the network are told from those of another by their edges: what bytes connect is one
*place*. Each place has a count of its own, from when it is entered until no reading of the text is in it any more.
"""

from __future__ import annotations

import numpy as np

from ..automaton.configurations import add_item, close_closure, open_closure
from ..automaton.machine import Machine
from ..automaton.memory import (
    ACCEPTING,
    BYTE_EDGES,
    CLOSURE_ACCEPTING,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    END_EDGE,
    END_ITEM,
    FIRST_EDGE,
    FIRST_ITEM,
    FLAGS,
    ITEMS,
    STATE_WORDS,
    STATES,
    Memory,
    words_of,
    wrap,
)
from ..automaton.network import Network
from ..ir.nodes import Int32Array
from ..ir.private import LIMIT_BYTES
from ..jit import kernel

__all__ = ["Counts", "Limited", "leave"]

Counts = tuple[tuple[int, int], ...]
"""(place, tokens that ended inside it), for the places that the text may be in now."""


@kernel
def leave(memory: Memory, configuration: int, place_of: Memory, place: int, byte: int) -> int:
    """The configuration in which each state inside a place is replaced by its twin; negative when a table is full."""
    states, edges, items = memory[STATES], memory[BYTE_EDGES], memory[ITEMS]
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    open_closure(memory)
    for item in range(memory[record + FIRST_ITEM], memory[record + END_ITEM]):
        number = memory[items + 2 * item]
        state = states + STATE_WORDS * number
        target = number
        if place_of[number] == place:
            for edge in range(memory[state + FIRST_EDGE], memory[state + END_EDGE]):
                if memory[edges + 2 * edge] & 0xFF == byte:
                    target = memory[edges + 2 * edge + 1]
        status = add_item(memory, target, memory[items + 2 * item + 1])
        if status < 0:
            return status
    memory[CLOSURE_ACCEPTING] |= memory[record + FLAGS] & ACCEPTING
    return close_closure(memory)


class Limited:
    """The places of limited text in the network of one machine. Called with the machine's lock held."""

    def __init__(self, machine: Machine, limits: tuple[int, ...]) -> None:
        """``limits``: see :func:`grammars.ir.private.limits_of`."""
        self._machine = machine
        places, bytes_of = _places(machine.network)
        self._place_of = wrap(places)
        self._bytes = bytes_of
        self._limits = [limits[LIMIT_BYTES.index(byte)] for byte in bytes_of]
        self._inside: dict[int, tuple[int, ...]] = {}
        self._epoch = machine.epoch

    def step(self, configuration: int, counts: Counts) -> tuple[int, Counts]:
        """Where a token, or a text without tokens, led: the configuration to go on from, and the new counts.

        The first is negative when a table is full.
        """
        before = dict(counts)
        after = {place: before.get(place, 0) + 1 for place in self.places(configuration)}
        for place in [place for place, count in after.items() if count >= self._limits[place]]:
            byte = self._bytes[place]
            configuration = leave(self._machine.memory, configuration, self._place_of, place, byte)
            if configuration < 0:
                return configuration, counts
            after = {other: after[other] for other in self.places(configuration)}
        return configuration, tuple(after.items())

    def carry(self, configuration: int, counts: Counts) -> Counts:
        """The counts behind text that was not cut into tokens: it does not count, but may end what was begun."""
        before = dict(counts)
        return tuple((place, before.get(place, 0)) for place in self.places(configuration))

    def places(self, configuration: int) -> tuple[int, ...]:
        """The places that a configuration is in."""
        if self._epoch != self._machine.epoch:
            self._inside.clear()
            self._epoch = self._machine.epoch
        found = self._inside.get(configuration)
        if found is None:
            memory = self._machine.memory
            words = words_of(memory)
            record = int(memory[CONFIGURATIONS]) + CONFIGURATION_WORDS * configuration
            first, end = (int(memory[ITEMS]) + 2 * int(words[record + word]) for word in (FIRST_ITEM, END_ITEM))
            places = words_of(self._place_of)[words[first:end:2]]
            found = tuple(np.unique(places[places >= 0]).tolist())
            self._inside[configuration] = found
        return found


def _places(network: Network) -> tuple[Int32Array, list[int]]:
    """The place of each state, those of documents too, -1 outside all; and the byte that leaves each place."""
    states = network.states
    sources = np.repeat(np.arange(network.num_states), states[:, END_EDGE] - states[:, FIRST_EDGE])
    spans, targets = network.byte_edges[:, 0], network.byte_edges[:, 1]
    leaving = np.isin(spans & 0xFF, LIMIT_BYTES)
    byte_of = dict(zip(sources[leaving].tolist(), (spans[leaving] & 0xFF).tolist(), strict=True))
    neighbours: dict[int, list[int]] = {state: [] for state in byte_of}
    for source, target in zip(sources[~leaving].tolist(), targets[~leaving].tolist(), strict=True):
        if byte_of.get(source, 0) == byte_of.get(target, 1):
            neighbours[source].append(target)
            neighbours[target].append(source)
    places = np.full(network.num_states + network.num_verbatim_states, -1, np.int32)
    bytes_of: list[int] = []
    for state, byte in byte_of.items():
        if places[state] >= 0:
            continue
        pending = [state]
        while pending:
            other = pending.pop()
            if places[other] < 0:
                places[other] = len(bytes_of)
                pending += neighbours[other]
        bytes_of.append(byte)
    return places, bytes_of
