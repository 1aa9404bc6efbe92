"""The lazily built DFA: one step, filled in when first asked for."""

from __future__ import annotations

from ..jit import inlined, kernel, subroutine
from .configurations import add_item, clear_configurations, close_closure, open_closure
from .memory import (
    ACCEPTING,
    BLOCKED,
    BYTE_EDGES,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    COUNT_STEPS,
    DEAD,
    END_EDGE,
    END_ITEM,
    FIRST_EDGE,
    FIRST_GUARDED,
    FIRST_ITEM,
    FIRST_VERBATIM,
    FLAGS,
    FULL_GUARDED,
    GUARDED,
    GUARDED_WORDS,
    ITEMS,
    MAX_GUARDED_WORDS,
    NUM_MASKS,
    NUM_PASSED,
    NUM_PENDING,
    PASSED,
    START,
    START_STATE,
    STATE_WORDS,
    STATES,
    TRANSITIONS,
    UNKNOWN,
    Memory,
)
from .registers import clear_sets
from .stacks import clear_stacks
from .verbatim import read
from .words import fill

__all__ = [
    "filtered_transition",
    "forced_bytes",
    "guarded_target",
    "run_bytes",
    "run_to_guard",
    "start",
    "transition",
]


@kernel
def start(memory: Memory) -> int:
    """Clear all tables and make the first configuration; its id, DEAD when the language is empty, or what is full."""
    clear_stacks(memory)
    clear_sets(memory)
    clear_configurations(memory)
    memory[NUM_MASKS] = 0
    memory[NUM_PENDING] = 0
    memory[GUARDED_WORDS] = 0
    open_closure(memory)
    add_item(memory, memory[START_STATE], 0)
    first = close_closure(memory)
    memory[START] = first
    return first


@subroutine
def add_guarded(memory: Memory, target: int) -> int:
    """Note that the way to ``target`` hangs on the guards that the closure passed; the code of the note."""
    count = memory[NUM_PASSED]
    place = memory[GUARDED_WORDS]
    if place + 2 + count > memory[MAX_GUARDED_WORDS]:
        return FULL_GUARDED
    words = memory[GUARDED] + place
    memory[words] = target
    memory[words + 1] = count
    for index in range(count):
        memory[words + 2 + index] = memory[memory[PASSED] + index]
    memory[GUARDED_WORDS] = place + 2 + count
    return FIRST_GUARDED - place


@kernel
def guarded_target(memory: Memory, code: int) -> int:
    """Where a guarded transition leads when every guard agrees."""
    return memory[memory[GUARDED] + FIRST_GUARDED - code]


@subroutine
def compute_transition(memory: Memory, configuration: int, byte: int) -> int:
    """Take one byte and remember where it leads, for every byte that no edge tells apart from it.

    The result is a configuration, DEAD, what is full, or at most FIRST_GUARDED: a transition that hangs on guards.
    """
    memory[COUNT_STEPS] += 1
    states, edges, items = memory[STATES], memory[BYTE_EDGES], memory[ITEMS]
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    lowest, highest = 0, 255
    open_closure(memory)
    for item in range(memory[record + FIRST_ITEM], memory[record + END_ITEM]):
        number, stack = memory[items + 2 * item], memory[items + 2 * item + 1]
        if number >= memory[FIRST_VERBATIM]:
            lowest, highest = byte, byte
            after = read(memory, number, byte)
            status = add_item(memory, after, stack) if after >= 0 else 0
            if status < 0:
                return status
            continue
        state = states + STATE_WORDS * number
        for edge in range(memory[state + FIRST_EDGE], memory[state + END_EDGE]):
            span = memory[edges + 2 * edge]
            low, high = span & 0xFF, span >> 8
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
    if target > 0 and memory[NUM_PASSED] > 0:
        target = add_guarded(memory, target)
    if target >= DEAD or target <= FIRST_GUARDED:
        row = memory[TRANSITIONS] + 256 * configuration
        fill(memory, row + lowest, row + highest + 1, target)
    return target


@inlined
def transition(memory: Memory, configuration: int, byte: int) -> int:
    """Where a byte leads: a configuration, DEAD, what is full, or at most FIRST_GUARDED."""
    target = memory[memory[TRANSITIONS] + 256 * configuration + byte]
    return compute_transition(memory, configuration, byte) if target == UNKNOWN else target


@kernel
def filtered_transition(memory: Memory, configuration: int, byte: int, blocked: Memory) -> int:
    """Where the byte leads when the guards in ``blocked`` do not agree: only the stacks through them are lost.

    Nothing is remembered. A configuration, DEAD, or what is full.
    """
    states, edges, items = memory[STATES], memory[BYTE_EDGES], memory[ITEMS]
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    for index in range(len(blocked)):
        memory[memory[BLOCKED] + blocked[index]] = 1
    open_closure(memory)
    status = 0
    for item in range(memory[record + FIRST_ITEM], memory[record + END_ITEM]):
        number = memory[items + 2 * item]
        if number >= memory[FIRST_VERBATIM]:
            after = read(memory, number, byte)
            if status >= 0 and after >= 0:
                status = add_item(memory, after, memory[items + 2 * item + 1])
            continue
        state = states + STATE_WORDS * number
        for edge in range(memory[state + FIRST_EDGE], memory[state + END_EDGE]):
            span = memory[edges + 2 * edge]
            if status >= 0 and span & 0xFF <= byte <= span >> 8:
                status = add_item(memory, memory[edges + 2 * edge + 1], memory[items + 2 * item + 1])
    if status >= 0:
        status = close_closure(memory)
    for index in range(len(blocked)):
        memory[memory[BLOCKED] + blocked[index]] = 0
    return status


@kernel
def run_bytes(memory: Memory, configuration: int, data: Memory, first: int, end: int) -> int:
    """Take ``data[first:end]``, one byte a word, from ``configuration``.

    A configuration, DEAD, what is full, or at most FIRST_GUARDED when a byte hangs on guards.
    """
    for index in range(first, end):
        configuration = transition(memory, configuration, data[index])
        if configuration < 0:
            break
    return configuration


@kernel
def run_to_guard(memory: Memory, configuration: int, data: Memory, first: int, end: int, stopped: Memory) -> int:
    """Take ``data[first:end]`` up to the first byte that hangs on guards, whose index ``stopped[0]`` becomes.

    Where there is none, ``stopped[0]`` becomes ``end``. The configuration before that byte, DEAD, or what is full.
    """
    stopped[0] = end
    for index in range(first, end):
        target = transition(memory, configuration, data[index])
        if target <= FIRST_GUARDED:
            stopped[0] = index
            break
        configuration = target
        if target < 0:
            break
    return configuration


@subroutine
def only_byte(memory: Memory, configuration: int) -> int:
    """The one byte that has a way on, -1 if there are none or several."""
    row = memory[TRANSITIONS] + 256 * configuration
    only = -1
    for byte in range(256):
        if memory[row + byte] != DEAD:
            if only >= 0:
                return -1
            only = byte
    return only


@kernel
def forced_bytes(memory: Memory, configuration: int, output: Memory) -> int:
    """Write the bytes that have no alternative into ``output``; how many, or what is full.

    It ends where the text may stop, where two bytes are possible, at a guard, or when ``output`` is full.
    """
    count = 0
    while count < len(output):
        if memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration + FLAGS] & ACCEPTING:
            break
        only = only_byte(memory, configuration)
        if only < 0:
            break
        target = transition(memory, configuration, only)
        if target <= FIRST_GUARDED:
            break
        if target < 0:
            return target
        configuration = target
        output[count] = only
        count += 1
    return count
