r"""How JSON spells one character inside a string, as a deterministic automaton over bytes (RFC 8259 section 7).

The canonical spelling writes every character raw but for quotes, backslashes and controls, whose escapes are those
of ``json.dumps(..., ensure_ascii=False)``: each character has one spelling. The open spelling also takes every other
escape of the same character (``\u0061`` for a, ``\/``, a surrogate pair for one character beyond the basic plane);
half a pair is never taken. Either may be confined to ASCII, as ``json.dumps(..., ensure_ascii=True)`` writes it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .charset import ASCII_JSON_TEXT, JSON_TEXT
from .nodes import Int32Array
from .utf8 import utf8_fragment

__all__ = ["END_OF_CHARACTER", "character_table"]

END_OF_CHARACTER = -1
_HEX = "0123456789abcdefABCDEF"


class _Table:
    """States with sorted edges (low, high, next); next is END_OF_CHARACTER behind the character."""

    def __init__(self) -> None:
        self.edges: list[list[tuple[int, int, int]]] = []

    def states(self, count: int) -> range:
        first = len(self.edges)
        self.edges += [[] for _ in range(count)]
        return range(first, first + count)

    def bytes(self, source: int, text: str, target: int) -> None:
        self.edges[source] += [(byte, byte, target) for byte in text.encode()]

    def chain(self, source: int, texts: list[str], target: int) -> None:
        """One byte of each text in turn, through fresh states."""
        for place, text in enumerate(texts):
            after = target if place == len(texts) - 1 else self.states(1)[0]
            self.bytes(source, text, after)
            source = after


def _raw(table: _Table, *, only_ascii: bool) -> None:
    num_states, edges = utf8_fragment(ASCII_JSON_TEXT if only_ascii else JSON_TEXT)
    table.states(num_states)
    for source, low, high, target in edges:
        table.edges[source].append((low, high, END_OF_CHARACTER if target == 1 else target))


def _canonical_unicode(table: _Table, unicode: int) -> None:
    """``u00`` and the number of a control character that has no short escape."""
    (third,) = table.states(1)
    table.chain(unicode, ["0", "0"], third)
    low, high = table.states(2)
    table.bytes(third, "0", low)
    table.bytes(third, "1", high)
    table.bytes(low, "01234567bef", END_OF_CHARACTER)
    table.bytes(high, "0123456789abcdef", END_OF_CHARACTER)


def _ascii_unicode(table: _Table, unicode: int) -> None:
    """``u`` and the number, in lower case, of what is neither printable ASCII nor has a short escape."""
    hexadecimal = "0123456789abcdef"
    zero, third, beyond, second, surrogate, high = table.states(6)
    table.bytes(unicode, "0", zero)
    table.bytes(unicode, "123456789abcef", second)
    table.bytes(unicode, "d", surrogate)
    table.bytes(zero, "0", third)
    table.bytes(zero, "123456789abcdef", beyond)
    table.bytes(second, hexadecimal, beyond)
    table.bytes(surrogate, "01234567", beyond)
    table.bytes(surrogate, "89ab", high)
    table.chain(beyond, [hexadecimal, hexadecimal], END_OF_CHARACTER)
    table.chain(high, [hexadecimal, hexadecimal, "\\", "u", "d", "cdef", hexadecimal, hexadecimal], END_OF_CHARACTER)
    low, escapes, delete, latin = table.states(4)
    table.bytes(third, "0", low)
    table.bytes(third, "1", escapes)
    table.bytes(third, "7", delete)
    table.bytes(third, "89abcdef", latin)
    table.bytes(low, "01234567bef", END_OF_CHARACTER)
    table.bytes(escapes, hexadecimal, END_OF_CHARACTER)
    table.bytes(delete, "f", END_OF_CHARACTER)
    table.bytes(latin, hexadecimal, END_OF_CHARACTER)


def _open_unicode(table: _Table, unicode: int) -> None:
    """Any four hexadecimal digits, a high surrogate together with its low one."""
    second, surrogate, high = table.states(3)
    table.bytes(unicode, _HEX.replace("d", "").replace("D", ""), second)
    table.bytes(unicode, "dD", surrogate)
    (third,) = table.states(1)
    table.bytes(second, _HEX, third)
    table.chain(third, [_HEX, _HEX], END_OF_CHARACTER)
    table.bytes(surrogate, "01234567", third)
    table.bytes(surrogate, "89abAB", high)
    table.chain(high, [_HEX, _HEX, "\\", "u", "dD", "cdefCDEF", _HEX, _HEX], END_OF_CHARACTER)


@lru_cache(maxsize=4)
def character_table(every: bool, only_ascii: bool = False) -> tuple[Int32Array, Int32Array]:
    """Offsets (Q + 1,) and edges (E, 3: low, high, next state or END_OF_CHARACTER), sorted by state and byte.

    State 0 starts; ``every``: the open spelling; ``only_ascii``: no byte beyond ASCII.
    """
    table = _Table()
    _raw(table, only_ascii=only_ascii)
    escape, unicode = table.states(2)
    table.bytes(0, "\\", escape)
    table.bytes(escape, '"\\bfnrt' + ("/" if every else ""), END_OF_CHARACTER)
    table.bytes(escape, "u", unicode)
    if every:
        _open_unicode(table, unicode)
    elif only_ascii:
        _ascii_unicode(table, unicode)
    else:
        _canonical_unicode(table, unicode)
    rows = [_joined(sorted(edges)) for edges in table.edges]
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return offsets, np.array([edge for row in rows for edge in row], np.int32).reshape(-1, 3)


def _joined(edges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Adjacent ranges with one target as one range."""
    result: list[tuple[int, int, int]] = []
    for low, high, target in edges:
        if result and result[-1][1] + 1 == low and result[-1][2] == target:
            result[-1] = (result[-1][0], high, target)
        else:
            result.append((low, high, target))
    return result
