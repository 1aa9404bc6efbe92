"""How JSON spells strings, as small automata over bytes.

The canonical spelling writes every character raw but for quotes, backslashes and controls, which get the escapes
that ``json.dumps(..., ensure_ascii=False)`` gives them; so every string has exactly one spelling. The open
spelling also takes every other escape that means the same character; half of a surrogate pair is never taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from ...ir.charset import JSON_TEXT, Charset, from_ranges, intersection
from ...ir.utf8 import Fragment, utf8_fragment

__all__ = [
    "END",
    "FragmentEdges",
    "SpellingTrie",
    "all_escapes",
    "canonical_escapes",
    "character_table",
    "hex_fragment",
    "json_text",
    "spellings_of",
]

_SHORT_ESCAPES = {0x22: b'\\"', 0x5C: b"\\\\", 0x08: b"\\b", 0x0C: b"\\f", 0x0A: b"\\n", 0x0D: b"\\r", 0x09: b"\\t"}
_ESCAPED: Charset = from_ranges(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))
END = -1
_Edges = tuple[tuple[int, int, int], ...]
FragmentEdges = tuple[tuple[int, int, int, int], ...]
_Table = tuple[_Edges, ...]
"""An automaton of one character: for each state edges (low byte, high byte, next state), ``END`` after it."""


def json_text(text: str) -> bytes:
    """The canonical JSON string of ``text``, quotes included.

    >>> json_text('a"\\n\\x01é')
    b'"a\\\\"\\\\n\\\\u0001\\xc3\\xa9"'
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return b'"' + text.encode() + b'"'
    parts = bytearray(b'"')
    for character in text:
        code = ord(character)
        short = _SHORT_ESCAPES.get(code)
        if short is not None:
            parts += short
        elif code < 0x20:
            parts += b"\\u%04x" % code
        else:
            parts += character.encode()
    return bytes(parts + b'"')


def canonical_escapes(members: Charset) -> tuple[bytes, ...]:
    """The escapes that spell those ``members`` that cannot stand raw."""
    codes = [code for low, high in intersection(members, _ESCAPED) for code in range(low, high + 1)]
    return tuple(_SHORT_ESCAPES.get(code) or b"\\u%04x" % code for code in codes)


# -- escapes by code point ----------------------------------------------------------------------------------------


def _hex_ranges(low: int, high: int, digits: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Split ``low..high`` into runs of hexadecimal digits that vary on their own."""
    if digits == 0:
        yield ()
        return
    unit = 16 ** (digits - 1)
    first, last = low // unit, high // unit
    if first == last:
        for rest in _hex_ranges(low % unit, high % unit, digits - 1):
            yield ((first, first), *rest)
        return
    if low % unit:
        for rest in _hex_ranges(low % unit, unit - 1, digits - 1):
            yield ((first, first), *rest)
        first += 1
    whole_end = last if high % unit == unit - 1 else last - 1
    if first <= whole_end:
        yield ((first, whole_end), *([(0, 15)] * (digits - 1)))
    if whole_end < last:
        for rest in _hex_ranges(0, high % unit, digits - 1):
            yield ((last, last), *rest)


def _hex_bytes(low: int, high: int) -> Iterator[tuple[int, int]]:
    """The bytes that write the digits ``low..high``, in either case."""
    if low <= 9:
        yield (48 + low, 48 + min(high, 9))
    if high >= 10:
        first = max(low, 10)
        yield (55 + first, 55 + high)
        yield (87 + first, 87 + high)


def _units(members: Charset) -> Iterator[tuple[tuple[int, int], ...]]:
    """The members as ranges of UTF-16 units: one for the basic plane, two for the rest."""
    for low, high in members:
        if low <= 0xFFFF:
            yield ((low, min(high, 0xFFFF)),)
        low = max(low, 0x10000)
        while low <= high:
            lead = (low - 0x10000) >> 10
            start = (low - 0x10000) & 0x3FF
            if start == 0 and (high - 0x10000) >> 10 > lead:  # whole blocks at once
                last = ((high - 0x10000 + 1) >> 10) - 1
                yield ((0xD800 + lead, 0xD800 + last), (0xDC00, 0xDFFF))
                low = 0x10000 + ((last + 1) << 10)
                continue
            end = min(high, 0x10000 + (lead << 10) + 0x3FF)
            yield ((0xD800 + lead, 0xD800 + lead), (0xDC00 + start, 0xDC00 + ((end - 0x10000) & 0x3FF)))
            low = end + 1


@lru_cache(maxsize=512)
def hex_fragment(members: Charset) -> Fragment:
    r"""``\uXXXX`` for each member, a pair of them where one is not enough; hexadecimal digits in either case."""
    edges: list[tuple[int, int, int, int]] = []
    count = 2
    for units in _units(members):
        sequences = [list(_hex_ranges(low, high, 4)) for low, high in units]
        starts = {0}
        for index, choices in enumerate(sequences):
            target_of_unit = 1 if index == len(sequences) - 1 else count
            count += index < len(sequences) - 1
            for start in starts:
                edges.append((start, 92, 92, count))
                edges.append((count, 117, 117, count + 1))
                opened = count + 1
                count += 2
                for digits in choices:
                    state = opened
                    for place, (low, high) in enumerate(digits):
                        target = target_of_unit if place == 3 else count
                        count += place < 3
                        edges.extend((state, first, last, target) for first, last in _hex_bytes(low, high))
                        state = target
            starts = {target_of_unit}
    return count, tuple(edges)


def all_escapes(members: Charset) -> tuple[bytes, ...]:
    """The two-character escapes of ``members`` that are not plain, the idle one of the slash included."""
    short = tuple(text for code, text in _SHORT_ESCAPES.items() if any(low <= code <= high for low, high in members))
    return (*short, b"\\/") if any(low <= 0x2F <= high for low, high in members) else short


# -- one character as a table -------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def character_table(every: bool) -> _Table:
    """The automaton of one spelled character, deterministic; state 0 starts."""
    _, raw = utf8_fragment(JSON_TEXT)
    states = 1 + max(max(source, target) for source, _, _, target in raw)
    table: list[list[tuple[int, int, int]]] = [[] for _ in range(states)]
    for source, low, high, target in raw:
        table[source].append((low, high, END if target == 1 else target))

    def state() -> int:
        table.append([])
        return len(table) - 1

    def digits(source: int, text: str, target: int) -> None:
        table[source].extend((byte, byte, target) for byte in text.encode())

    escape, unicode = state(), state()
    table[0].append((92, 92, escape))
    digits(escape, '"\\bfnrt' + ("/" if every else ""), END)
    digits(escape, "u", unicode)
    if not every:
        second, third, low_digit, high_digit = state(), state(), state(), state()
        digits(unicode, "0", second)
        digits(second, "0", third)
        digits(third, "0", low_digit)
        digits(third, "1", high_digit)
        digits(low_digit, "01234567bef", END)
        digits(high_digit, "0123456789abcdef", END)
        return tuple(map(_joined, table))
    every_hex = "0123456789abcdefABCDEF"
    second, third, fourth, surrogate = state(), state(), state(), state()
    digits(unicode, every_hex.replace("d", "").replace("D", ""), second)
    digits(unicode, "dD", surrogate)
    digits(second, every_hex, third)
    digits(third, every_hex, fourth)
    digits(fourth, every_hex, END)
    digits(surrogate, "01234567", third)
    high3, high4, slash, low0, low1, low2, low3, low4 = (state() for _ in range(8))
    digits(surrogate, "89abAB", high3)
    digits(high3, every_hex, high4)
    digits(high4, every_hex, slash)
    digits(slash, "\\", low0)
    digits(low0, "u", low1)
    digits(low1, "dD", low2)
    digits(low2, "cdefCDEF", low3)
    digits(low3, every_hex, low4)
    digits(low4, every_hex, END)
    return tuple(map(_joined, table))


def _joined(edges: list[tuple[int, int, int]]) -> _Edges:
    """The edges in order, neighbours with one target as one."""
    joined: list[tuple[int, int, int]] = []
    for low, high, target in sorted(edges):
        if joined and joined[-1][1] == low - 1 and joined[-1][2] == target:
            joined[-1] = (joined[-1][0], high, target)
        else:
            joined.append((low, high, target))
    return tuple(joined)


# -- automata of whole strings ------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _spellings(character: str) -> tuple[bytes, ...]:
    """Every spelling of one character, hexadecimal digits in lower case (the caller doubles the case)."""
    code = ord(character)
    found = [] if code < 0x20 or code in (0x22, 0x5C) else [character.encode()]
    if code in _SHORT_ESCAPES:
        found.append(_SHORT_ESCAPES[code])
    elif code == 0x2F:
        found.append(b"\\/")
    if code <= 0xFFFF:
        found.append(b"\\u%04x" % code)
    else:
        found.append(b"\\u%04x\\u%04x" % (0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)))
    return tuple(found)


class SpellingTrie:
    """Strings as a tree of states over bytes: ``edges[state]`` maps a byte to the next state.

    With ``every`` spelling the branches of one character meet again, so it is a graph; upper-case hexadecimal
    digits are entered beside the lower-case ones.
    """

    def __init__(self, strings: Iterable[str], every: bool) -> None:
        self.edges: list[dict[int, int]] = [{}]
        self.ends: set[int] = set()
        for text in strings:
            self.ends.add(self._add_every(text) if every else self._add(json_text(text)[1:-1]))

    def _state(self) -> int:
        self.edges.append({})
        return len(self.edges) - 1

    def _add(self, data: bytes) -> int:
        edges = self.edges
        state = 0
        for byte in data:
            after = edges[state].get(byte)
            if after is None:
                after = edges[state][byte] = len(edges)
                edges.append({})
            state = after
        return state

    def _add_every(self, text: str) -> int:
        state = 0
        for character in text:
            spellings = _spellings(character)
            probe: int | None = state
            for byte in spellings[0]:
                probe = None if probe is None else self.edges[probe].get(byte)
            target = self._state() if probe is None else probe
            if probe is None:
                for spelling in spellings:
                    self._enter(state, spelling, target)
            state = target
        return state

    def _enter(self, state: int, spelling: bytes, target: int) -> None:
        is_hex = spelling[:2] == b"\\u"
        for place, byte in enumerate(spelling):
            last = place == len(spelling) - 1
            after = self.edges[state].get(byte)
            if after is None:
                after = target if last else self._state()
                self.edges[state][byte] = after
                if is_hex and place % 6 >= 2 and 97 <= byte <= 102:
                    self.edges[state][byte - 32] = after
            state = after


def spellings_of(strings: Iterable[str]) -> Fragment:
    """Every spelling of each of the ``strings``, quotes included."""
    trie = SpellingTrie(strings, True)
    # trie state s is s + 2; 0 -quote-> the root; every end -quote-> 1
    edges: list[tuple[int, int, int, int]] = [(0, 34, 34, 2)]
    for state, outgoing in enumerate(trie.edges):
        edges.extend((state + 2, byte, byte, target + 2) for byte, target in outgoing.items())
    edges.extend((state + 2, 34, 34, 1) for state in sorted(trie.ends))
    return len(trie.edges) + 2, tuple(edges)
