"""What the arenas have in common: filling, comparing and hashing words, and hash tables of records."""

from __future__ import annotations

from ..jit import inlined, subroutine
from .memory import Memory

__all__ = ["copy_forward", "fill", "hash_words", "mix", "rehash", "same_words"]


@inlined
def mix(seed: int, value: int) -> int:
    """A 31-bit hash of both; every step stays inside 64 bits, so compiled and plain Python agree."""
    mixed = (int(seed) ^ int(value)) * 0x2545F491 & 0x7FFFFFFF
    return mixed ^ (mixed >> 15)


@subroutine
def hash_words(memory: Memory, code: int, first: int, end: int) -> int:
    """``code`` mixed with the words from ``first`` up to ``end``."""
    for word in range(first, end):
        code = mix(code, memory[word])
    return code


@subroutine
def fill(memory: Memory, first: int, end: int, value: int) -> None:
    """Set the words from ``first`` up to ``end``."""
    for word in range(first, end):
        memory[word] = value


@subroutine
def copy_forward(memory: Memory, target: int, source: int, count: int) -> None:
    """Copy words one after the other, the first one first: they may overlap with a target before them."""
    for word in range(count):
        memory[target + word] = memory[source + word]


@subroutine
def same_words(memory: Memory, one: int, other: int, count: int) -> bool:
    """Whether ``count`` words at two places are equal."""
    word = 0
    while word < count and memory[one + word] == memory[other + word]:
        word += 1
    return word == count


@subroutine
def rehash(memory: Memory, table: int, size: int, records: int, width: int, hash_word: int, count: int) -> None:
    """Enter ``count`` records, ``width`` words each, into an empty table of ``size`` slots: id + 1, by their hash."""
    fill(memory, table, table + size, 0)
    for record in range(count):
        slot = memory[records + width * record + hash_word] & (size - 1)
        while memory[table + slot] != 0:
            slot = (slot + 1) & (size - 1)
        memory[table + slot] = record + 1
