"""The token bitmask of a configuration: a depth-first walk of the token trie along the transitions.

A dead byte cuts its whole subtree. Inside a JSON string nearly every token is allowed, so there a ready bitmask, the
slice of text tokens of at most CAPACITY characters, is taken first, and only the tokens that are not text are walked.
"""

from __future__ import annotations

from ..automaton.memory import (
    ACCEPTING,
    CAPACITY,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    COUNT_VISITED,
    COUNT_WALKS,
    DEAD,
    END_PENDING,
    FIRST_GUARDED,
    FIRST_PENDING,
    FLAGS,
    FULL_MASKS,
    MASK_ROW,
    MASKS,
    MAX_MASKS,
    NUM_CONFIGURATIONS,
    NUM_MASKS,
    NUM_PENDING,
    NUM_VERBATIMS,
    NUM_WORDS,
    ONLY_TEXT,
    OUT_OF_SIGHT,
    PENDING,
    PENDING_WORDS,
    TRANSITIONS,
    UNBOUNDED_CAPACITY,
    UNLISTED,
    WALK_PATH,
    Memory,
)
from ..automaton.transitions import guarded_target, run_bytes, transition
from ..automaton.words import fill
from ..jit import copy_words, kernel, subroutine
from ..vocabulary.bitmask import TokenBitmask
from ..vocabulary.tables import (
    END_TOKENS,
    ENDINGS,
    NODES,
    NUM_END_TOKENS,
    NUM_RESTS,
    NUM_SLICES,
    NUM_TWINS,
    OPENERS,
    OTHERS,
    REST_TOKENS,
    RESTS,
    ROOTS,
    SLICES,
    TABLE_SIZE,
    TOKEN_BYTES,
    TOKEN_OFFSETS,
    TWINS,
)
from ..vocabulary.trie import DEPTH_SHIFT, TOKEN_MASK
from .bits import note_pending, set_bit
from .near_text import NOT_NEAR, near_text
from .pending import first_node
from .shared import seen_from_above
from .verbatim import CONFLICT, holds_verbatim, others_of, walk_documents

__all__ = ["consume_agreed", "consume_token", "fill_bitmask", "forget_masks", "list_places"]


@subroutine
def walk_subtree(memory: Memory, tables: Memory, node: int, target: int, mask: int, is_pending: bool) -> int:
    """Walk one subtree of the trie, whose first byte led to ``target``; negative when a table is full.

    Guards are taken to agree; where they are asked is noted. ``is_pending``: they are at the root already.
    """
    path, nodes = memory[WALK_PATH], tables[NODES]
    end = node + (tables[nodes + 2 * node] >> 8)
    token = tables[nodes + 2 * node + 1] & TOKEN_MASK
    if token > 0:
        set_bit(memory, mask, token - 1)
    memory[path + (tables[nodes + 2 * node + 1] >> DEPTH_SHIFT)] = target
    first = node
    pending_end = end if is_pending else first
    node += 1
    while node < end:
        word = tables[nodes + 2 * node]
        below = tables[nodes + 2 * node + 1]
        depth = below >> DEPTH_SHIFT
        here = memory[path + depth - 1]
        target = transition(memory, here, word & 0xFF)
        if target < DEAD:
            if target > FIRST_GUARDED:
                return target
            status = note_pending(memory, node, here, 1 if node < pending_end else 0)
            if status < 0:
                return status
            if node >= pending_end:
                pending_end = node + (word >> 8)
            target = guarded_target(memory, target)
        if target < 0:
            node += word >> 8
        else:
            memory[path + depth] = target
            token = below & TOKEN_MASK
            if token > 0:
                set_bit(memory, mask, token - 1)
            node += 1
    memory[COUNT_VISITED] += end - first
    return 0


@subroutine
def walk_trie(memory: Memory, tables: Memory, roots: int, configuration: int, mask: int) -> int:
    """Walk one of the tries, whose roots lie at ``roots``, from a configuration; negative when a table is full."""
    for byte in range(256):
        node = tables[roots + byte]
        if node >= 0 and memory[memory[TRANSITIONS] + 256 * configuration + byte] != DEAD:
            target = transition(memory, configuration, byte)
            is_pending = target <= FIRST_GUARDED
            if is_pending:
                status = note_pending(memory, node, configuration, 0)
                target = guarded_target(memory, target) if status == 0 else status
            if target >= 0:
                target = walk_subtree(memory, tables, node, target, mask, is_pending)
            if target < DEAD:
                return target
    return 0


@subroutine
def text_loop(memory: Memory, configuration: int) -> int:
    """The configuration that all string text leads to and that it stays in, 0 if there is none, or what is full."""
    loop = transition(memory, configuration, 0x61)
    if loop <= FIRST_GUARDED or loop == DEAD:
        return 0
    for turn in range(2):
        here = configuration if turn == 0 else loop
        for byte in range(0x20, 0x80):
            if byte not in (0x22, 0x5C):
                target = transition(memory, here, byte)
                if target != loop:
                    return target if FIRST_GUARDED < target < DEAD else 0
        for first in range(3):  # a character of two, of three and of four bytes
            target = transition(memory, here, (0xC3, 0xE2, 0xF0)[first])
            for _ in range(first + 1):
                if target >= 0:
                    target = transition(memory, target, 0x99)
            if target != loop:
                return target if FIRST_GUARDED < target < DEAD else 0
    return loop


@subroutine
def walk_rests(memory: Memory, tables: Memory, configuration: int, loop: int, mask: int) -> int:
    """Allow the tokens that are not text where all text leads to ``loop``; negative when a table is full.

    Each rest is walked once for all tokens that have it.
    """
    status = walk_trie(memory, tables, tables[ROOTS] + OPENERS, configuration, mask)
    if status < 0:
        return status
    found = memory[MASKS] + memory[MAX_MASKS] * memory[NUM_WORDS]  # a bit for each rest
    fill(memory, found, found + (tables[NUM_RESTS] + 31) // 32, 0)
    status = walk_trie(memory, tables, tables[ROOTS] + ENDINGS, loop, found)
    if status < 0:
        return status
    for rest in range(tables[NUM_RESTS]):
        if memory[found + (rest >> 5)] >> (rest & 31) & 1:
            for place in range(tables[tables[RESTS] + rest], tables[tables[RESTS] + rest + 1]):
                set_bit(memory, mask, tables[tables[REST_TOKENS] + place])
    return 0


@subroutine
def walk_tokens(memory: Memory, tables: Memory, configuration: int, mask: int) -> int:
    """Write the tokens that the configuration allows into a bitmask, twins and end tokens apart; negative when full."""
    num_words = memory[NUM_WORDS]
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    memory[record + FLAGS] &= ~UNLISTED
    capacity = memory[record + CAPACITY]
    roots = tables[ROOTS]
    if capacity > 0:
        slice_row = capacity if capacity < NUM_SLICES else NUM_SLICES - 1
        copy_words(memory, mask, tables, tables[SLICES] + slice_row * num_words, num_words)
        if capacity >= UNBOUNDED_CAPACITY or memory[record + FLAGS] & ONLY_TEXT:
            roots += OTHERS
        if capacity >= UNBOUNDED_CAPACITY and memory[record + FLAGS] & ONLY_TEXT:
            loop = text_loop(memory, configuration)
            if loop < 0:
                return loop
            if loop > 0:
                noted = memory[NUM_PENDING]
                status = walk_rests(memory, tables, configuration, loop, mask)
                if memory[NUM_PENDING] > noted:
                    memory[record + FLAGS] |= UNLISTED
                return status
    if roots == tables[ROOTS]:
        if near_text(memory, tables, configuration, mask) == NOT_NEAR:
            fill(memory, mask, mask + num_words, 0)
        else:
            roots += OTHERS
    return walk_trie(memory, tables, roots, configuration, mask)


@subroutine
def walk_beside_documents(memory: Memory, tables: Memory, configuration: int, mask: int) -> int:
    """As :func:`walk_tokens`, of a grammar that takes verbatim text from documents."""
    beside = others_of(memory, configuration) if holds_verbatim(memory, configuration) else configuration
    if beside < DEAD:
        return beside
    noted = memory[NUM_PENDING]
    fill(memory, mask, mask + memory[NUM_WORDS], 0)
    status = 0
    has_text = beside > 0 and memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * beside + CAPACITY] > 0
    if has_text:
        status = walk_tokens(memory, tables, beside, mask)
        if beside == configuration:
            return status
        beside = DEAD
    if status >= 0:
        status = walk_documents(memory, tables, configuration, beside, mask)
    if status == CONFLICT or (status >= 0 and has_text and memory[NUM_PENDING] > noted):
        memory[NUM_PENDING] = noted
        return walk_tokens(memory, tables, configuration, mask)
    return status


@subroutine
def compute_bitmask(memory: Memory, tables: Memory, configuration: int, mask: int) -> int:
    """Write the bitmask of a configuration at word ``mask``; negative when a table is full."""
    memory[COUNT_WALKS] += 1
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    memory[record + FIRST_PENDING] = memory[NUM_PENDING]
    if memory[NUM_VERBATIMS] > 0:
        status = walk_beside_documents(memory, tables, configuration, mask)
    else:
        status = walk_tokens(memory, tables, configuration, mask)
    if status < 0:
        memory[NUM_PENDING] = memory[record + FIRST_PENDING]
        return status
    memory[record + END_PENDING] = memory[NUM_PENDING]
    twins = tables[TWINS]
    for twin in range(tables[NUM_TWINS]):
        token = tables[twins + 2 * twin]
        if memory[mask + (token >> 5)] >> (token & 31) & 1:
            set_bit(memory, mask, tables[twins + 2 * twin + 1])
    if memory[record + FLAGS] & ACCEPTING:
        for index in range(tables[NUM_END_TOKENS]):
            set_bit(memory, mask, tables[tables[END_TOKENS] + index])
    return 0


@subroutine
def bitmask_of(memory: Memory, tables: Memory, configuration: int) -> int:
    """The row of the configuration's bitmask, which is walked if it is not known; negative when a table is full."""
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    if memory[record + MASK_ROW] >= 0:
        return memory[record + MASK_ROW]
    place = memory[NUM_MASKS]
    if place >= memory[MAX_MASKS]:
        return FULL_MASKS
    status = compute_bitmask(memory, tables, configuration, memory[MASKS] + place * memory[NUM_WORDS])
    if status < 0:
        return status
    memory[record + MASK_ROW] = place
    memory[NUM_MASKS] = place + 1
    return place


@subroutine
def shared_bitmask(memory: Memory, tables: Memory, configuration: int) -> int:
    """As :func:`bitmask_of`, but walked once for all configurations that are the same on top of their stacks."""
    above = seen_from_above(memory, configuration)
    if above < 0 or above == configuration:
        return above if above < 0 else bitmask_of(memory, tables, configuration)
    seen = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * above
    place = memory[seen + MASK_ROW]
    if place == -1:
        place = bitmask_of(memory, tables, above)
        if place == OUT_OF_SIGHT:
            memory[seen + MASK_ROW] = -2
    if place in (-2, OUT_OF_SIGHT):
        return bitmask_of(memory, tables, configuration)
    if place >= 0:
        record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
        memory[record + MASK_ROW] = place
        memory[record + FIRST_PENDING] = memory[seen + FIRST_PENDING]
        memory[record + END_PENDING] = memory[seen + END_PENDING]
        memory[record + FLAGS] |= UNLISTED
    return place


@kernel
def fill_bitmask(memory: Memory, tables: Memory, configuration: int, bitmask: TokenBitmask, row: int) -> int:
    """Copy the configuration's bitmask, computed once, into a row of ``bitmask``.

    Returns 1 if guards are asked somewhere, which are taken to agree, 0 if not; negative when a table is full.
    """
    num_words = memory[NUM_WORDS]
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    place = memory[record + MASK_ROW]
    if place < 0:
        place = shared_bitmask(memory, tables, configuration)
        if place < 0:
            return place
    copy_words(bitmask[row], 0, memory, memory[MASKS] + place * num_words, num_words)
    return 1 if memory[record + END_PENDING] > memory[record + FIRST_PENDING] else 0


@kernel
def list_places(memory: Memory, tables: Memory, configuration: int) -> int:
    """Note at which tokens guards are asked, of a configuration whose places are UNLISTED. Negative when full.

    The trie is the one that was walked before, or that of which the rests were walked.
    """
    record = memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration
    first = memory[NUM_PENDING]
    roots = tables[ROOTS]
    if memory[memory[PENDING] + PENDING_WORDS * memory[record + FIRST_PENDING]] >= first_node(tables, OTHERS):
        roots += OTHERS
    scratch = memory[MASKS] + memory[MAX_MASKS] * memory[NUM_WORDS]
    status = walk_trie(memory, tables, roots, configuration, scratch)
    if status < 0:
        memory[NUM_PENDING] = first
        return status
    memory[record + FIRST_PENDING] = first
    memory[record + END_PENDING] = memory[NUM_PENDING]
    memory[record + FLAGS] &= ~UNLISTED
    return 0


@kernel
def forget_masks(memory: Memory) -> None:
    """Drop every cached bitmask."""
    for configuration in range(1, memory[NUM_CONFIGURATIONS]):
        memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration + MASK_ROW] = -1
    memory[NUM_MASKS] = 0
    memory[NUM_PENDING] = 0


@kernel
def consume_token(memory: Memory, tables: Memory, configuration: int, token: int) -> int:
    """Where the bytes of a token lead: a configuration, DEAD (also for ids without bytes), or what is full.

    At the first byte that hangs on guards it stops, and returns what :func:`transition` does: at most FIRST_GUARDED.
    """
    if token < 0 or token >= tables[TABLE_SIZE]:
        return DEAD
    first = tables[tables[TOKEN_OFFSETS] + token]
    end = tables[tables[TOKEN_OFFSETS] + token + 1]
    if first == end:
        return DEAD
    return run_bytes(memory, configuration, tables, tables[TOKEN_BYTES] + first, tables[TOKEN_BYTES] + end)


@kernel
def consume_agreed(memory: Memory, tables: Memory, configuration: int, token: int) -> int:
    """As :func:`consume_token`, but every guard is taken to agree."""
    if token < 0 or token >= tables[TABLE_SIZE]:
        return DEAD
    first = tables[TOKEN_BYTES] + tables[tables[TOKEN_OFFSETS] + token]
    end = tables[TOKEN_BYTES] + tables[tables[TOKEN_OFFSETS] + token + 1]
    target = DEAD
    for place in range(first, end):
        target = transition(memory, configuration, tables[place])
        if target <= FIRST_GUARDED:
            target = guarded_target(memory, target)
        if target < 0:
            break
        configuration = target
    return target
