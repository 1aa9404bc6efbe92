"""Stack sets: many return stacks as one shared, hash-consed graph.

A stack set is a list of edges (return state, stack set below), sorted by return state and with no return state
twice, plus a mark whether the empty stack is a member. Equal sets have one id, so a union is looked up, not computed
again, and an ambiguous grammar cannot multiply stacks. Set 0 holds just the empty stack.

Only these kernels write the arenas STACKS, STACK_EDGES, STACK_TABLE, UNIONS and UNION_SCRATCH.
"""

from __future__ import annotations

from typing import Final

from ..jit import inlined, subroutine
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
from .words import copy_forward, fill, hash_words, mix, rehash, same_words

__all__ = ["clear_stacks", "find_or_add", "push", "rehash_stacks", "union"]

FRAME_WORDS: Final = 6  # of a union under way: parent, left, right, place in left, place in right, edges merged


@subroutine
def clear_stacks(memory: Memory) -> None:
    """Forget all stack sets but set 0, the empty stack alone."""
    fill(memory, memory[STACK_TABLE], memory[STACK_TABLE] + memory[STACK_TABLE_SIZE], 0)
    fill(memory, memory[UNIONS], memory[UNIONS] + UNION_WORDS * UNION_SLOTS, -1)
    memory[NUM_STACKS] = 0
    memory[NUM_STACK_EDGES] = 0
    memory[UNION_TOP] = 0
    find_or_add(memory, memory[UNION_SCRATCH], 0, 1)


@subroutine
def rehash_stacks(memory: Memory) -> None:
    """Enter every stack set anew, in a table that is at least twice as large."""
    size = memory[STACK_TABLE_SIZE]
    while size <= 2 * memory[NUM_STACKS]:
        size *= 2
    memory[STACK_TABLE_SIZE] = size
    rehash(memory, memory[STACK_TABLE], size, memory[STACKS], STACK_WORDS, 3, memory[NUM_STACKS])


@subroutine
def find_or_add(memory: Memory, candidate: int, num_edges: int, holds_empty: int) -> int:
    """The id of the set whose edges lie at ``candidate``; FULL_STACKS when out of room."""
    code = hash_words(memory, mix(holds_empty + 7, num_edges), candidate, candidate + 2 * num_edges)
    stacks, edges = memory[STACKS], memory[STACK_EDGES]
    table, size = memory[STACK_TABLE], memory[STACK_TABLE_SIZE]
    slot = code & (size - 1)
    while memory[table + slot] != 0:
        record = stacks + STACK_WORDS * (memory[table + slot] - 1)
        if (
            memory[record + 3] == code
            and memory[record + 2] == holds_empty
            and memory[record + 1] - memory[record] == num_edges
            and same_words(memory, edges + 2 * memory[record], candidate, 2 * num_edges)
        ):
            return memory[table + slot] - 1
        slot = (slot + 1) & (size - 1)
    stack, first = memory[NUM_STACKS], memory[NUM_STACK_EDGES]
    if stack >= memory[MAX_STACKS] or first + num_edges > memory[MAX_STACK_EDGES]:
        return FULL_STACKS
    copy_forward(memory, edges + 2 * first, candidate, 2 * num_edges)
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


@inlined
def push(memory: Memory, return_state: int, below: int) -> int:
    """The set of all stacks of ``below`` with ``return_state`` put on top."""
    candidate = memory[UNION_SCRATCH]  # no union is under way
    memory[candidate] = return_state
    memory[candidate + 1] = below
    return find_or_add(memory, candidate, 1, 0)


@inlined
def known_union(memory: Memory, left: int, right: int) -> int:
    """The union of two different sets if the memo still holds it, else -1."""
    if left > right:
        left, right = right, left
    memo = memory[UNIONS] + UNION_WORDS * (mix(left, right) & (UNION_SLOTS - 1))
    if memory[memo] == left and memory[memo + 1] == right:
        return memory[memo + 2]
    return -1


@subroutine
def open_frame(memory: Memory, parent: int, left: int, right: int) -> int:
    """Begin a union on top of the scratch stack; its frame, or TOO_DEEP."""
    if left > right:
        left, right = right, left
    frame = memory[UNION_TOP]
    left_record, right_record = memory[STACKS] + STACK_WORDS * left, memory[STACKS] + STACK_WORDS * right
    most = memory[left_record + 1] - memory[left_record] + memory[right_record + 1] - memory[right_record]
    if frame + FRAME_WORDS + 2 * most > UNION_SCRATCH_WORDS:
        return TOO_DEEP
    words = memory[UNION_SCRATCH] + frame
    memory[words] = parent
    memory[words + 1] = left
    memory[words + 2] = right
    memory[words + 3] = memory[left_record]  # where the merge stands in each
    memory[words + 4] = memory[right_record]
    memory[words + 5] = 0  # edges merged
    memory[UNION_TOP] = frame + FRAME_WORDS + 2 * most
    return frame


@inlined
def add_merged(memory: Memory, frame: int, return_state: int, below: int) -> None:
    """Append an edge to the union under way."""
    words = memory[UNION_SCRATCH] + frame
    place = words + FRAME_WORDS + 2 * memory[words + 5]
    memory[place] = return_state
    memory[place + 1] = below
    memory[words + 5] += 1


@subroutine
def merge_edges(memory: Memory, frame: int) -> int:
    """Merge until both sides have the same return state with different sets below (then 1), or to the end (0)."""
    edges = memory[STACK_EDGES]
    words = memory[UNION_SCRATCH] + frame
    left_end = memory[memory[STACKS] + STACK_WORDS * memory[words + 1] + 1]
    right_end = memory[memory[STACKS] + STACK_WORDS * memory[words + 2] + 1]
    i, j = memory[words + 3], memory[words + 4]
    waits = 0
    while (i < left_end or j < right_end) and waits == 0:
        from_left = j >= right_end or (i < left_end and memory[edges + 2 * i] <= memory[edges + 2 * j])
        from_right = i >= left_end or (j < right_end and memory[edges + 2 * j] <= memory[edges + 2 * i])
        if from_left and from_right:
            left, right = memory[edges + 2 * i + 1], memory[edges + 2 * j + 1]
            below = left if left == right else known_union(memory, left, right)
            if below < 0:
                waits = 1
                break
            add_merged(memory, frame, memory[edges + 2 * i], below)
        elif from_left:
            add_merged(memory, frame, memory[edges + 2 * i], memory[edges + 2 * i + 1])
        else:
            add_merged(memory, frame, memory[edges + 2 * j], memory[edges + 2 * j + 1])
        i += from_left
        j += from_right
    memory[words + 3] = i
    memory[words + 4] = j
    return waits


@subroutine
def close_frame(memory: Memory, frame: int) -> int:
    """Finish the union on top of the scratch stack: its set, remembered in the memo."""
    words = memory[UNION_SCRATCH] + frame
    left, right = memory[words + 1], memory[words + 2]
    stacks = memory[STACKS]
    holds_empty = memory[stacks + STACK_WORDS * left + 2] | memory[stacks + STACK_WORDS * right + 2]
    result = find_or_add(memory, words + FRAME_WORDS, memory[words + 5], holds_empty)
    if result >= 0:
        memo = memory[UNIONS] + UNION_WORDS * (mix(left, right) & (UNION_SLOTS - 1))
        memory[memo] = left
        memory[memo + 1] = right
        memory[memo + 2] = result
        memory[UNION_TOP] = frame
    return result


@subroutine
def union(memory: Memory, left: int, right: int) -> int:
    """The set of the stacks of both; FULL_STACKS or TOO_DEEP when out of room.

    Sets below the same return state are united first, on a stack of frames in scratch: no recursion.
    """
    if left == right:
        return left
    result = known_union(memory, left, right)
    if result >= 0:
        return result
    memory[UNION_TOP] = 0
    frame = open_frame(memory, -1, left, right)
    edges = memory[STACK_EDGES]
    while frame >= 0:
        words = memory[UNION_SCRATCH] + frame
        if merge_edges(memory, frame):
            left = memory[edges + 2 * memory[words + 3] + 1]
            right = memory[edges + 2 * memory[words + 4] + 1]
            frame = open_frame(memory, frame, left, right)
            continue
        result = close_frame(memory, frame)
        if result < 0:
            return result
        frame = memory[words]
        if frame >= 0:
            words = memory[UNION_SCRATCH] + frame
            add_merged(memory, frame, memory[edges + 2 * memory[words + 3]], result)
            memory[words + 3] += 1
            memory[words + 4] += 1
    return TOO_DEEP if frame == TOO_DEEP else result
