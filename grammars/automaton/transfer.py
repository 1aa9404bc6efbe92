"""Carries a configuration from one machine's memory to another's over the same network.

Threads that release the interpreter lock must not write to one memory, so each has its own: a configuration is carried
over (by the thread that holds the lock) and worked on there.
"""

from __future__ import annotations

from ..ir.nodes import Int32Array
from ..jit import kernel, subroutine
from .configurations import find_or_add_configuration
from .memory import (
    ACCEPTING,
    CAPACITY,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    END_ITEM,
    FIRST_ITEM,
    FLAGS,
    FULL_ITEMS,
    ITEMS,
    MAX_ITEMS,
    NUM_ITEMS,
    NUM_SETS,
    SET_WIDTH,
    SET_WORDS,
    SETS,
    STACK_EDGES,
    STACK_WORDS,
    STACKS,
    TOO_DEEP,
    UNION_SCRATCH,
    UNION_SCRATCH_WORDS,
    Memory,
)
from .registers import find_or_add_set
from .stacks import find_or_add
from .words import mix

__all__ = ["transfer"]


@subroutine
def transfer_set(source: Memory, target: Memory, set_id: int) -> int:
    """The id in ``target`` of a set of a register, or FULL_REGISTERS."""
    size = SET_WORDS + source[SET_WIDTH]
    old, new = source[SETS] + size * set_id, target[SETS] + size * target[NUM_SETS]
    for word in range(size):
        target[new + word] = source[old + word]
    return find_or_add_set(target)


@subroutine
def insert_edge(target: Memory, first: int, count: int, return_state: int, below: int) -> None:
    """Put an edge into the ``count`` sorted ones at ``first``: the ids of sets may have another order here."""
    place = first + 2 * count
    while place > first and target[place - 2] > return_state:
        target[place] = target[place - 2]
        target[place + 1] = target[place - 1]
        place -= 2
    target[place] = return_state
    target[place + 1] = below


@subroutine
def transfer_stack(source: Memory, target: Memory, stack: int, known: Int32Array) -> int:
    """The id in ``target`` of a stack set of ``source``; ``known`` (id + 1 each, 0: not yet) is filled bottom-up.

    A set below always has the smaller id, so one pass over ids up to ``stack`` suffices; those not below are skipped.
    """
    needed = known[stack]
    if needed:
        return needed - 1
    # mark what is below, from the top down, as -1; then carry it over from the bottom up
    known[stack] = -1
    for one in range(stack, -1, -1):
        if known[one] == -1:
            record = source[STACKS] + STACK_WORDS * one
            for edge in range(source[record], source[record + 1]):
                below = source[source[STACK_EDGES] + 2 * edge + 1]
                if known[below] == 0:
                    known[below] = -1
    scratch = target[UNION_SCRATCH]
    for one in range(stack + 1):
        if known[one] == -1:
            record = source[STACKS] + STACK_WORDS * one
            count = source[record + 1] - source[record]
            if 2 * count > UNION_SCRATCH_WORDS:
                return TOO_DEEP
            for index in range(count):
                pair = source[STACK_EDGES] + 2 * (source[record] + index)
                return_state = source[pair]
                if return_state < 0:
                    set_id = transfer_set(source, target, -2 - return_state)
                    if set_id < 0:
                        return set_id
                    return_state = -2 - set_id
                insert_edge(target, scratch, index, return_state, known[source[pair + 1]] - 1)
            carried = find_or_add(target, scratch, count, source[record + 2])
            if carried < 0:
                return carried
            known[one] = carried + 1
    return known[stack] - 1


@kernel
def transfer(source: Memory, target: Memory, configuration: int, known: Int32Array) -> int:
    """The id in ``target`` of a configuration of ``source``, added if need be, or what is full there.

    ``known`` (at least as many entries as ``source`` has stack sets, zeros at first) remembers stack sets carried over.
    """
    record = source[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    first, end = source[record + FIRST_ITEM], source[record + END_ITEM]
    if target[NUM_ITEMS] + end - first > target[MAX_ITEMS]:
        return FULL_ITEMS
    base = target[ITEMS] + 2 * target[NUM_ITEMS]
    code = mix(source[record + FLAGS] & ACCEPTING, 17)
    for index in range(end - first):
        item = source[ITEMS] + 2 * (first + index)
        stack = transfer_stack(source, target, source[item + 1], known)
        if stack < 0:
            return stack
        target[base + 2 * index] = source[item]
        target[base + 2 * index + 1] = stack
        code = mix(mix(code, source[item]), stack)
    return find_or_add_configuration(target, end - first, source[record + FLAGS], source[record + CAPACITY], code)
