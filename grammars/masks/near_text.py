"""The token bitmask of a place where nearly all string text may follow, but not quite.

Inside a pattern most characters are often as good as each other: all in a key that a pattern is searched in, all but
the slash in ``^[^/]+$``, all but white space between words that are counted. To walk every token takes milliseconds.
So the configurations that the first few characters can lead to are looked at first, and each *lead*, the first byte of
a character, is judged by all of them: its characters lead on from everywhere, from nowhere, or it depends. Then tokens
of the first kind of characters are allowed and tokens with one of the second are not, by operations on whole bitmasks,
and only tokens with characters of the third kind are read one by one.
"""

from __future__ import annotations

from typing import Final

from ..automaton.memory import (
    CAPACITY,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    COUNT_STEPS,
    DEAD,
    MASKS,
    MAX_MASKS,
    NUM_WORDS,
    TRANSITIONS,
    UNBOUNDED_CAPACITY,
    UNKNOWN,
    VIEW_SLOTS,
    VIEW_WORDS,
    VIEWS,
    WALK_PATH,
    Memory,
)
from ..automaton.transitions import run_bytes, transition
from ..automaton.words import fill
from ..ir.regular.text_ahead import FEWEST_AHEAD
from ..jit import copy_words, inlined, subroutine
from ..vocabulary.tables import LEAD_TOKENS, NUM_SLICES, SLICES, TOKEN_BYTES, TOKEN_OFFSETS
from ..vocabulary.text import NUM_LEADS, byte_of_lead, continuation_range, kind_of_lead
from .bits import count_bits, set_bit

__all__ = ["NOT_NEAR", "near_text"]

NOT_NEAR: Final = 1
"""The result where another way is quicker."""

_DEPTH: Final = 16  # characters; few tokens are longer
_MOST_CONFIGURATIONS: Final = 192
_MOST_ENDS: Final = 32  # of the characters of one configuration
_MOST_TOKENS: Final = 16_000  # to be read one by one
_MOST_STEPS: Final = 1_500  # to be computed before it is known that this way is a good one

# what was seen of a lead, from one configuration or another
_ALIVE: Final = 1
_LOST: Final = 2
_PARTED: Final = 4  # alive with some characters only, or not followed
_ALL_ALIVE: Final = 0x11111111
_NIBBLES: Final = (NUM_LEADS + 7) // 8  # words that hold this of every lead, eight in a word

# scratch, in the arena of the walk's path; a view is what was seen of each lead, how many ends, and the ends
_QUEUE: Final = 0
_SEEN: Final = 256
_VIEW: Final = 320
_ENDS: Final = 512
_BEFORE: Final = 640


@inlined
def seen_of(memory: Memory, words: int, lead: int) -> int:
    """What the words say of a lead."""
    return memory[words + (lead >> 3)] >> 4 * (lead & 7) & 7


@inlined
def see(memory: Memory, words: int, lead: int, what: int) -> None:
    """Add to what the words say of a lead."""
    memory[words + (lead >> 3)] |= what << 4 * (lead & 7)


@inlined
def add_distinct(memory: Memory, first: int, count: int, value: int) -> int:
    """Add a value to a list that does not hold it; the new length of the list."""
    place = first
    while place < first + count and memory[place] != value:
        place += 1
    memory[place] = value
    return count + 1 if place == first + count else count


@subroutine
def take_all(memory: Memory, configuration: int, low: int, high: int, count: int) -> int:
    """Add where the bytes of a range lead to _ENDS; how many there are, -1 if one leads nowhere.

    A guard, too many ends, or a full table count as nowhere.
    """
    row = memory[TRANSITIONS] + 256 * configuration
    last = UNKNOWN
    for byte in range(low, high + 1):
        target = memory[row + byte]
        if target == UNKNOWN:
            target = transition(memory, configuration, byte)
        if target < 0 or count == _MOST_ENDS:
            return -1
        if target != last:
            last = target
            count = add_distinct(memory, memory[WALK_PATH] + _ENDS, count, target)
    return count


@subroutine
def ends_of_lead(memory: Memory, first: int, byte: int) -> int:
    """Where the characters go whose first byte, ``byte``, led to ``first``, into _ENDS; how many, -1: some nowhere."""
    ends, before = memory[WALK_PATH] + _ENDS, memory[WALK_PATH] + _BEFORE
    memory[ends] = first
    count = 1
    more, low, high = continuation_range(byte)
    for _ in range(more):
        for place in range(count):
            memory[before + place] = memory[ends + place]
        num_before, count = count, 0
        for place in range(num_before):
            count = take_all(memory, memory[before + place], low, high, count)
            if count < 0:
                return -1
        low, high = 0x80, 0xBF
    return count


@inlined
def goes_along(memory: Memory, num_ends: int, configuration: int, main: int) -> bool:
    """Whether all of _ENDS are one of two configurations."""
    ends = memory[WALK_PATH] + _ENDS
    for index in range(num_ends):
        if memory[ends + index] != configuration and memory[ends + index] != main:
            return False
    return True


@subroutine
def make_view(memory: Memory, here: int, all_ways: bool) -> None:
    """See where each lead goes from a configuration, into _VIEW.

    Without ``all_ways`` the leads that do not stay, nor go where "a" goes, are not followed.
    """
    view, ends = memory[WALK_PATH] + _VIEW, memory[WALK_PATH] + _ENDS
    fill(memory, view, view + _NIBBLES, 0)
    main = transition(memory, here, 0x61)
    last, last_kind, num_ends, count = UNKNOWN, 0, 0, 0
    for lead in range(NUM_LEADS):
        byte = byte_of_lead(lead)
        if byte in (0x22, 0x5C):
            continue
        first = transition(memory, here, byte)
        if first < 0:
            see(memory, view, lead, _LOST if first == DEAD else _PARTED)
            continue
        kind = kind_of_lead(byte)
        if first != last or kind != last_kind:
            num_ends = ends_of_lead(memory, first, byte)
            last, last_kind = first, kind
        if num_ends < 0 or count > _MOST_ENDS or not (all_ways or goes_along(memory, num_ends, here, main)):
            see(memory, view, lead, _PARTED)
            continue
        see(memory, view, lead, _ALIVE)
        for index in range(num_ends):
            count = add_distinct(memory, view + _NIBBLES + 1, count, memory[ends + index])
    memory[view + _NIBBLES] = count


@subroutine
def find_view(memory: Memory, here: int) -> None:
    """The view from a configuration into _VIEW: remembered, or made and remembered."""
    view, slot = memory[WALK_PATH] + _VIEW, here & (VIEW_SLOTS - 1)
    kept = memory[VIEWS] + VIEW_SLOTS + VIEW_WORDS * slot
    if memory[memory[VIEWS] + slot] == here:
        copy_words(memory, view, memory, kept, VIEW_WORDS)
        return
    make_view(memory, here, True)
    if memory[view + _NIBBLES] <= VIEW_WORDS - _NIBBLES - 1:
        memory[memory[VIEWS] + slot] = here
        copy_words(memory, kept, memory, view, VIEW_WORDS)


@subroutine
def look_from(memory: Memory, here: int, count: int, all_ways: bool) -> int:
    """Add what is seen from a configuration to _SEEN, and where it leads to the queue of ``count``.

    The new length of the queue, 0 where a small letter is not good or the queue is full.
    """
    queue, seen, view = memory[WALK_PATH] + _QUEUE, memory[WALK_PATH] + _SEEN, memory[WALK_PATH] + _VIEW
    if all_ways:
        find_view(memory, here)
    else:
        make_view(memory, here, False)
    for word in range(_NIBBLES):
        memory[seen + word] |= memory[view + word]
    for lead in range(0x61 - 0x20, 0x7B - 0x20):
        if seen_of(memory, seen, lead) != _ALIVE:
            return 0
    if count + memory[view + _NIBBLES] > _MOST_CONFIGURATIONS:
        return 0
    for index in range(memory[view + _NIBBLES]):
        count = add_distinct(memory, queue, count, memory[view + _NIBBLES + 1 + index])
    return count


@subroutine
def judge_leads(memory: Memory, configuration: int, all_ways: bool) -> int:
    """Judge every lead into _SEEN; for texts of how many characters it holds, 0 where this is no good way.

    Without ``all_ways`` only those leads are followed whose characters go where "a" goes, or stay.
    """
    scratch = memory[WALK_PATH]
    fill(memory, scratch + _SEEN, scratch + _SEEN + _NIBBLES, 0)
    memory[scratch + _QUEUE] = configuration
    count = level_end = 1
    depth = place = 0
    whole = NUM_SLICES - 1
    latest = memory[COUNT_STEPS] + _MOST_STEPS
    while place < count and depth < _DEPTH:
        here = memory[scratch + _QUEUE + place]
        capacity = memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * here + CAPACITY]
        if capacity < _DEPTH - depth:
            count = look_from(memory, here, count, all_ways or place > 0)
            if count == 0 or memory[COUNT_STEPS] > latest:
                return 0
        else:
            for word in range(_NIBBLES):
                memory[scratch + _SEEN + word] |= _ALL_ALIVE
            if capacity < UNBOUNDED_CAPACITY:
                whole = _DEPTH
        place += 1
        if place == level_end:
            depth += 1
            level_end = count
    return depth if place < count else whole


@subroutine
def gather(memory: Memory, tables: Memory, depth: int, mask: int, others: int) -> int:
    """Into ``mask`` the tokens that are allowed as they are, into ``others`` those to be read; how many these are."""
    num_words = memory[NUM_WORDS]
    seen = memory[WALK_PATH] + _SEEN
    rows = tables[LEAD_TOKENS]
    for word in range(num_words):
        memory[mask + word] = 0
        memory[others + word] = 0
    for lead in range(NUM_LEADS):
        judgement = seen_of(memory, seen, lead)
        row = rows + lead * num_words
        if judgement == _LOST:
            for word in range(num_words):
                memory[mask + word] |= tables[row + word]
        elif judgement != _ALIVE:
            for word in range(num_words):
                memory[others + word] |= tables[row + word]
    short = tables[SLICES] + depth * num_words
    whole = tables[SLICES] + (NUM_SLICES - 1) * num_words
    closed = depth == NUM_SLICES - 1
    count = 0
    for word in range(num_words):
        bad, mixed = memory[mask + word], memory[others + word]
        good = tables[short + word] & ~(bad | mixed)
        rest = (mixed if closed else mixed | ~tables[short + word]) & tables[whole + word]
        memory[mask + word] = good
        memory[others + word] = rest
        count += count_bits(rest)
    return count


@subroutine
def near_text(memory: Memory, tables: Memory, configuration: int, mask: int) -> int:
    """Write which tokens that are string text are allowed into a bitmask, which holds those that surely are.

    0, or NOT_NEAR, and then nothing is written that counts.
    """
    num_words = memory[NUM_WORDS]
    others = memory[MASKS] + memory[MAX_MASKS] * num_words
    capacity = memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration + CAPACITY]
    if capacity >= FEWEST_AHEAD:
        whole = tables[SLICES] + (NUM_SLICES - 1) * num_words
        for word in range(num_words):
            memory[others + word] = tables[whole + word] & ~memory[mask + word]
        return read_tokens(memory, tables, configuration, others, mask)
    row = memory[TRANSITIONS] + 256 * configuration
    for byte in range(0x61, 0x7B):
        if memory[row + byte] == DEAD:
            return NOT_NEAR
    for turn in range(2):
        depth = judge_leads(memory, configuration, turn == 0)
        if depth > 0 and gather(memory, tables, depth, mask, others) <= _MOST_TOKENS:
            return read_tokens(memory, tables, configuration, others, mask)
    return NOT_NEAR


@subroutine
def read_tokens(memory: Memory, tables: Memory, configuration: int, tokens: int, mask: int) -> int:
    """Read each token of the bitmask ``tokens``, and allow it if it can be; the result of :func:`near_text`."""
    for word in range(memory[NUM_WORDS]):
        bits = memory[tokens + word]
        if bits != 0:
            for bit in range(32):
                if bits >> bit & 1:
                    token = 32 * word + bit
                    first = tables[TOKEN_BYTES] + tables[tables[TOKEN_OFFSETS] + token]
                    end = tables[TOKEN_BYTES] + tables[tables[TOKEN_OFFSETS] + token + 1]
                    target = run_bytes(memory, configuration, tables, first, end)
                    if target < DEAD:  # a guard: its place must be noted, which only a walk of the trie does
                        return NOT_NEAR
                    if target > 0:
                        set_bit(memory, mask, token)
    return 0
