"""Which tokens are wholly text of a JSON string: characters that need no escape and cannot end the string."""

from __future__ import annotations

from ..ir.nodes import Int32Array
from ..jit import subroutine

__all__ = ["text_length"]


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
