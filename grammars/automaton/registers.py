"""Registers: which of a few things have been, wherever they come in any order.

A register rides on the return stacks: opening it pushes a frame whose return state is ``-2 - set``, the id of a set of
elements; noting an element replaces the frame; closing pops it. So a text that may still be read in several ways has a
register for each, and equal sets are one id. It says which names an object has had when its properties come in any
order, and which values a list of distinct ones.

A set is a record of SET_WORDS words and SET_WIDTH more of BITS bits each: how many elements, how many without a bit
(names beyond the declared ones, counted as far as it matters), hash. Only these kernels write SETS and SET_TABLE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..ir.nodes import ANOTHER_ELEMENT, FIRST_ELEMENT, Int32Array, Register
from ..jit import inlined, subroutine
from .memory import (
    FULL_REGISTERS,
    MAX_SETS,
    NUM_SETS,
    REGISTER_WORDS,
    REGISTERS,
    SET_TABLE,
    SET_TABLE_SIZE,
    SET_WIDTH,
    SET_WORDS,
    SETS,
    STACK_EDGES,
    STACK_WORDS,
    STACKS,
    UNION_SCRATCH,
    Memory,
)
from .stacks import find_or_add, push, union
from .words import copy_forward, fill, hash_words, mix, rehash, same_words

__all__ = [
    "BITS",
    "add_element",
    "clear_sets",
    "find_or_add_set",
    "is_complete",
    "open_register",
    "register_table",
    "rehash_sets",
    "set_width",
    "stacks_that_take",
]

BITS: Final = 30
NO_STACK: Final = -1

# offsets inside the record of a register
SIZE: Final = 0  # how many elements have a bit
LEAST: Final = 1  # elements needed to close
MOST: Final = 2  # elements at most, -1: no limit
TAKES_OTHERS: Final = 3
COUNT_OTHERS_TO: Final = 4  # more elements without a bit are all the same


@inlined
def set_of_frame(memory: Memory, edge: int) -> int:
    """Where the record of the set lies that is the return state of a stack's edge."""
    set_id = -2 - memory[memory[STACK_EDGES] + 2 * edge]
    return memory[SETS] + (SET_WORDS + memory[SET_WIDTH]) * set_id


@subroutine
def clear_sets(memory: Memory) -> None:
    """Forget all sets but set 0, the empty one."""
    fill(memory, memory[SET_TABLE], memory[SET_TABLE] + memory[SET_TABLE_SIZE], 0)
    memory[NUM_SETS] = 0
    if memory[MAX_SETS] > 0:
        fill(memory, memory[SETS], memory[SETS] + SET_WORDS + memory[SET_WIDTH], 0)
        find_or_add_set(memory)


@subroutine
def rehash_sets(memory: Memory) -> None:
    """Enter every set anew."""
    width = SET_WORDS + memory[SET_WIDTH]
    rehash(memory, memory[SET_TABLE], memory[SET_TABLE_SIZE], memory[SETS], width, 2, memory[NUM_SETS])


@subroutine
def find_or_add_set(memory: Memory) -> int:
    """The id of the set whose record was written just past the last; FULL_REGISTERS when out of room."""
    size = SET_WORDS + memory[SET_WIDTH]
    candidate = memory[SETS] + size * memory[NUM_SETS]
    code = mix(memory[candidate], memory[candidate + 1])
    code = hash_words(memory, code, candidate + SET_WORDS, candidate + size)
    memory[candidate + 2] = code
    table, slots = memory[SET_TABLE], memory[SET_TABLE_SIZE]
    slot = code & (slots - 1)
    while memory[table + slot] != 0:
        known = memory[table + slot] - 1
        if same_words(memory, memory[SETS] + size * known, candidate, size):
            return known
        slot = (slot + 1) & (slots - 1)
    if memory[NUM_SETS] + 2 > memory[MAX_SETS]:  # one record more is for the next candidate
        return FULL_REGISTERS
    memory[table + slot] = memory[NUM_SETS] + 1
    memory[NUM_SETS] += 1
    return memory[NUM_SETS] - 1


@inlined
def holds(memory: Memory, record: int, element: int) -> bool:
    """Whether a set, or the required elements of a register, hold an element; ``record``: the first word of bits."""
    return memory[record + element // BITS] >> (element % BITS) & 1 != 0


@subroutine
def num_missing(memory: Memory, register: int, record: int) -> int:
    """How many required elements of a register a set lacks."""
    missing = 0
    for word in range(memory[SET_WIDTH]):
        left = memory[register + REGISTER_WORDS + word] & ~memory[record + SET_WORDS + word]
        while left:
            left &= left - 1
            missing += 1
    return missing


@subroutine
def takes(memory: Memory, register: int, record: int, element: int) -> bool:
    """Whether a set can take an element so that the register can still be closed."""
    most, count = memory[register + MOST], memory[record]
    if element in (FIRST_ELEMENT, ANOTHER_ELEMENT):
        if (count == 0) != (element == FIRST_ELEMENT):
            return False
        missing = num_missing(memory, register, record)
        if missing > 0:
            return True
        others = memory[register + TAKES_OTHERS] != 0
        room = most < 0 or count < most
        return room and (others or count - memory[record + 1] < memory[register + SIZE])
    if element >= 0 and holds(memory, record + SET_WORDS, element):
        return False
    if most < 0:
        return True
    missing = num_missing(memory, register, record)
    if element >= 0 and holds(memory, register + REGISTER_WORDS, element):
        missing -= 1
    return count + 1 + missing <= most


@inlined
def register_record(memory: Memory, register: int) -> int:
    """Where a register is described."""
    return memory[REGISTERS] + (REGISTER_WORDS + memory[SET_WIDTH]) * register


@inlined
def open_register(memory: Memory, stack: int) -> int:
    """The stacks with an empty set on top."""
    return push(memory, -2, stack)


@subroutine
def stacks_that_take(memory: Memory, stack: int, register: int, element: int) -> int:
    """Those stacks whose set can take an element, NO_STACK if there are none, or what is full."""
    record = register_record(memory, register)
    frames = memory[STACKS] + STACK_WORDS * stack
    first, end = memory[frames], memory[frames + 1]
    candidate = memory[UNION_SCRATCH]  # no union is under way
    count = 0
    for edge in range(first, end):
        if takes(memory, record, set_of_frame(memory, edge), element):
            pair = memory[STACK_EDGES] + 2 * edge
            memory[candidate + 2 * count] = memory[pair]
            memory[candidate + 2 * count + 1] = memory[pair + 1]
            count += 1
    if count == end - first:
        return stack
    if count == 0:
        return NO_STACK
    return find_or_add(memory, candidate, count, 0)


@subroutine
def add_element(memory: Memory, stack: int, register: int, element: int, counts: bool) -> int:
    """The stacks with an element noted in the set on top (and counted, if ``counts``), or what is full."""
    register = register_record(memory, register)
    frames = memory[STACKS] + STACK_WORDS * stack
    size = SET_WORDS + memory[SET_WIDTH]
    result = NO_STACK
    for edge in range(memory[frames], memory[frames + 1]):
        known = set_of_frame(memory, edge)
        below = memory[memory[STACK_EDGES] + 2 * edge + 1]
        fresh = memory[SETS] + size * memory[NUM_SETS]
        copy_forward(memory, fresh, known, size)
        if element >= 0:
            memory[fresh] += 1 if counts else 0
            memory[fresh + SET_WORDS + element // BITS] |= 1 << (element % BITS)
        elif memory[fresh + 1] < memory[register + COUNT_OTHERS_TO]:
            memory[fresh] += 1
            memory[fresh + 1] += 1
        set_id = find_or_add_set(memory)
        if set_id < 0:
            return set_id
        pushed = push(memory, -2 - set_id, below)
        if pushed >= 0 and result >= 0 and pushed != result:
            pushed = union(memory, result, pushed)
        if pushed < 0:
            return pushed
        result = pushed
    return result


@inlined
def is_complete(memory: Memory, edge: int, register: int) -> bool:
    """Whether the set of a stack's edge has all that closing the register needs."""
    record = register_record(memory, register)
    known = set_of_frame(memory, edge)
    return memory[known] >= memory[record + LEAST] and num_missing(memory, record, known) == 0


def set_width(registers: Sequence[Register]) -> int:
    """Words of bits that the sets of all registers need."""
    return max((-(-register.size // BITS) for register in registers), default=0)


def register_table(registers: Sequence[Register]) -> Int32Array:
    """The arena REGISTERS."""
    width = set_width(registers)
    table = np.zeros((len(registers), REGISTER_WORDS + width), np.int32)
    for row, register in zip(table, registers, strict=True):
        most = -1 if register.most is None else register.most
        row[:REGISTER_WORDS] = (register.size, register.least, most, register.others, max(most, register.least, 1))
        for element in register.required:
            row[REGISTER_WORDS + element // BITS] |= 1 << (element % BITS)
    return table.reshape(-1)
