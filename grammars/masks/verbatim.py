"""Walks of the token trie through documents.

Each byte of each token that goes on inside a document leads to a state of its own, and a configuration for each would
fill the machine. So the walk keeps two things apart at every depth: the state of the document, a number, and the
configuration of everything else, which is mostly none; where a unit of the document ends, what follows the piece joins
it. What a token allows is what either of them allows.

Where the other configuration comes to a document itself (the next string of an array), that walk waits in VERBATIM_WORK
and is taken when this one has ended. At the beginning of a document most of the vocabulary may lie inside it; that is
walked once for each document and kept as its *slice*, so that later only tokens that are not text are looked at.

Guards are asked of the text of one configuration. Where a guarded place has a way on in the document as well, the walk
gives up (CONFLICT), and the ordinary one is taken.
"""

from __future__ import annotations

from typing import Final

from ..automaton.configurations import close_closure, end_rule, find_or_add_configuration, open_closure
from ..automaton.memory import (
    ACCEPTING,
    CAPACITY,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    COUNT_VISITED,
    DEAD,
    END_ITEM,
    FIRST_GUARDED,
    FIRST_ITEM,
    FIRST_VERBATIM,
    FLAGS,
    FULL_ITEMS,
    HOLDS_VERBATIM,
    ITEMS,
    MAX_ITEMS,
    MOST_VERBATIM_WORK,
    NUM_ITEMS,
    NUM_PASSED,
    NUM_PENDING,
    NUM_VERBATIMS,
    NUM_WORDS,
    ONLY_TEXT,
    TRANSITIONS,
    VERBATIM_ROOTS,
    VERBATIM_SLICES,
    VERBATIM_WAITING,
    VERBATIM_WORK,
    VERBATIM_WORK_WORDS,
    WALK_PATH,
    WALK_PATH_WORDS,
    Memory,
)
from ..automaton.stacks import union
from ..automaton.transitions import guarded_target, transition
from ..automaton.verbatim import may_leave, read
from ..automaton.words import fill, mix
from ..jit import inlined, subroutine
from ..vocabulary.tables import NODES, OTHERS, ROOTS
from ..vocabulary.trie import DEPTH_SHIFT, TOKEN_MASK
from .bits import note_pending, set_bit

__all__ = ["CONFLICT", "holds_verbatim", "others_of", "walk_documents"]

CONFLICT: Final = -20
NO_STATE: Final = -1
_STATES: Final = WALK_PATH_WORDS // 2  # from the configurations of the path to the states beside them


@inlined
def holds_verbatim(memory: Memory, configuration: int) -> bool:
    """Whether a configuration has states of documents."""
    return memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration + FLAGS] & HOLDS_VERBATIM != 0


@inlined
def first_state(memory: Memory, configuration: int) -> int:
    """The first item of a configuration that is a state of a document; they come last."""
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    item = memory[record + END_ITEM]
    while item > memory[record + FIRST_ITEM] and memory[memory[ITEMS] + 2 * item - 2] >= memory[FIRST_VERBATIM]:
        item -= 1
    return item


@subroutine
def others_of(memory: Memory, configuration: int) -> int:
    """The configuration of the other items alone, DEAD if there are none, or what is full."""
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    first = memory[record + FIRST_ITEM]
    count = first_state(memory, configuration) - first
    if count == 0:
        return DEAD
    if memory[NUM_ITEMS] + count > memory[MAX_ITEMS]:
        return FULL_ITEMS
    accepting = memory[record + FLAGS] & ACCEPTING
    source, target = memory[ITEMS] + 2 * first, memory[ITEMS] + 2 * memory[NUM_ITEMS]
    code = mix(accepting, 17)
    for word in range(2 * count):
        memory[target + word] = memory[source + word]
        code = mix(code, memory[source + word])
    # that nothing else takes text was not noted apart; not knowing it costs time only
    return find_or_add_configuration(memory, count, accepting, memory[record + CAPACITY], code)


@subroutine
def join(memory: Memory, left: int, right: int) -> int:
    """The configuration of the items of both, or what is full."""
    if left == right:
        return left
    items = memory[ITEMS]
    one, other = (
        memory[CONFIGURATIONS] + CONFIGURATION_WORDS * left,
        memory[CONFIGURATIONS] + CONFIGURATION_WORDS * right,
    )
    i, j = memory[one + FIRST_ITEM], memory[other + FIRST_ITEM]
    i_end, j_end = memory[one + END_ITEM], memory[other + END_ITEM]
    if memory[NUM_ITEMS] + i_end - i + j_end - j > memory[MAX_ITEMS]:
        return FULL_ITEMS
    flags = (memory[one + FLAGS] | memory[other + FLAGS]) & (ACCEPTING | HOLDS_VERBATIM)
    flags |= memory[one + FLAGS] & memory[other + FLAGS] & ONLY_TEXT
    target = items + 2 * memory[NUM_ITEMS]
    code = mix(flags & ACCEPTING, 17)
    count = 0
    while i < i_end or j < j_end:
        from_left = j >= j_end or (i < i_end and memory[items + 2 * i] <= memory[items + 2 * j])
        from_right = i >= i_end or (j < j_end and memory[items + 2 * j] <= memory[items + 2 * i])
        state = memory[items + 2 * i] if from_left else memory[items + 2 * j]
        stack = memory[items + 2 * i + 1] if from_left else memory[items + 2 * j + 1]
        if from_left and from_right:
            stack = union(memory, stack, memory[items + 2 * j + 1])
            if stack < 0:
                return stack
        memory[target + 2 * count] = state
        memory[target + 2 * count + 1] = stack
        code = mix(mix(code, state), stack)
        count += 1
        i += from_left
        j += from_right
    capacity = max(memory[one + CAPACITY], memory[other + CAPACITY])
    return find_or_add_configuration(memory, count, flags, capacity, code)


@subroutine
def exit_of(memory: Memory, stack: int) -> int:
    """What follows a piece of a document: a configuration, DEAD, what is full, or CONFLICT where a guard is asked."""
    open_closure(memory)
    status = end_rule(memory, stack)
    if status < 0:
        return status
    target = close_closure(memory)
    return CONFLICT if target > 0 and memory[NUM_PASSED] > 0 else target


@subroutine
def put_off(memory: Memory, node: int, configuration: int) -> int:
    """Leave the walks of a configuration's documents below a node for later; the configuration of the rest.

    Where there is no room for them the configuration stays whole. DEAD if there is no rest, or what is full.
    """
    first = first_state(memory, configuration)
    end = memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration + END_ITEM]
    if memory[VERBATIM_WAITING] + end - first > MOST_VERBATIM_WORK:
        return configuration
    for item in range(first, end):
        work = memory[VERBATIM_WORK] + VERBATIM_WORK_WORDS * memory[VERBATIM_WAITING]
        memory[work] = node
        memory[work + 1] = memory[memory[ITEMS] + 2 * item]
        memory[work + 2] = memory[memory[ITEMS] + 2 * item + 1]
        memory[VERBATIM_WAITING] += 1
    return others_of(memory, configuration)


@subroutine
def walk_pair(
    memory: Memory, tables: Memory, node: int, state: int, target: int, leave: int, mask: int, is_pending: bool
) -> int:
    """Walk a subtree whose first byte led to a state of a document (or NO_STATE) and to ``target`` beside it (or DEAD).

    ``leave``: what follows the piece (or DEAD). ``is_pending``: guards are asked at its root already. Negative when a
    table is full, or CONFLICT.
    """
    path, nodes = memory[WALK_PATH], tables[NODES]
    first = node
    end = node + (tables[nodes + 2 * node] >> 8)
    pending_end = end if is_pending else first
    before, was = DEAD, NO_STATE
    while node < end:
        word = tables[nodes + 2 * node]
        below = tables[nodes + 2 * node + 1]
        depth = below >> DEPTH_SHIFT
        if node > first:
            before, was = memory[path + depth - 1], memory[path + _STATES + depth - 1]
            state = read(memory, was, word & 0xFF) if was >= 0 else NO_STATE
            target = transition(memory, before, word & 0xFF) if before > 0 else DEAD
            if target < DEAD:
                if target > FIRST_GUARDED:
                    return target
                if state >= 0:
                    return CONFLICT
                status = note_pending(memory, node, before, 1 if node < pending_end else 0)
                if status < 0:
                    return status
                if node >= pending_end:
                    pending_end = node + (word >> 8)
                target = guarded_target(memory, target)
        if state >= 0 and leave > 0 and may_leave(memory, state):
            target = join(memory, target, leave) if target > 0 else leave
            if target < DEAD:
                return target
        if state < 0 and target < 0:
            node += word >> 8
            continue
        token = below & TOKEN_MASK
        if token > 0:
            set_bit(memory, mask, token - 1)
        if target > 0 and (word >> 8) > 1 and holds_verbatim(memory, target):
            target = put_off(memory, node, target)
            if target < DEAD:
                return target
        memory[path + depth] = target
        memory[path + _STATES + depth] = state
        node += 1
    memory[COUNT_VISITED] += end - first
    return 0


@subroutine
def walk_pairs(memory: Memory, tables: Memory, roots: int, state: int, beside: int, leave: int, mask: int) -> int:
    """As :func:`walk_pair`, for a whole trie: from a state of a document, and a configuration beside it."""
    for byte in range(256):
        node = tables[roots + byte]
        if node < 0:
            continue
        after = read(memory, state, byte) if state >= 0 else NO_STATE
        target = DEAD
        if beside > 0 and memory[memory[TRANSITIONS] + 256 * beside + byte] != DEAD:
            target = transition(memory, beside, byte)
        is_pending = target <= FIRST_GUARDED
        if is_pending:
            status = note_pending(memory, node, beside, 0) if after < 0 else CONFLICT
            target = guarded_target(memory, target) if status == 0 else status
        if target < DEAD:
            return target
        if after >= 0 or target > 0:
            status = walk_pair(memory, tables, node, after, target, leave, mask, is_pending)
            if status < 0:
                return status
    return 0


@subroutine
def walk_inside(memory: Memory, tables: Memory, state: int, mask: int) -> None:
    """Allow the tokens that lie wholly inside a document, from one of its states."""
    path, nodes = memory[WALK_PATH] + _STATES, tables[NODES]
    for byte in range(256):
        node = tables[tables[ROOTS] + byte]
        if node < 0:
            continue
        end = node + (tables[nodes + 2 * node] >> 8)
        while node < end:
            word = tables[nodes + 2 * node]
            below = tables[nodes + 2 * node + 1]
            depth = below >> DEPTH_SHIFT
            after = read(memory, memory[path + depth - 1] if depth > 0 else state, word & 0xFF)
            if after < 0:
                node += word >> 8
                continue
            token = below & TOKEN_MASK
            if token > 0:
                set_bit(memory, mask, token - 1)
            memory[path + depth] = after
            node += 1


@subroutine
def reads_text(memory: Memory, configuration: int) -> bool:
    """Whether a configuration goes on with some byte of string text."""
    row = memory[TRANSITIONS] + 256 * configuration
    found = False
    for byte in range(0x20, 0x100):
        found = found or (byte not in (0x22, 0x5C) and memory[row + byte] != DEAD)
    return found


@subroutine
def slice_of(memory: Memory, tables: Memory, state: int) -> int:
    """Where the slice of the document lies that begins with a state, made at need; -1 if the state begins none."""
    for document in range(memory[NUM_VERBATIMS]):
        root = memory[VERBATIM_ROOTS] + 2 * document
        if memory[root] == state:
            num_words = memory[NUM_WORDS]
            mask = memory[VERBATIM_SLICES] + document * num_words
            if memory[root + 1] == 0:
                fill(memory, mask, mask + num_words, 0)
                walk_inside(memory, tables, state, mask)
                memory[root + 1] = 1
            return mask
    return -1


@subroutine
def walk_document(memory: Memory, tables: Memory, state: int, stack: int, beside: int, mask: int) -> int:
    """Allow what one item in a document allows, together with the configuration beside it."""
    leave = exit_of(memory, stack)
    if leave < DEAD:
        return leave
    roots = tables[ROOTS]
    if beside < 0 and (leave < 0 or not reads_text(memory, leave)):
        ready = slice_of(memory, tables, state)
        if ready >= 0:
            for word in range(memory[NUM_WORDS]):
                memory[mask + word] |= memory[ready + word]
            roots += OTHERS
    return walk_pairs(memory, tables, roots, state, beside, leave, mask)


@subroutine
def walk_documents(memory: Memory, tables: Memory, configuration: int, beside: int, mask: int) -> int:
    """Allow what the documents of a configuration allow, and ``beside``, the configuration of the rest (or DEAD).

    The bits are added to ``mask``. Negative when a table is full, or CONFLICT where guards need another walk.
    """
    noted = memory[NUM_PENDING]
    memory[VERBATIM_WAITING] = 0
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    first, end = first_state(memory, configuration), memory[record + END_ITEM]
    walks = end - first
    status = 0
    if walks == 0:
        status = walk_pairs(memory, tables, tables[ROOTS], NO_STATE, beside, DEAD, mask)
    for item in range(first, end):
        if status >= 0:
            state, stack = memory[memory[ITEMS] + 2 * item], memory[memory[ITEMS] + 2 * item + 1]
            status = walk_document(memory, tables, state, stack, beside if item == first else DEAD, mask)
    while memory[VERBATIM_WAITING] > 0 and status >= 0:
        memory[VERBATIM_WAITING] -= 1
        walks += 1
        work = memory[VERBATIM_WORK] + VERBATIM_WORK_WORDS * memory[VERBATIM_WAITING]
        node, state, stack = memory[work], memory[work + 1], memory[work + 2]
        leave = exit_of(memory, stack)
        status = leave
        if leave >= DEAD:
            status = walk_pair(memory, tables, node, state, DEAD, leave, mask, False)
    if status >= 0 and walks > 1 and memory[NUM_PENDING] > noted:
        return CONFLICT
    return status
