"""Stack sets: many return stacks as one shared, hash-consed graph.

A stack set is a list of edges (return state, stack set below), sorted by return state and with no return state
twice, plus a mark whether the empty stack is a member. Equal sets have one id, so a union is looked up, not computed
again, and an ambiguous grammar cannot multiply stacks. Set 0 holds just the empty stack.

Only these kernels write the arenas STACKS, STACK_EDGES, STACK_TABLE, UNIONS and UNION_SCRATCH.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel, recursive_kernel
from .memory import (
    FULL_STACKS,
    MAX_STACK_EDGES,
    MAX_STACKS,
    NUM_STACK_EDGES,
    NUM_STACKS,
    STACK_EDGES,
    STACK_TABLE,
    STACK_TABLE_SIZE,
    STACK_WORDS,
    STACKS,
    TOO_DEEP,
    UNION_SCRATCH,
    UNION_SCRATCH_WORDS,
    UNION_SLOTS,
    UNION_TOP,
    UNION_WORDS,
    UNIONS,
    Memory,
)

__all__ = ["clear_stacks", "find_or_add", "mix", "push", "rehash_stacks", "union"]

MAX_UNION_DEPTH = 20_000


@kernel
def mix(seed: int, value: int) -> int:
    """A 31-bit hash of both; every step stays inside 64 bits, so compiled and plain Python agree."""
    mixed = (seed ^ value) * 0x2545F491 & 0x7FFFFFFF
    return mixed ^ (mixed >> 15)


@kernel
def clear_stacks(memory: Memory) -> None:
    """Forget all stack sets but set 0, the empty stack alone."""
    table, size = memory[STACK_TABLE], memory[STACK_TABLE_SIZE]
    for slot in range(table, table + size):
        memory[slot] = 0
    unions = memory[UNIONS]
    for slot in range(unions, unions + UNION_WORDS * UNION_SLOTS):
        memory[slot] = -1
    memory[NUM_STACKS] = 0
    memory[NUM_STACK_EDGES] = 0
    memory[UNION_TOP] = 0
    find_or_add(memory, memory[UNION_SCRATCH], 0, 1)


@kernel
def rehash_stacks(memory: Memory) -> None:
    """Double the hash table and enter every stack set anew."""
    table = memory[STACK_TABLE]
    size = 2 * memory[STACK_TABLE_SIZE]
    memory[STACK_TABLE_SIZE] = size
    for slot in range(table, table + size):
        memory[slot] = 0
    for stack in range(memory[NUM_STACKS]):
        slot = memory[memory[STACKS] + STACK_WORDS * stack + 3] & (size - 1)
        while memory[table + slot] != 0:
            slot = (slot + 1) & (size - 1)
        memory[table + slot] = stack + 1


@kernel
def find_or_add(memory: Memory, candidate: int, num_edges: int, holds_empty: int) -> int:
    """The id of the set whose edges lie at ``candidate``; FULL_STACKS when out of room."""
    code = mix(holds_empty + 7, num_edges)
    for word in range(candidate, candidate + 2 * num_edges):
        code = mix(code, memory[word])
    stacks, edges = memory[STACKS], memory[STACK_EDGES]
    table, size = memory[STACK_TABLE], memory[STACK_TABLE_SIZE]
    slot = code & (size - 1)
    while memory[table + slot] != 0:
        record = stacks + STACK_WORDS * (memory[table + slot] - 1)
        if memory[record + 3] == code and memory[record + 2] == holds_empty and memory[record + 1] - memory[record] == num_edges:
            known = edges + 2 * memory[record]
            word = 0
            while word < 2 * num_edges and memory[known + word] == memory[candidate + word]:
                word += 1
            if word == 2 * num_edges:
                return memory[table + slot] - 1
        slot = (slot + 1) & (size - 1)
    stack, first = memory[NUM_STACKS], memory[NUM_STACK_EDGES]
    if stack >= memory[MAX_STACKS] or first + num_edges > memory[MAX_STACK_EDGES]:
        return FULL_STACKS
    for word in range(2 * num_edges):
        memory[edges + 2 * first + word] = memory[candidate + word]
    record = stacks + STACK_WORDS * stack
    memory[record] = first
    memory[record + 1] = first + num_edges
    memory[record + 2] = holds_empty
    memory[record + 3] = code
    memory[table + slot] = stack + 1
    memory[NUM_STACKS] = stack + 1
    memory[NUM_STACK_EDGES] = first + num_edges
    if 2 * (stack + 1) >= size:
        rehash_stacks(memory)
    return stack


@kernel
def push(memory: Memory, return_state: int, below: int) -> int:
    """The set of all stacks of ``below`` with ``return_state`` put on top."""
    candidate = memory[UNION_SCRATCH] + memory[UNION_TOP]
    memory[candidate] = return_state
    memory[candidate + 1] = below
    return find_or_add(memory, candidate, 1, 0)


@recursive_kernel("int64(int32[::1], int64, int64, int64)")
def union(memory: Memory, left: int, right: int, depth: int) -> int:
    """The set of the stacks of both; ``depth`` starts at 0 and bounds the recursion (TOO_DEEP)."""
    if left == right:
        return left
    if left > right:
        left, right = right, left
    memo = memory[UNIONS] + UNION_WORDS * (mix(left, right) & (UNION_SLOTS - 1))
    if memory[memo] == left and memory[memo + 1] == right:
        return memory[memo + 2] + 0
    if depth > MAX_UNION_DEPTH:
        return TOO_DEEP
    left_record, right_record = memory[STACKS] + STACK_WORDS * left, memory[STACKS] + STACK_WORDS * right
    i, left_end = memory[left_record], memory[left_record + 1]
    j, right_end = memory[right_record], memory[right_record + 1]
    # Merged edges wait in scratch: the unions of the sets below add stack sets of their own meanwhile.
    bottom = memory[UNION_TOP]
    top = bottom
    if bottom + 2 * (left_end - i + right_end - j) > UNION_SCRATCH_WORDS:
        return TOO_DEEP
    memory[UNION_TOP] = bottom + 2 * (left_end - i + right_end - j)
    edges, scratch = memory[STACK_EDGES], memory[UNION_SCRATCH]
    while i < left_end or j < right_end:
        if j >= right_end or (i < left_end and memory[edges + 2 * i] < memory[edges + 2 * j]):
            memory[scratch + top] = memory[edges + 2 * i]
            memory[scratch + top + 1] = memory[edges + 2 * i + 1]
            i += 1
        elif i >= left_end or memory[edges + 2 * j] < memory[edges + 2 * i]:
            memory[scratch + top] = memory[edges + 2 * j]
            memory[scratch + top + 1] = memory[edges + 2 * j + 1]
            j += 1
        else:
            # int64 keeps the recursion to one compiled signature
            below = union(memory, np.int64(memory[edges + 2 * i + 1]), np.int64(memory[edges + 2 * j + 1]), depth + 1)
            if below < 0:
                memory[UNION_TOP] = bottom
                return below
            memory[scratch + top] = memory[edges + 2 * i]
            memory[scratch + top + 1] = below
            i += 1
            j += 1
        top += 2
    memory[UNION_TOP] = bottom
    result = find_or_add(memory, scratch + bottom, (top - bottom) // 2, memory[left_record + 2] | memory[right_record + 2])
    if result >= 0:
        memory[memo] = left
        memory[memo + 1] = right
        memory[memo + 2] = result
    return result
