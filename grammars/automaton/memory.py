"""The machine's memory: one int32 array, cut into named arenas.

Kernels take this one array (a call from Python costs by the number of arrays it passes) and find everything by
offset. Its first words are the header: where each arena begins and how much of it is in use. The arenas are reserved
at their full size, but the operating system hands out pages only when they are first written, so nothing is ever
copied to grow and an idle machine costs what it has touched.

Layout, all counts in int32 words::

    header | stacks | stack edges | stack table | unions | union scratch            automaton/stacks.py
           | configurations | items | configuration table                           automaton/configurations.py
           | transitions | guarded                                                  automaton/transitions.py
           | pending | masks | walk path                                            masks/walk.py, masks/narrow.py
           | views                                                                  masks/near_text.py
           | states | byte edges | epsilon edges | call edges | steps | registers   the network, never written
           | closure | closure queue | closure states | passed | blocked            automaton/configurations.py
           | sets | set table                                                       automaton/registers.py
           | verbatim states | verbatim edges | verbatim roots                      documents, never written
           | verbatim slices | verbatim work                                        masks/verbatim.py

Beside each line stands the file whose kernels write there; ``automaton/collect.py`` alone writes to all when it makes
room. The first five lines depend on :class:`~grammars.limits.Limits` and the vocabulary, the others on the grammar.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np

from ..ir.nodes import Int32Array
from ..jit import CHECKED
from ..limits import Limits

__all__ = ["CheckedMemory", "Memory", "allocate", "layout", "pool", "reserve", "round_up_power"]

# -- header: arenas that depend on limits and vocabulary ----------------------------------------------------------
STACKS: Final = 0  # 4 words a stack set: first edge, end of edges, holds the empty stack, hash
STACK_EDGES: Final = 1  # 2 words an edge: return state (or -2 - set of a register), stack set below
STACK_TABLE: Final = 2  # hash table of stack sets, entry = id + 1
UNIONS: Final = 3  # direct-mapped memo of unions, 3 words: left, right, result
UNION_SCRATCH: Final = 4  # edges of unions under way
CONFIGURATIONS: Final = 5  # 8 words each, see below
ITEMS: Final = 6  # 2 words an item: state, stack set
CONFIGURATION_TABLE: Final = 7  # hash table of configurations, entry = id (0: free)
TRANSITIONS: Final = 8  # 256 words a configuration: the next one, UNKNOWN, DEAD, or from FIRST_GUARDED down
GUARDED: Final = 9  # transitions that hang on guards: target, number of guards, the guards
PENDING: Final = 10  # 3 words a place in a token walk where guards are asked: node, configuration, 1 inside another
MASKS: Final = 11  # NUM_WORDS a cached token bitmask
WALK_PATH: Final = 12  # configuration at each depth of a trie walk

# -- header: arenas of the network --------------------------------------------------------------------------------
STATES: Final = 13  # 8 words a network state, see below
BYTE_EDGES: Final = 14  # 2 words an edge: low | high << 8, target
EPSILON_EDGES: Final = 15  # 1 word: target
CALL_EDGES: Final = 16  # 2 words: start of the called rule (or -1 - step), return state (-1: tail call)
STEPS: Final = 17  # 4 words a step without a byte that is more than an edge: its node in the IR
REGISTERS: Final = 18  # what each register holds and needs

# -- header: arenas that depend on the network --------------------------------------------------------------------
CLOSURE: Final = 19  # 4 words a network state: stamp, stack set, queued, spare
CLOSURE_QUEUE: Final = 20  # states waiting
CLOSURE_STATES: Final = 21  # states reached
PASSED: Final = 22  # guards that the open closure went through
BLOCKED: Final = 23  # 1 word a guard, 1 while it does not agree
SETS: Final = 24  # the sets that registers hold
SET_TABLE: Final = 25  # hash table of sets, entry = id + 1

# -- header: how much is in use -----------------------------------------------------------------------------------
NUM_STACKS: Final = 26
NUM_STACK_EDGES: Final = 27
STACK_TABLE_SIZE: Final = 28  # power of two
UNION_TOP: Final = 29  # words of UNION_SCRATCH
NUM_CONFIGURATIONS: Final = 30
NUM_ITEMS: Final = 31
CONFIGURATION_TABLE_SIZE: Final = 32  # power of two
GUARDED_WORDS: Final = 33
NUM_PENDING: Final = 34
NUM_MASKS: Final = 35
NUM_SETS: Final = 36

# -- header: the open closure -------------------------------------------------------------------------------------
CLOSURE_STAMP: Final = 37  # which closure the entries of CLOSURE belong to
CLOSURE_COUNT: Final = 38  # states reached so far
CLOSURE_WAITING: Final = 39  # length of the queue
CLOSURE_ACCEPTING: Final = 40  # 1 when some stack ran empty at a final state
NUM_PASSED: Final = 41

# -- header: fixed sizes ------------------------------------------------------------------------------------------
MAX_STACKS: Final = 42
MAX_STACK_EDGES: Final = 43
MAX_CONFIGURATIONS: Final = 44
MAX_ITEMS: Final = 45
MAX_GUARDED_WORDS: Final = 46
MAX_PENDING: Final = 47
MAX_MASKS: Final = 48
MAX_SETS: Final = 49
SET_TABLE_SIZE: Final = 50  # power of two
SET_WIDTH: Final = 51  # words of bits of a set
NUM_WORDS: Final = 52  # int32 words of a token bitmask
NUM_STATES: Final = 53  # those of documents included
START_STATE: Final = 54
START: Final = 55  # the first configuration

# -- header: counters for measuring -------------------------------------------------------------------------------
COUNT_STEPS: Final = 56
COUNT_WALKS: Final = 57
COUNT_VISITED: Final = 58

CLOSURE_FIRST: Final = 59  # where the queue of the open closure begins; it goes round

# -- header: verbatim text, see automaton/verbatim.py ---------------------------------------------------------------
VERBATIM_STATES: Final = 64  # 1 word a state of a document, and one more: first edge << 1 | whether it may be left
VERBATIM_EDGES: Final = 65  # 1 word an edge: byte << VERBATIM_SHIFT | target, counted from FIRST_VERBATIM
VERBATIM_ROOTS: Final = 66  # 2 words a document: its first state, 1 once its slice is known
VERBATIM_SLICES: Final = 67  # NUM_WORDS a document: tokens that lie wholly inside it
VERBATIM_WORK: Final = 68  # 3 words a walk that waits: node, state, stack set
FIRST_VERBATIM: Final = 69  # states from this number on are those of documents
NUM_VERBATIMS: Final = 70
VERBATIM_WAITING: Final = 71

VIEWS: Final = 60  # direct-mapped memo of what text does from a configuration: the configurations, then the views

HEADER_WORDS: Final = 80

STACK_WORDS: Final = 4
CONFIGURATION_WORDS: Final = 8
STATE_WORDS: Final = 8
CLOSURE_WORDS: Final = 4
UNION_WORDS: Final = 3
UNION_SLOTS: Final = 1024
UNION_SCRATCH_WORDS: Final = 1 << 19
SMALLEST_TABLE: Final = 1024
WALK_PATH_WORDS: Final = 4096  # no token is longer
PENDING_WORDS: Final = 3
VERBATIM_SHIFT: Final = 23
VERBATIM_MASK: Final = (1 << VERBATIM_SHIFT) - 1
VERBATIM_WORK_WORDS: Final = 3
MOST_VERBATIM_WORK: Final = 16_384
REGISTER_WORDS: Final = 5  # and the bits of what it requires, see automaton/registers.py
SET_WORDS: Final = 3  # and its bits
VIEW_SLOTS: Final = 512
VIEW_WORDS: Final = 28
GUARDED_WORDS_RESERVED: Final = 1 << 20
PENDING_RESERVED: Final = 1 << 21

# offsets inside a configuration's record
FIRST_ITEM: Final = 0
END_ITEM: Final = 1
FLAGS: Final = 2
CAPACITY: Final = 3
MASK_ROW: Final = 4  # -1: not computed, -2: cannot be known from what is on top of the stacks
HASH: Final = 5
FIRST_PENDING: Final = 6  # of the walk that made the bitmask
END_PENDING: Final = 7

# flags of a configuration
ACCEPTING: Final = 1  # the text so far is complete
ONLY_TEXT: Final = 2  # no way on but CAPACITY takes characters of string text
HOLDS_VERBATIM: Final = 4  # some item is a state of a document
UNLISTED: Final = 8  # the places noted are of rests of tokens: the real ones are listed when they are asked for

# offsets inside a network state's record
FIRST_EDGE: Final = 0
END_EDGE: Final = 1
FIRST_EPSILON: Final = 2
END_EPSILON: Final = 3
FIRST_CALL: Final = 4
END_CALL: Final = 5
STATE_FLAGS: Final = 6
STATE_CAPACITY: Final = 7  # so many characters of string text may follow here (see masks/slices)

# flags of a network state
FINAL: Final = 1  # the rule ends here
TAKES_TEXT: Final = 2  # has a way for string text that STATE_CAPACITY does not speak of

UNBOUNDED_CAPACITY: Final = 1 << 30

# what a kernel returns instead of an id
UNKNOWN: Final = 0
DEAD: Final = -1
FULL_CONFIGURATIONS: Final = -10
FULL_ITEMS: Final = -11
FULL_STACKS: Final = -12
FULL_MASKS: Final = -13
TOO_DEEP: Final = -14
FULL_GUARDED: Final = -15
FULL_PENDING: Final = -16
FULL_REGISTERS: Final = -17
OUT_OF_SIGHT: Final = -18  # a stack that was cut off ended: what lies below is not known (see masks/shared.py)
FIRST_GUARDED: Final = -1000  # -1000 - n: see word n of GUARDED


class CheckedMemory:
    """The same words behind checks: every index in bounds and not negative, every value fits, reads are Python ints."""

    def __init__(self, words: Int32Array) -> None:
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < len(self.words):
            raise IndexError(f"read of word {index} of {len(self.words)}")
        return int(self.words[index])

    def __setitem__(self, index: int, value: int) -> None:
        if not 0 <= index < len(self.words):
            raise IndexError(f"write of word {index} of {len(self.words)}")
        if not -(1 << 31) <= value < 1 << 31:
            raise OverflowError(f"write of {value} to word {index}")
        self.words[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.words.tolist())


Memory = Int32Array | CheckedMemory


def wrap(words: Int32Array) -> Memory:
    """The array as kernels take it: as it is, or checked in the checked mode."""
    return CheckedMemory(words) if CHECKED else words


def words_of(memory: Memory) -> Int32Array:
    """The plain array behind a memory, for bulk work outside kernels."""
    return memory.words if isinstance(memory, CheckedMemory) else memory


def reserve(num_words: int) -> Int32Array:
    """An int32 array of zeros whose pages cost nothing until they are written."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return np.frombuffer(mmap.mmap(-1, 4 * num_words, flags=flags), np.int32)


def round_up_power(value: int) -> int:
    """The least power of two that is not below ``value``."""
    return 1 << max(0, value - 1).bit_length()


def layout(limits: Limits, num_words: int) -> dict[int, int]:
    """Sizes in words of the arenas that do not depend on the grammar, in order."""
    stack_edges = 2 * limits.max_stack_nodes
    return {
        STACKS: STACK_WORDS * limits.max_stack_nodes,
        STACK_EDGES: 2 * stack_edges,
        STACK_TABLE: max(SMALLEST_TABLE, 2 * round_up_power(limits.max_stack_nodes)),
        UNIONS: UNION_WORDS * UNION_SLOTS,
        UNION_SCRATCH: UNION_SCRATCH_WORDS + 2,
        CONFIGURATIONS: CONFIGURATION_WORDS * limits.max_configurations,
        ITEMS: 2 * limits.max_items,
        CONFIGURATION_TABLE: max(SMALLEST_TABLE, 2 * round_up_power(limits.max_configurations)),
        TRANSITIONS: 256 * limits.max_configurations,
        GUARDED: GUARDED_WORDS_RESERVED,
        PENDING: PENDING_WORDS * PENDING_RESERVED,
        MASKS: num_words * (limits.max_cached_masks + 1),  # the last is for masks that guards narrow
        WALK_PATH: WALK_PATH_WORDS,
        VIEWS: VIEW_SLOTS * (1 + VIEW_WORDS),
    }


@lru_cache(maxsize=16)
def header(limits: Limits, num_words: int) -> tuple[Int32Array, int]:
    """The header of an empty memory, and the offset behind the arenas that do not depend on the grammar."""
    words = np.zeros(HEADER_WORDS, np.int32)
    offset = HEADER_WORDS
    for arena, size in layout(limits, num_words).items():
        words[arena] = offset
        offset += size
    words[MAX_STACKS] = limits.max_stack_nodes
    words[MAX_STACK_EDGES] = 2 * limits.max_stack_nodes
    words[MAX_CONFIGURATIONS] = limits.max_configurations
    words[MAX_ITEMS] = limits.max_items
    words[MAX_MASKS] = limits.max_cached_masks
    words[MAX_GUARDED_WORDS] = GUARDED_WORDS_RESERVED
    words[MAX_PENDING] = PENDING_RESERVED
    words[NUM_WORDS] = num_words
    words[STACK_TABLE_SIZE] = SMALLEST_TABLE
    words[CONFIGURATION_TABLE_SIZE] = SMALLEST_TABLE
    return words, offset


class _Pool:
    """Memories given back, for the next machine of the same size: their pages are there already.

    Zeroing fresh pages takes longer than compiling a small grammar. Only memories that few pages were touched of are
    kept, and few of them; the others go back to the operating system.
    """

    MOST_MEMORIES: Final = 4
    MOST_CONFIGURATIONS: Final = 4_096
    GRAMMAR_WORDS: Final = 1 << 20  # room for the arenas that depend on the grammar; a larger grammar is not pooled

    def __init__(self) -> None:
        self.memories: dict[int, list[Int32Array]] = {}

    def take(self, num_words: int) -> Int32Array:
        """A memory of so many words; it may hold what an earlier machine left."""
        kept = self.memories.get(num_words)
        try:
            return kept.pop() if kept else reserve(num_words)
        except IndexError:  # another thread was quicker
            return reserve(num_words)

    def give_back(self, memory: Int32Array) -> None:
        """Take a memory that nobody uses any more."""
        kept = self.memories.setdefault(len(memory), [])
        small = memory[NUM_CONFIGURATIONS] <= self.MOST_CONFIGURATIONS
        if small and sum(map(len, self.memories.values())) < self.MOST_MEMORIES:
            kept.append(memory)


pool = _Pool()


def allocate(limits: Limits, num_words: int, grammar_words: int) -> tuple[Int32Array, int]:
    """A memory with its header set, and the offset of the part that depends on the grammar.

    Words may hold what an earlier machine left, unless the part is larger than ``pool.GRAMMAR_WORDS``: whoever counts
    on zeros must write them.
    """
    words, offset = header(limits, num_words)
    is_pooled = grammar_words <= pool.GRAMMAR_WORDS
    memory = pool.take(offset + pool.GRAMMAR_WORDS) if is_pooled else reserve(offset + grammar_words)
    memory[:HEADER_WORDS] = words
    return memory, offset
