"""The machine of one compiled grammar: its memory, and the one place that makes room in it.

Who may write: whoever holds the machine's ``lock``. Matchers take it around every kernel call and what they do with
the ids that come back, since making room renumbers them; so any number of threads can share a compiled grammar. The
one kernel that releases the interpreter lock (:mod:`grammars.masks.batch`) runs on machines that only its thread uses.
"""

from __future__ import annotations

from threading import RLock
from typing import Protocol
from weakref import WeakSet, finalize

import numpy as np

from ..errors import LimitExceeded
from ..limits import Limits
from ..masks.walk import forget_masks
from .collect import collect
from .memory import (
    BLOCKED,
    BYTE_EDGES,
    CALL_EDGES,
    CLOSURE,
    CLOSURE_QUEUE,
    CLOSURE_STATES,
    CLOSURE_WORDS,
    EPSILON_EDGES,
    FIRST_VERBATIM,
    FULL_CONFIGURATIONS,
    FULL_GUARDED,
    FULL_ITEMS,
    FULL_MASKS,
    FULL_PENDING,
    FULL_REGISTERS,
    MAX_CONFIGURATIONS,
    MAX_ITEMS,
    MAX_SETS,
    MAX_STACKS,
    MOST_VERBATIM_WORK,
    NUM_CONFIGURATIONS,
    NUM_ITEMS,
    NUM_SETS,
    NUM_STACKS,
    NUM_STATES,
    NUM_VERBATIMS,
    PASSED,
    REGISTERS,
    SET_TABLE,
    SET_TABLE_SIZE,
    SET_WIDTH,
    SET_WORDS,
    SETS,
    START,
    START_STATE,
    STATES,
    STEPS,
    TOO_DEEP,
    VERBATIM_EDGES,
    VERBATIM_ROOTS,
    VERBATIM_SLICES,
    VERBATIM_STATES,
    VERBATIM_WORK,
    VERBATIM_WORK_WORDS,
    Memory,
    allocate,
    pool,
    round_up_power,
    wrap,
)
from .network import Network
from .registers import register_table, set_width
from .transitions import start

__all__ = ["Machine", "Tenant"]


class Tenant(Protocol):
    """Whoever holds configuration ids across calls: it is asked for them, and told their new values."""

    def live_configurations(self) -> list[int]:
        """The ids that must survive."""
        ...

    def renumber(self, new_ids: dict[int, int]) -> None:
        """Replace every id held; those not in ``new_ids`` are gone."""
        ...


class Machine:
    """A network at work: lazily built configurations, transitions and bitmasks in one memory."""

    def __init__(self, network: Network, num_words: int, limits: Limits) -> None:
        self.network = network
        self.lock = RLock()
        self.epoch = 0  # counts how often configurations were renumbered or their bitmasks dropped
        self.limits = limits
        self.tenants: WeakSet[Tenant] = WeakSet()
        self.memory: Memory = self._load(network, num_words)
        first = start(self.memory)
        if first < 0:
            raise LimitExceeded("max_items", limits.max_items, "the first step of the grammar")

    def forget_everything(self) -> None:
        """Start afresh; for a machine without tenants."""
        start(self.memory)

    @property
    def start(self) -> int:
        """The first configuration."""
        return int(self.memory[START])

    def _load(self, network: Network, num_words: int) -> Memory:
        num_states = network.num_states + network.num_verbatim_states
        num_documents = len(network.verbatim_roots)
        roots = np.zeros((num_documents, 2), np.int32)
        roots[:, 0] = network.num_states + network.verbatim_roots
        parts = {
            STATES: network.states.reshape(-1),
            BYTE_EDGES: network.byte_edges.reshape(-1),
            EPSILON_EDGES: network.epsilon_edges,
            CALL_EDGES: network.call_edges.reshape(-1),
            STEPS: network.steps.reshape(-1),
            REGISTERS: register_table(network.registers),
            VERBATIM_STATES: network.verbatim_states,
            VERBATIM_EDGES: network.verbatim_edges,
            VERBATIM_ROOTS: roots.reshape(-1),
        }
        width = set_width(network.registers)
        max_sets = self.limits.max_register_sets if network.registers else 0
        table_size = 2 * round_up_power(max_sets)
        blanks = {
            CLOSURE: CLOSURE_WORDS * num_states,
            CLOSURE_QUEUE: num_states,
            CLOSURE_STATES: num_states,
            PASSED: network.num_guards,
            BLOCKED: network.num_guards,
            SETS: (SET_WORDS + width) * max_sets,
            SET_TABLE: table_size,
            VERBATIM_SLICES: num_words * num_documents,
            VERBATIM_WORK: VERBATIM_WORK_WORDS * MOST_VERBATIM_WORK if num_documents else 0,
        }
        size = sum(map(len, parts.values())) + sum(blanks.values())
        memory, offset = allocate(self.limits, num_words, size)
        is_pooled = size <= pool.GRAMMAR_WORDS  # else it holds zeros only, and is not used again
        for arena, part in parts.items():
            memory[arena] = offset
            memory[offset : offset + len(part)] = part
            offset += len(part)
        for arena, length in blanks.items():
            memory[arena] = offset
            if is_pooled and arena not in (SETS, SET_TABLE):  # these are cleared as far as they are used
                memory[offset : offset + length] = 0
            offset += length
        if is_pooled:
            finalize(self, pool.give_back, memory)
        memory[NUM_STATES] = num_states
        memory[FIRST_VERBATIM], memory[NUM_VERBATIMS] = network.num_states, num_documents
        memory[START_STATE] = network.start
        memory[SET_WIDTH], memory[MAX_SETS], memory[SET_TABLE_SIZE] = width, max_sets, table_size
        return wrap(memory)

    def limit_reached(self, status: int) -> LimitExceeded:
        """The error for the status of a kernel that needs more in one step than a whole table holds."""
        limit = {
            FULL_CONFIGURATIONS: "max_configurations",
            FULL_ITEMS: "max_items",
            FULL_MASKS: "max_cached_masks",
            FULL_PENDING: "max_cached_masks",
            FULL_GUARDED: "max_configurations",
            FULL_REGISTERS: "max_register_sets",
        }.get(status, "max_stack_nodes")
        return LimitExceeded(limit, getattr(self.limits, limit), "one step of the grammar, or a text nested too deeply")

    def make_room(self, status: int) -> None:
        """Called with the negative status of a kernel that found a table full; afterwards the kernel can run again.

        Raises :class:`~grammars.errors.LimitExceeded` when what is in use alone fills the table.
        """
        memory, limits = self.memory, self.limits
        if status in (FULL_MASKS, FULL_PENDING):
            forget_masks(memory)
            self.epoch += 1
            return
        if status == TOO_DEEP:
            raise self.limit_reached(status)
        live = {self.start}.union(*(tenant.live_configurations() for tenant in self.tenants))
        kept = np.array(sorted(live), np.int32)
        collect(memory, kept, *(np.zeros(memory[count] + 1, np.int32) for count in (NUM_STACKS, NUM_SETS)))
        self.epoch += 1
        new_ids = {int(old): new for new, old in enumerate(kept, 1)}
        memory[START] = new_ids[self.start]
        for tenant in self.tenants:
            tenant.renumber(new_ids)
        for used, most, limit in (
            (NUM_CONFIGURATIONS, MAX_CONFIGURATIONS, "max_configurations"),
            (NUM_ITEMS, MAX_ITEMS, "max_items"),
            (NUM_STACKS, MAX_STACKS, "max_stack_nodes"),
            (NUM_SETS, MAX_SETS, "max_register_sets"),
        ):
            if memory[used] > memory[most] // 4 * 3:
                raise LimitExceeded(limit, getattr(limits, limit), "the text and its matchers in use")
