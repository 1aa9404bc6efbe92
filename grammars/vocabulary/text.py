"""Which tokens are wholly text of a JSON string: characters that need no escape and cannot end the string."""

from __future__ import annotations

from typing import Final

from ..ir.nodes import Int32Array
from ..jit import inlined, subroutine

__all__ = ["NUM_LEADS", "byte_of_lead", "continuation_range", "kind_of_lead", "lead_of_byte", "text_length"]

NUM_LEADS: Final = 147
"""Bytes that a character of text may begin with, 20 to 7F and C2 to F4, and the two that it may not, 22 and 5C."""


@inlined
def lead_of_byte(byte: int) -> int:
    """The number of a byte among those that a character may begin with."""
    return byte - 0x20 if byte < 0x80 else byte - 0xC2 + 96


@inlined
def byte_of_lead(lead: int) -> int:
    """The byte with a number; undoes :func:`lead_of_byte`."""
    return lead + 0x20 if lead < 96 else lead - 96 + 0xC2


@subroutine
def continuation_range(lead: int) -> tuple[int, int, int]:
    """After the first byte of a UTF-8 character: how many more follow, and the range of the second (RFC 3629)."""
    if 0xC2 <= lead <= 0xDF:
        return 1, 0x80, 0xBF
    if 0xE0 <= lead <= 0xEF:
        return 2, 0xA0 if lead == 0xE0 else 0x80, 0x9F if lead == 0xED else 0xBF
    if 0xF0 <= lead <= 0xF4:
        return 3, 0x90 if lead == 0xF0 else 0x80, 0x8F if lead == 0xF4 else 0xBF
    return 0, 1, 0


@subroutine
def kind_of_lead(lead: int) -> int:
    """A number for what :func:`continuation_range` says: bytes of one kind may be followed by the same bytes."""
    more, low, high = continuation_range(lead)
    return more << 16 | low << 8 | high


@subroutine
def text_length(data: Int32Array, first: int, end: int) -> int:
    """Characters in ``data[first:end]`` if it is string text, a cut-off last character counted as one; else -1."""
    count = 0
    index = first
    while index < end:
        lead = data[index]
        index += 1
        count += 1
        if lead < 0x80:
            if lead < 0x20 or lead == 0x22 or lead == 0x5C:
                return -1
            continue
        more, low, high = continuation_range(lead)
        if more == 0:
            return -1
        while more > 0 and index < end:
            if not low <= data[index] <= high:
                return -1
            low, high = 0x80, 0xBF
            index += 1
            more -= 1
    return count
