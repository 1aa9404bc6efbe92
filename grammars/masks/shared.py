"""Configurations that differ only deep down in their stacks share one bitmask.

A token ends few values, so what it may be is told by the topmost frames. A configuration whose stacks are deep is
walked with all below cut off: the lowest frame left returns to a state that there is not, and a walk that comes to it
is given up (:data:`~grammars.automaton.memory.OUT_OF_SIGHT`). So a text may be nested deep and cost no more.
"""

from __future__ import annotations

from typing import Final

from ..automaton.configurations import find_or_add_configuration
from ..automaton.memory import (
    ACCEPTING,
    CAPACITY,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    END_ITEM,
    FIRST_ITEM,
    FLAGS,
    FULL_ITEMS,
    HOLDS_VERBATIM,
    ITEMS,
    MAX_ITEMS,
    NUM_ITEMS,
    NUM_STATES,
    ONLY_TEXT,
    STACK_EDGES,
    STACK_WORDS,
    STACKS,
    WALK_PATH,
    Memory,
)
from ..automaton.stacks import push
from ..automaton.words import mix
from ..jit import subroutine

__all__ = ["seen_from_above"]

FRAMES: Final = 12
"""Frames that are kept. A token ends at most five values in the vocabularies we know, and few frames belong to each."""


@subroutine
def cut_off(memory: Memory, stack: int) -> int:
    """The topmost frames of a single, deep stack, above a frame that returns out of sight; of others the set itself.

    Negative when full.
    """
    here, frames = stack, memory[WALK_PATH]
    for depth in range(FRAMES):
        record = memory[STACKS] + STACK_WORDS * here
        if memory[record + 1] - memory[record] != 1 or memory[record + 2]:
            return stack
        edge = memory[STACK_EDGES] + 2 * memory[record]
        memory[frames + depth] = memory[edge]
        here = memory[edge + 1]
    if here == 0:
        return stack
    here = push(memory, memory[NUM_STATES], 0)
    for depth in range(FRAMES):
        if here < 0:
            return here
        here = push(memory, memory[frames + FRAMES - 1 - depth], here)
    return here


@subroutine
def seen_from_above(memory: Memory, configuration: int) -> int:
    """The configuration with its deep stacks cut off, itself if there are none; negative when full."""
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    first, end = memory[record + FIRST_ITEM], memory[record + END_ITEM]
    if memory[NUM_ITEMS] + end - first > memory[MAX_ITEMS]:
        return FULL_ITEMS
    base = memory[ITEMS] + 2 * memory[NUM_ITEMS]
    code = mix(memory[record + FLAGS] & ACCEPTING, 17)
    is_deep = False
    for index in range(end - first):
        item = memory[ITEMS] + 2 * (first + index)
        stack = cut_off(memory, memory[item + 1])
        if stack < 0:
            return stack
        is_deep = is_deep or stack != memory[item + 1]
        memory[base + 2 * index] = memory[item]
        memory[base + 2 * index + 1] = stack
        code = mix(mix(code, memory[item]), stack)
    if not is_deep:
        return configuration
    flags = memory[record + FLAGS] & (ACCEPTING | ONLY_TEXT | HOLDS_VERBATIM)
    return find_or_add_configuration(memory, end - first, flags, memory[record + CAPACITY], code)
