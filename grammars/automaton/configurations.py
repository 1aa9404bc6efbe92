"""Configurations: where a text may stand in the network, closed under everything that reads no byte.

A configuration is a list of items (network state, set of return stacks), one per state, sorted by state, together
with a flag whether the text is complete. Only states that read bytes are kept. Equal configurations have one id.

A closure is built in three moves: ``open_closure``, any number of ``add_item``, then ``close_closure``, which follows
epsilon edges, calls (push) and ends of rules (pop) to the fixpoint and finds or adds the configuration. Only these
kernels write the arenas CLOSURE*, CONFIGURATIONS, ITEMS and CONFIGURATION_TABLE.
"""

from __future__ import annotations

from ..ir.nodes import Kind, RegisterStep
from ..jit import inlined, subroutine
from .memory import (
    ACCEPTING,
    BLOCKED,
    BYTE_EDGES,
    CALL_EDGES,
    CAPACITY,
    CLOSURE,
    CLOSURE_ACCEPTING,
    CLOSURE_COUNT,
    CLOSURE_FIRST,
    CLOSURE_QUEUE,
    CLOSURE_STAMP,
    CLOSURE_STATES,
    CLOSURE_WAITING,
    CLOSURE_WORDS,
    CONFIGURATION_TABLE,
    CONFIGURATION_TABLE_SIZE,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    DEAD,
    END_CALL,
    END_EDGE,
    END_EPSILON,
    END_ITEM,
    EPSILON_EDGES,
    FINAL,
    FIRST_CALL,
    FIRST_EDGE,
    FIRST_EPSILON,
    FIRST_ITEM,
    FIRST_VERBATIM,
    FLAGS,
    FULL_CONFIGURATIONS,
    FULL_ITEMS,
    HASH,
    HOLDS_VERBATIM,
    ITEMS,
    MASK_ROW,
    MAX_CONFIGURATIONS,
    MAX_ITEMS,
    NUM_CONFIGURATIONS,
    NUM_ITEMS,
    NUM_PASSED,
    NUM_STATES,
    ONLY_TEXT,
    OUT_OF_SIGHT,
    PASSED,
    STACK_EDGES,
    STACK_WORDS,
    STACKS,
    STATE_CAPACITY,
    STATE_FLAGS,
    STATE_WORDS,
    STATES,
    STEPS,
    TAKES_TEXT,
    TRANSITIONS,
    UNKNOWN,
    VERBATIM_EDGES,
    VERBATIM_SHIFT,
    VIEW_SLOTS,
    VIEWS,
    Memory,
)
from .registers import NO_STACK, add_element, is_complete, open_register, stacks_that_take
from .stacks import push, union
from .verbatim import first_way, last_way, may_leave
from .words import fill, mix, rehash, same_words

__all__ = [
    "add_item",
    "clear_configurations",
    "close_closure",
    "find_or_add_configuration",
    "open_closure",
    "rehash_configurations",
]

_GUARD = int(Kind.GUARD)
_OPEN, _TEST, _ADD, _CLOSE = (
    int(RegisterStep.OPEN),
    int(RegisterStep.TEST),
    int(RegisterStep.ADD),
    int(RegisterStep.CLOSE),
)


@subroutine
def clear_configurations(memory: Memory) -> None:
    """Forget all configurations; id 0 stays unused."""
    table = memory[CONFIGURATION_TABLE]
    fill(memory, table, table + memory[CONFIGURATION_TABLE_SIZE], 0)
    memory[NUM_CONFIGURATIONS] = 1
    memory[NUM_ITEMS] = 0
    fill(memory, memory[VIEWS], memory[VIEWS] + VIEW_SLOTS, 0)


@subroutine
def rehash_configurations(memory: Memory) -> None:
    """Enter every configuration anew, in a table that is at least twice as large."""
    size, count = memory[CONFIGURATION_TABLE_SIZE], memory[NUM_CONFIGURATIONS] - 1
    while size <= 2 * count + 2:
        size *= 2
    memory[CONFIGURATION_TABLE_SIZE] = size
    first = memory[CONFIGURATIONS] + CONFIGURATION_WORDS  # the first configuration has the id 1, as an entry
    rehash(memory, memory[CONFIGURATION_TABLE], size, first, CONFIGURATION_WORDS, HASH, count)


@inlined
def open_closure(memory: Memory) -> None:
    """Start a new, empty closure; entries of older ones are stale by their stamp."""
    memory[CLOSURE_STAMP] += 1
    memory[CLOSURE_COUNT] = 0
    memory[CLOSURE_WAITING] = 0
    memory[CLOSURE_FIRST] = 0
    memory[CLOSURE_ACCEPTING] = 0
    memory[NUM_PASSED] = 0


@subroutine
def add_item(memory: Memory, state: int, stack: int) -> int:
    """Put a state with a set of return stacks into the open closure; negative when a union fails."""
    entry = memory[CLOSURE] + CLOSURE_WORDS * state
    if memory[entry] != memory[CLOSURE_STAMP]:
        memory[entry] = memory[CLOSURE_STAMP]
        memory[entry + 1] = stack
        memory[memory[CLOSURE_STATES] + memory[CLOSURE_COUNT]] = state
        memory[CLOSURE_COUNT] += 1
    else:
        known = memory[entry + 1]
        if known == stack:
            return 0
        both = union(memory, known, stack)
        if both < 0:
            return both
        if both == known:
            return 0
        memory[entry + 1] = both
        if memory[entry + 2] == 1:
            return 0
    memory[entry + 2] = 1
    place = memory[CLOSURE_FIRST] + memory[CLOSURE_WAITING]
    if place >= memory[NUM_STATES]:
        place -= memory[NUM_STATES]
    memory[memory[CLOSURE_QUEUE] + place] = state
    memory[CLOSURE_WAITING] += 1
    return 0


@inlined
def pass_guard(memory: Memory, guard: int) -> bool:
    """Whether a guard lets the closure through; it is noted, once."""
    if memory[memory[BLOCKED] + guard] != 0:
        return False
    first = memory[PASSED]
    for place in range(first, first + memory[NUM_PASSED]):
        if memory[place] == guard:
            return True
    memory[first + memory[NUM_PASSED]] = guard
    memory[NUM_PASSED] += 1
    return True


@subroutine
def take_step(memory: Memory, step: int, stack: int, target: int) -> int:
    """Add what lies behind a step that is more than an edge: a guard, or work on a register. Negative when full."""
    kind, what, register, element = memory[step], memory[step + 1], memory[step + 2], memory[step + 3]
    if kind == _GUARD:
        return add_item(memory, target, stack) if pass_guard(memory, what) else 0
    frames = memory[STACKS] + STACK_WORDS * stack
    first, end = memory[frames], memory[frames + 1]
    for edge in range(first, end):
        if what != _OPEN and memory[memory[STACK_EDGES] + 2 * edge] == memory[NUM_STATES]:
            return OUT_OF_SIGHT
    if what == _CLOSE:
        for edge in range(first, end):
            if is_complete(memory, edge, register):
                status = add_item(memory, target, memory[memory[STACK_EDGES] + 2 * edge + 1])
                if status < 0:
                    return status
        return 0
    if what == _TEST:
        changed = stacks_that_take(memory, stack, register, element)
    elif what == _OPEN:
        changed = open_register(memory, stack)
    else:
        changed = add_element(memory, stack, register, element, what == _ADD)
    if changed == NO_STACK:
        return 0
    return changed if changed < 0 else add_item(memory, target, changed)


@subroutine
def end_rule(memory: Memory, stack: int) -> int:
    """Add what follows the end of a rule: the states that its stacks return to. Negative when full."""
    frames = memory[STACKS] + STACK_WORDS * stack
    if memory[frames + 2]:
        memory[CLOSURE_ACCEPTING] = 1
    for edge in range(memory[frames], memory[frames + 1]):
        pair = memory[STACK_EDGES] + 2 * edge
        if memory[pair] == memory[NUM_STATES]:
            return OUT_OF_SIGHT
        status = add_item(memory, memory[pair], memory[pair + 1])
        if status < 0:
            return status
    return 0


@subroutine
def follow(memory: Memory, state: int) -> int:
    """Add everything that ``state`` of the open closure reaches without a byte."""
    stack = memory[memory[CLOSURE] + CLOSURE_WORDS * state + 1]
    if state >= memory[FIRST_VERBATIM]:
        return end_rule(memory, stack) if may_leave(memory, state) else 0
    record = memory[STATES] + STATE_WORDS * state
    for edge in range(memory[record + FIRST_EPSILON], memory[record + END_EPSILON]):
        status = add_item(memory, memory[memory[EPSILON_EDGES] + edge], stack)
        if status < 0:
            return status
    for edge in range(memory[record + FIRST_CALL], memory[record + END_CALL]):
        call = memory[CALL_EDGES] + 2 * edge
        pushed = stack
        if memory[call] < 0:
            status = take_step(memory, memory[STEPS] + 4 * (-1 - memory[call]), stack, memory[call + 1])
            if status < 0:
                return status
            continue
        if memory[call + 1] >= 0:
            pushed = push(memory, memory[call + 1], stack)
            if pushed < 0:
                return pushed
        status = add_item(memory, memory[call], pushed)
        if status < 0:
            return status
    if memory[record + STATE_FLAGS] & FINAL:
        return end_rule(memory, stack)
    return 0


@subroutine
def sort_states(memory: Memory, first: int, count: int) -> None:
    """Shell sort of ``count`` words from ``first``: short lists mostly, nearly sorted ones often."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, first + count):
            value = memory[i]
            j = i - gap
            while j >= first and memory[j] > value:
                memory[j + gap] = memory[j]
                j -= gap
            memory[j + gap] = value
        gap //= 3


@subroutine
def close_closure(memory: Memory) -> int:
    """Run the open closure to its fixpoint; the id of its configuration, DEAD when there is none, or what is full.

    First in, first out: last in, first out would run through layered rules once for every way down.
    """
    while memory[CLOSURE_WAITING] > 0:
        memory[CLOSURE_WAITING] -= 1
        state = memory[memory[CLOSURE_QUEUE] + memory[CLOSURE_FIRST]]
        memory[CLOSURE_FIRST] += 1
        if memory[CLOSURE_FIRST] >= memory[NUM_STATES]:
            memory[CLOSURE_FIRST] = 0
        memory[memory[CLOSURE] + CLOSURE_WORDS * state + 2] = 0
        status = follow(memory, state)
        if status < 0:
            return status
    if memory[NUM_ITEMS] + memory[CLOSURE_COUNT] > memory[MAX_ITEMS]:
        return FULL_ITEMS
    reached = memory[CLOSURE_STATES]
    sort_states(memory, reached, memory[CLOSURE_COUNT])
    states, closure = memory[STATES], memory[CLOSURE]
    first = memory[NUM_ITEMS]
    base = memory[ITEMS] + 2 * first
    count = 0
    capacity = 0
    flags = ONLY_TEXT
    if memory[CLOSURE_ACCEPTING]:
        flags |= ACCEPTING
    code = mix(flags & ACCEPTING, 17)
    for index in range(reached, reached + memory[CLOSURE_COUNT]):
        state = memory[index]
        if state >= memory[FIRST_VERBATIM]:
            flags = (flags | HOLDS_VERBATIM) & ~ONLY_TEXT
            stack = memory[closure + CLOSURE_WORDS * state + 1]
            memory[base + 2 * count] = state
            memory[base + 2 * count + 1] = stack
            code = mix(mix(code, state), stack)
            count += 1
            continue
        record = states + STATE_WORDS * state
        if memory[record + STATE_FLAGS] & TAKES_TEXT:
            flags &= ~ONLY_TEXT
        if memory[record + STATE_CAPACITY] > capacity:
            capacity = memory[record + STATE_CAPACITY]
        if memory[record + END_EDGE] > memory[record + FIRST_EDGE] or memory[record + STATE_CAPACITY] > 0:
            stack = memory[closure + CLOSURE_WORDS * state + 1]
            memory[base + 2 * count] = state
            memory[base + 2 * count + 1] = stack
            code = mix(mix(code, state), stack)
            count += 1
    if count == 0 and not flags & ACCEPTING:
        return DEAD
    return find_or_add_configuration(memory, count, flags, capacity, code)


@subroutine
def find_or_add_configuration(memory: Memory, count: int, flags: int, capacity: int, code: int) -> int:
    """The id of the configuration whose items lie just past the used part of ITEMS."""
    items, records = memory[ITEMS], memory[CONFIGURATIONS]
    first = memory[NUM_ITEMS]
    base = items + 2 * first
    table, size = memory[CONFIGURATION_TABLE], memory[CONFIGURATION_TABLE_SIZE]
    slot = code & (size - 1)
    while memory[table + slot] != 0:
        record = records + CONFIGURATION_WORDS * memory[table + slot]
        if (
            memory[record + HASH] == code
            and memory[record + END_ITEM] - memory[record + FIRST_ITEM] == count
            and memory[record + FLAGS] & ACCEPTING == flags & ACCEPTING
            and same_words(memory, items + 2 * memory[record + FIRST_ITEM], base, 2 * count)
        ):
            return memory[table + slot]
        slot = (slot + 1) & (size - 1)
    configuration = memory[NUM_CONFIGURATIONS]
    if configuration >= memory[MAX_CONFIGURATIONS]:
        return FULL_CONFIGURATIONS
    memory[NUM_CONFIGURATIONS] = configuration + 1
    memory[NUM_ITEMS] = first + count
    record = records + CONFIGURATION_WORDS * configuration
    memory[record + FIRST_ITEM] = first
    memory[record + END_ITEM] = first + count
    memory[record + FLAGS] = flags
    memory[record + CAPACITY] = capacity
    memory[record + MASK_ROW] = -1
    memory[record + HASH] = code
    memory[table + slot] = configuration
    if 2 * (configuration + 1) >= size:
        rehash_configurations(memory)
    open_transitions(memory, configuration)
    return configuration


@subroutine
def open_transitions(memory: Memory, configuration: int) -> None:
    """A row of transitions that is DEAD but for the bytes that some item reads, which are UNKNOWN."""
    row = memory[TRANSITIONS] + 256 * configuration
    fill(memory, row, row + 256, DEAD)
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    for item in range(memory[record + FIRST_ITEM], memory[record + END_ITEM]):
        number = memory[memory[ITEMS] + 2 * item]
        if number >= memory[FIRST_VERBATIM]:
            for way in range(first_way(memory, number), last_way(memory, number)):
                memory[row + (memory[memory[VERBATIM_EDGES] + way] >> VERBATIM_SHIFT)] = UNKNOWN
            continue
        state = memory[STATES] + STATE_WORDS * number
        for edge in range(memory[state + FIRST_EDGE], memory[state + END_EDGE]):
            span = memory[memory[BYTE_EDGES] + 2 * edge]
            fill(memory, row + (span & 0xFF), row + (span >> 8) + 1, UNKNOWN)
