"""What every walk of the token trie writes: bits of a token bitmask, and places where guards are asked."""

from __future__ import annotations

from ..automaton.memory import FULL_PENDING, MAX_PENDING, NUM_PENDING, PENDING, PENDING_WORDS, Memory
from ..jit import inlined

__all__ = ["note_pending", "set_bit"]


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
