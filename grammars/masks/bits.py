"""What every walk of the token trie writes: bits of a token bitmask, and places where guards are asked."""

from __future__ import annotations

from ..automaton.memory import FULL_PENDING, MAX_PENDING, NUM_PENDING, PENDING, PENDING_WORDS, Memory
from ..jit import inlined

__all__ = ["count_bits", "note_pending", "set_bit"]


@inlined
def set_bit(memory: Memory, mask: int, token: int) -> None:
    """Allow a token in the bitmask that begins at word ``mask``."""
    bit = token & 31
    # bit 31 is the sign: written so that no intermediate value leaves 32 bits
    memory[mask + (token >> 5)] |= (1 << bit) if bit < 31 else -(1 << 31)


@inlined
def note_pending(memory: Memory, node: int, configuration: int, inside: int) -> int:
    """Note a node of the trie at which guards are asked; ``inside``: 1 below another such node. Negative when full."""
    place = memory[NUM_PENDING]
    if place >= memory[MAX_PENDING]:
        return FULL_PENDING
    words = memory[PENDING] + PENDING_WORDS * place
    memory[words] = node
    memory[words + 1] = configuration
    memory[words + 2] = inside
    memory[NUM_PENDING] = place + 1
    return 0


@inlined
def count_bits(word: int) -> int:
    """How many bits of a word are 1, by sums of neighbours: of two bits, of four, of eight."""
    pairs = (word & 0xFFFFFFFF) - (word >> 1 & 0x55555555)
    fours = (pairs & 0x33333333) + (pairs >> 2 & 0x33333333)
    eights = (fours + (fours >> 4)) & 0x0F0F0F0F
    return (eights * 0x01010101 & 0xFFFFFFFF) >> 24
