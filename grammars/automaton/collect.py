"""Makes room when a table is full: keeps the configurations still in use and slides them together.

Stack sets and configurations keep their order, so what was sorted stays sorted and equal stays equal; transitions and
bitmasks are dropped and computed again when needed. No result changes.
"""

from __future__ import annotations

from ..ir.nodes import Int32Array
from ..jit import kernel, subroutine
from .configurations import open_transitions, rehash_configurations
from .memory import (
    ACCEPTING,
    CONFIGURATION_TABLE_SIZE,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    END_ITEM,
    FIRST_ITEM,
    FLAGS,
    GUARDED_WORDS,
    HASH,
    ITEMS,
    MASK_ROW,
    NUM_CONFIGURATIONS,
    NUM_ITEMS,
    NUM_MASKS,
    NUM_PENDING,
    NUM_SETS,
    NUM_STACK_EDGES,
    NUM_STACKS,
    SET_WIDTH,
    SET_WORDS,
    SETS,
    SMALLEST_TABLE,
    STACK_EDGES,
    STACK_TABLE_SIZE,
    STACK_WORDS,
    STACKS,
    UNION_SLOTS,
    UNION_TOP,
    UNION_WORDS,
    UNIONS,
    VIEW_SLOTS,
    VIEWS,
    Memory,
)
from .registers import rehash_sets
from .stacks import rehash_stacks
from .words import copy_forward, fill, mix

__all__ = ["collect"]


@subroutine
def mark_stacks(memory: Memory, live: Int32Array, marks: Int32Array) -> None:
    """Set ``marks`` to 1 for the stack sets that a live configuration can reach. A set below has the smaller id."""
    marks[0] = 1
    for index in range(len(live)):
        record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * live[index]
        for item in range(memory[record + FIRST_ITEM], memory[record + END_ITEM]):
            marks[memory[memory[ITEMS] + 2 * item + 1]] = 1
    for stack in range(memory[NUM_STACKS] - 1, -1, -1):
        if marks[stack]:
            record = memory[STACKS] + STACK_WORDS * stack
            for edge in range(memory[record], memory[record + 1]):
                marks[memory[memory[STACK_EDGES] + 2 * edge + 1]] = 1


@subroutine
def slide_sets(memory: Memory, marks: Int32Array, new_ids: Int32Array) -> None:
    """Keep the sets of registers that marked stack sets hold, in the same order; ``new_ids``: their new ids by old."""
    if memory[NUM_SETS] == 0:
        return
    new_ids[0] = 1
    edges = memory[STACK_EDGES]
    for stack in range(memory[NUM_STACKS]):
        if marks[stack]:
            record = memory[STACKS] + STACK_WORDS * stack
            for edge in range(memory[record], memory[record + 1]):
                if memory[edges + 2 * edge] < 0:
                    new_ids[-2 - memory[edges + 2 * edge]] = 1
    size = SET_WORDS + memory[SET_WIDTH]
    num_sets = 0
    for set_id in range(memory[NUM_SETS]):
        if new_ids[set_id]:
            copy_forward(memory, memory[SETS] + size * num_sets, memory[SETS] + size * set_id, size)
            new_ids[set_id] = num_sets
            num_sets += 1
    memory[NUM_SETS] = num_sets
    rehash_sets(memory)


@subroutine
def slide_stacks(memory: Memory, marks: Int32Array, new_sets: Int32Array) -> None:
    """Keep the marked stack sets; ``marks`` becomes the new id of each."""
    stacks, edges = memory[STACKS], memory[STACK_EDGES]
    num_stacks = num_edges = 0
    for stack in range(memory[NUM_STACKS]):
        if not marks[stack]:
            continue
        old, new = stacks + STACK_WORDS * stack, stacks + STACK_WORDS * num_stacks
        first, end, holds_empty = memory[old], memory[old + 1], memory[old + 2]
        code = mix(holds_empty + 7, end - first)
        memory[new] = num_edges
        for edge in range(first, end):
            below = marks[memory[edges + 2 * edge + 1]]
            return_state = memory[edges + 2 * edge]
            if return_state < 0:  # the set of a register
                return_state = -2 - new_sets[-2 - return_state]
            memory[edges + 2 * num_edges] = return_state
            memory[edges + 2 * num_edges + 1] = below
            code = mix(mix(code, return_state), below)
            num_edges += 1
        memory[new + 1] = num_edges
        memory[new + 2] = holds_empty
        memory[new + 3] = code
        marks[stack] = num_stacks
        num_stacks += 1
    memory[NUM_STACKS] = num_stacks
    memory[NUM_STACK_EDGES] = num_edges
    memory[UNION_TOP] = 0
    fill(memory, memory[UNIONS], memory[UNIONS] + UNION_WORDS * UNION_SLOTS, -1)
    memory[STACK_TABLE_SIZE] = SMALLEST_TABLE
    rehash_stacks(memory)


@subroutine
def slide_configurations(memory: Memory, live: Int32Array, new_stacks: Int32Array) -> None:
    """Keep the live configurations (ascending ids): ``live[i]`` becomes i + 1."""
    items, records = memory[ITEMS], memory[CONFIGURATIONS]
    num_items = 0
    for index in range(len(live)):
        old, new = records + CONFIGURATION_WORDS * live[index], records + CONFIGURATION_WORDS * (index + 1)
        first, end = memory[old + FIRST_ITEM], memory[old + END_ITEM]
        copy_forward(memory, new, old, CONFIGURATION_WORDS)
        memory[new + FIRST_ITEM] = num_items
        code = mix(memory[new + FLAGS] & ACCEPTING, 17)
        for item in range(first, end):
            stack = new_stacks[memory[items + 2 * item + 1]]
            memory[items + 2 * num_items] = memory[items + 2 * item]
            memory[items + 2 * num_items + 1] = stack
            code = mix(mix(code, memory[items + 2 * num_items]), stack)
            num_items += 1
        memory[new + END_ITEM] = num_items
        memory[new + HASH] = code
        memory[new + MASK_ROW] = -1
    memory[NUM_ITEMS] = num_items
    memory[NUM_CONFIGURATIONS] = len(live) + 1
    memory[NUM_MASKS] = 0
    memory[NUM_PENDING] = 0
    memory[GUARDED_WORDS] = 0
    fill(memory, memory[VIEWS], memory[VIEWS] + VIEW_SLOTS, 0)
    memory[CONFIGURATION_TABLE_SIZE] = SMALLEST_TABLE
    rehash_configurations(memory)
    for index in range(len(live)):
        open_transitions(memory, index + 1)


@kernel
def collect(memory: Memory, live: Int32Array, new_stacks: Int32Array, new_sets: Int32Array) -> None:
    """Keep the configurations ``live`` (ascending ids, distinct); afterwards ``live[i]`` has the id i + 1.

    ``new_stacks`` and ``new_sets``, a word for each stack set and set of a register and one more, come as zeros.
    """
    mark_stacks(memory, live, new_stacks)
    slide_sets(memory, new_stacks, new_sets)
    slide_stacks(memory, new_stacks, new_sets)
    slide_configurations(memory, live, new_stacks)
