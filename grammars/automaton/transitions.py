"""The lazily built DFA: one step, filled in when first asked for."""

from __future__ import annotations

from ..jit import kernel
from .configurations import add_item, clear_configurations, close_closure, open_closure
from .memory import (
    ACCEPTING,
    BYTE_EDGES,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    COUNT_STEPS,
    DEAD,
    END_EDGE,
    END_ITEM,
    FIRST_EDGE,
    FIRST_ITEM,
    FLAGS,
    ITEMS,
    NUM_MASKS,
    START,
    START_STATE,
    STATE_WORDS,
    STATES,
    TRANSITIONS,
    UNKNOWN,
    Memory,
)
from .stacks import clear_stacks

__all__ = ["forced_bytes", "next_configuration", "run_bytes", "start"]


@kernel
def start(memory: Memory) -> int:
    """Clear all tables and make the first configuration; its id, DEAD when the language is empty, or what is full."""
    clear_stacks(memory)
    clear_configurations(memory)
    memory[NUM_MASKS] = 0
    open_closure(memory)
    add_item(memory, memory[START_STATE], 0)
    first = close_closure(memory)
    memory[START] = first
    return first


@kernel
def compute_transition(memory: Memory, configuration: int, byte: int) -> int:
    """Take one byte and remember where it leads, for every byte that no edge tells apart from it."""
    memory[COUNT_STEPS] += 1
    states, edges, items = memory[STATES], memory[BYTE_EDGES], memory[ITEMS]
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    lowest, highest = 0, 255
    open_closure(memory)
    for item in range(memory[record + FIRST_ITEM], memory[record + END_ITEM]):
        state = states + STATE_WORDS * memory[items + 2 * item]
        stack = memory[items + 2 * item + 1]
        for edge in range(memory[state + FIRST_EDGE], memory[state + END_EDGE]):
            span = memory[edges + 2 * edge]
            low, high = span & 0xFF, span >> 8
            # plain comparisons: numba compiles min and max as functions of their own
            if byte < low:
                highest = low - 1 if low <= highest else highest
            elif byte > high:
                lowest = high + 1 if high >= lowest else lowest
            else:
                lowest = max(lowest, low)
                highest = min(highest, high)
                status = add_item(memory, memory[edges + 2 * edge + 1], stack)
                if status < 0:
                    return status
    target = close_closure(memory)
    if target >= DEAD:
        row = memory[TRANSITIONS] + 256 * configuration
        for other in range(row + lowest, row + highest + 1):
            memory[other] = target
    return target


@kernel
def next_configuration(memory: Memory, configuration: int, byte: int) -> int:
    """Where the byte leads: a configuration, DEAD, or what is full."""
    target = memory[memory[TRANSITIONS] + 256 * configuration + byte]
    if target == UNKNOWN:
        target = compute_transition(memory, configuration, byte)
    return target


@kernel
def run_bytes(memory: Memory, configuration: int, data: Memory, first: int, end: int) -> int:
    """Take ``data[first:end]``, one byte a word, from ``configuration``."""
    for index in range(first, end):
        configuration = next_configuration(memory, configuration, data[index])
        if configuration < 0:
            break
    return configuration


@kernel
def forced_bytes(memory: Memory, configuration: int, output: Memory) -> int:
    """Write the bytes that have no alternative into ``output``; how many, or what is full.

    It ends where the text may stop, where two bytes are possible, or when ``output`` is full.
    """
    count = 0
    while count < len(output):
        if memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration + FLAGS] & ACCEPTING:
            break
        only = -1
        for byte in range(256):
            if memory[memory[TRANSITIONS] + 256 * configuration + byte] != DEAD:
                if only >= 0:
                    return count
                only = byte
        if only < 0:
            break
        configuration = next_configuration(memory, configuration, only)
        if configuration < 0:
            return configuration
        output[count] = only
        count += 1
    return count
