"""Dead ends that come from the vocabulary: text that the grammar allows but no sequence of tokens can write.

A vocabulary with a token for every single byte (byte-level BPE, byte fallback) has none, and pays nothing. For another,
a configuration is *live* if some sequence of tokens leads to a complete text. Most are live at a glance: if what
follows can be written with the bytes that are tokens by themselves. The others are searched, token by token.

With vocabulary {a, ac} and the grammar ``ab | ac``, the token ``a`` is allowed by the grammar, but leads nowhere: only
``ac`` is offered.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..automaton.machine import Machine
from ..automaton.memory import (
    ACCEPTING,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    DEAD,
    END_CALL,
    END_EDGE,
    END_EPSILON,
    END_ITEM,
    FINAL,
    FIRST_CALL,
    FIRST_EDGE,
    FIRST_EPSILON,
    FIRST_ITEM,
    FLAGS,
    ITEMS,
    MASK_ROW,
    MASKS,
    NUM_WORDS,
    STACK_EDGES,
    STACK_WORDS,
    STACKS,
    STATE_FLAGS,
    Memory,
    words_of,
)
from ..automaton.network import Network
from ..automaton.productive import reach_end
from ..automaton.verbatim import spread_writable
from ..errors import LimitExceeded
from ..ir.private import SPECIAL_MARK
from ..vocabulary import Vocabulary
from ..vocabulary.bitmask import TokenBitmask, allocate_token_bitmask, allowed_token_ids
from .walk import consume_agreed, fill_bitmask

__all__ = ["Spelling"]

BoolArray = npt.NDArray[np.bool_]


def writable_states(network: Network, singles: BoolArray) -> BoolArray:
    """(S + states of documents,) whether the end of the rule can be reached over bytes of ``singles`` alone."""
    documents = np.zeros(network.num_verbatim_states, np.bool_)
    if len(documents):
        spread_writable(network.verbatim_states, network.verbatim_edges, singles, documents)
    states, spans = network.states, network.byte_edges[:, 0]
    counts = np.concatenate(([0], np.cumsum(singles)))
    usable = counts[(spans >> 8) + 1] > counts[spans & 0xFF]
    everywhere = np.arange(network.num_states, dtype=np.int32)
    sources = np.repeat(everywhere, states[:, END_EDGE] - states[:, FIRST_EDGE])[usable]
    epsilon_sources = np.repeat(everywhere, states[:, END_EPSILON] - states[:, FIRST_EPSILON])
    callers = np.repeat(everywhere, states[:, END_CALL] - states[:, FIRST_CALL])
    callees = np.maximum(network.call_edges[:, 0], np.int32(-1))  # a guard may agree
    enters = callees >= network.num_states
    writable = documents[callees[enters] - network.num_states]
    nowhere = network.num_states  # a state without an end
    callees[enters] = np.where(writable, np.int32(-1), np.int32(nowhere))
    reaches = reach_end(
        np.append(states[:, STATE_FLAGS] & FINAL != 0, False),
        np.concatenate((sources, epsilon_sources)),
        np.concatenate((network.byte_edges[usable, 1], network.epsilon_edges)),
        callers,
        callees,
        np.ascontiguousarray(network.call_edges[:, 1]),
    )
    return np.concatenate((reaches[:-1], documents))


class Spelling:
    """Which configurations of a machine the vocabulary can bring to an end; asked with the machine's lock held."""

    def __init__(self, machine: Machine, tables: Memory, vocabulary: Vocabulary, writable: BoolArray) -> None:
        self.machine = machine
        self.tables = tables
        self.bitmask = allocate_token_bitmask(1, vocabulary.size)
        self.writable = writable
        self.clean: set[int] = set()  # configurations whose cached bitmask holds no dead end
        self.live: dict[int, bool] = {}
        self.writable_stacks: dict[int, bool] = {}
        self.epoch = machine.epoch

    @classmethod
    def needed(cls, machine: Machine, tables: Memory, vocabulary: Vocabulary) -> Spelling | None:
        """``None`` where there can be no dead ends: every state has a way to its end in bytes that are tokens."""
        if vocabulary.single_bytes.all():
            return None
        network = machine.network
        singles = vocabulary.single_bytes.copy()
        singles[SPECIAL_MARK] = True  # special tokens are there, or the grammar would not compile
        writable = writable_states(network, singles)
        entered = np.zeros(len(writable), np.bool_)
        entered[network.num_states :] = True
        entered[network.start] = True
        for targets in (network.byte_edges[:, 1], network.epsilon_edges, network.call_edges.reshape(-1)):
            entered[targets[targets >= 0]] = True
        return None if writable[entered].all() else cls(machine, tables, vocabulary, writable)

    def drop_dead_ends(self, configuration: int, bitmask: TokenBitmask, row: int) -> None:
        """Clear the tokens behind which there is no way to a complete text, in the row and in the cached bitmask."""
        self._notice_renumbering()
        if configuration in self.clean:
            return
        memory = self.machine.memory
        words = bitmask.view(np.uint32)[row]
        for token_id in allowed_token_ids(bitmask[row]).tolist():
            target = consume_agreed(memory, self.tables, configuration, token_id)
            if target < DEAD:
                self._full()
            if target > 0 and not self.is_live(target):
                words[token_id >> 5] &= np.uint32(~(1 << (token_id & 31)) & 0xFFFFFFFF)
        place = memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration + MASK_ROW]
        if place >= 0:
            first = memory[MASKS] + place * memory[NUM_WORDS]
            words_of(memory)[first : first + memory[NUM_WORDS]] = bitmask[row]
            self.clean.add(configuration)

    def is_live(self, configuration: int) -> bool:
        """Whether tokens lead from here to a complete text. Raises LimitExceeded when the search grows too large."""
        self._notice_renumbering()
        if configuration not in self.live:
            self._search(configuration)
        return self.live[configuration]

    def _notice_renumbering(self) -> None:
        if self.epoch != self.machine.epoch:
            self.live.clear()
            self.writable_stacks.clear()
            self.clean.clear()
            self.epoch = self.machine.epoch

    def _search(self, origin: int) -> None:
        """Depth first; what was seen on the way to a live end is asked again, what was exhausted is dead."""
        seen = {origin}
        parents: dict[int, list[int]] = {origin: []}
        todo = [origin]
        alive: list[int] = []
        while todo:
            configuration = todo.pop()
            if self.live.get(configuration) or self._is_writable(configuration):
                alive.append(configuration)
                break
            if self.live.get(configuration) is False:
                continue
            for target in self._successors(configuration):
                parents.setdefault(target, []).append(configuration)
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
            if len(seen) > self.machine.limits.max_configurations // 2:
                raise LimitExceeded(
                    "max_configurations",
                    self.machine.limits.max_configurations,
                    "finding text that the vocabulary can write",
                )
        if not alive:
            self.live.update(dict.fromkeys(seen, False))
            return
        while alive:
            configuration = alive.pop()
            if not self.live.get(configuration):
                self.live[configuration] = True
                alive.extend(parents.get(configuration, ()))
        self.live.setdefault(origin, True)

    def _is_writable(self, configuration: int) -> bool:
        """Whether it is complete, or some way on needs only bytes that are tokens by themselves."""
        memory = self.machine.memory
        record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
        if memory[record + FLAGS] & ACCEPTING:
            return True
        pairs = ((memory[ITEMS] + 2 * item) for item in range(memory[record + FIRST_ITEM], memory[record + END_ITEM]))
        return any(self.writable[memory[pair]] and self._stack_is_writable(int(memory[pair + 1])) for pair in pairs)

    def _stack_is_writable(self, stack: int) -> bool:
        """Whether some stack of the set has only return states that are writable: from the bottom up, no recursion."""
        memory = self.machine.memory
        todo = [stack]
        while todo:
            one = todo[-1]
            record = memory[STACKS] + STACK_WORDS * one
            pairs = [memory[STACK_EDGES] + 2 * edge for edge in range(memory[record], memory[record + 1])]
            below = [int(memory[pair + 1]) for pair in pairs if memory[pair] < 0 or self.writable[memory[pair]]]
            missing = [other for other in below if other not in self.writable_stacks]
            if missing:
                todo.extend(missing)
                continue
            self.writable_stacks[one] = bool(memory[record + 2]) or any(self.writable_stacks[other] for other in below)
            todo.pop()
        return self.writable_stacks[stack]

    def _successors(self, configuration: int) -> set[int]:
        """The configurations that one token leads to."""
        memory = self.machine.memory
        status = fill_bitmask(memory, self.tables, configuration, self.bitmask, 0)
        if status < 0:
            self._full()
        found = set()
        for token_id in allowed_token_ids(self.bitmask[0]):
            target = consume_agreed(memory, self.tables, configuration, int(token_id))
            if target < DEAD:
                self._full()
            if target > 0:
                found.add(int(target))
        return found

    def _full(self) -> None:
        limits = self.machine.limits
        raise LimitExceeded(
            "max_configurations", limits.max_configurations, "finding text that the vocabulary can write"
        )
