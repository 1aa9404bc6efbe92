"""How JSON spells strings, as small automata over bytes.

The canonical spelling writes every character raw but for quotes, backslashes and controls, which get the escapes
that ``json.dumps(..., ensure_ascii=False)`` gives them; so every string has exactly one spelling. The open
spelling also takes every other escape that means the same character; half of a surrogate pair is never taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ...ir.charset import JSON_TEXT, Charset, difference, from_ranges, intersection
from ...ir.utf8 import Fragment, utf8_fragment

__all__ = [
    "all_escapes",
    "canonical_escapes",
    "hex_fragment",
    "json_text",
    "other_strings",
    "spellings_of",
]

_SHORT_ESCAPES = {0x22: b'\\"', 0x5C: b"\\\\", 0x08: b"\\b", 0x0C: b"\\f", 0x0A: b"\\n", 0x0D: b"\\r", 0x09: b"\\t"}
_ESCAPED: Charset = from_ranges(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))
_END = -1
_Edges = tuple[tuple[int, int, int], ...]
_FragmentEdges = tuple[tuple[int, int, int, int], ...]
_Table = tuple[_Edges, ...]
"""An automaton of one character: for each state edges (low byte, high byte, next state), ``_END`` after it."""


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
def _character_table(every: bool) -> _Table:
    """The automaton of one spelled character, deterministic; state 0 starts."""
    _, raw = utf8_fragment(JSON_TEXT)
    states = 1 + max(max(source, target) for source, _, _, target in raw)
    table: list[list[tuple[int, int, int]]] = [[] for _ in range(states)]
    for source, low, high, target in raw:
        table[source].append((low, high, _END if target == 1 else target))

    def state() -> int:
        table.append([])
        return len(table) - 1

    def digits(source: int, text: str, target: int) -> None:
        table[source].extend((byte, byte, target) for byte in text.encode())

    escape, unicode = state(), state()
    table[0].append((92, 92, escape))
    digits(escape, '"\\bfnrt' + ("/" if every else ""), _END)
    digits(escape, "u", unicode)
    if not every:
        second, third, low_digit, high_digit = state(), state(), state(), state()
        digits(unicode, "0", second)
        digits(second, "0", third)
        digits(third, "0", low_digit)
        digits(third, "1", high_digit)
        digits(low_digit, "01234567bef", _END)
        digits(high_digit, "0123456789abcdef", _END)
        return tuple(tuple(sorted(edges)) for edges in table)
    every_hex = "0123456789abcdefABCDEF"
    second, third, fourth, surrogate = state(), state(), state(), state()
    digits(unicode, every_hex.replace("d", "").replace("D", ""), second)
    digits(unicode, "dD", surrogate)
    digits(second, every_hex, third)
    digits(third, every_hex, fourth)
    digits(fourth, every_hex, _END)
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
    digits(low4, every_hex, _END)
    return tuple(tuple(sorted(edges)) for edges in table)


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


class _Trie:
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
    trie = _Trie(strings, True)
    # trie state s is s + 2; 0 -quote-> the root; every end -quote-> 1
    edges: list[tuple[int, int, int, int]] = [(0, 34, 34, 2)]
    for state, outgoing in enumerate(trie.edges):
        edges.extend((state + 2, byte, byte, target + 2) for byte, target in outgoing.items())
    edges.extend((state + 2, 34, 34, 1) for state in sorted(trie.ends))
    return len(trie.edges) + 2, tuple(edges)


def other_strings(names: Sequence[str], *, every: bool) -> tuple[Fragment, Fragment]:
    """The strings that are none of ``names`` (at least one), without the opening quote, in two parts.

    The first fragment matches up to the character where a string leaves all the names: any text and a quote may
    follow. The second matches the strings (closing quote included) that are only the beginning of a name.
    """
    if not every and all(name.isascii() and name.isprintable() for name in names):
        joined = "".join(names)
        if '"' not in joined and "\\" not in joined:
            return _other_plain_strings(names)
    return _other_spelled_strings(names, every)


def _other_plain_strings(names: Sequence[str]) -> tuple[Fragment, Fragment]:
    """:func:`other_strings` for names that are spelled as they are, one byte a character: most names by far."""
    children: list[dict[int, int]] = [{}]
    ends: set[int] = set()
    for name in names:
        state = 0
        for byte in name.encode():
            after = children[state].get(byte)
            if after is None:
                after = children[state][byte] = len(children)
                children.append({})
            state = after
        ends.add(state)
    # states: 0 starts (the root), 1 ends, s + 1 is state s > 0 of the trie, then the shared ways out
    fixed_edges, fixed_count = _ways_out(len(children) + 1)
    edges = list(fixed_edges)
    stops: list[tuple[int, int, int, int]] = []
    exits: dict[tuple[int, ...], int] = {}
    count = fixed_count
    base = len(children) + 1
    dead = _without_a_beginning(children, ends)
    for state, inner in enumerate(children):
        source = state + 1 if state else 0
        key = tuple(inner) if len(inner) < 2 else tuple(sorted(inner))
        way_out = exits.get(key)
        if way_out is None:
            way_out = exits[key] = count
            count += 1
            edges.append((way_out, 1, 0, base))
            edges += [(way_out, low, high, 1) for low, high in _plain_ranges_without(key)]
        edges.append((source, 1, 0, way_out))
        for byte, goal in inner.items():
            edge = (source, byte, byte, goal + 1)
            edges.append(edge)
            if goal not in dead:
                stops.append(edge)
        if state not in ends:
            stops.append((source, 34, 34, 1))
    return (count, tuple(edges)), (len(children) + 1, tuple(stops))


def _without_a_beginning(children: Sequence[dict[int, int]], ends: set[int]) -> set[int]:
    """States of a trie from which no state is reached that is only the beginning of a name."""
    dead: set[int] = set()
    for state in sorted(ends, reverse=True):
        if all(goal in dead for goal in children[state].values()):
            dead.add(state)
    return dead


@lru_cache(maxsize=4096)
def _plain_ranges_without(taken: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The bytes that spell an ASCII character by themselves, without those in ``taken``."""
    plain = intersection(JSON_TEXT, ((0, 0x7F),))
    return difference(plain, from_ranges((byte, byte) for byte in taken))


@lru_cache(maxsize=512)
def _ways_out(base: int) -> tuple[_FragmentEdges, int]:
    """Edges of all characters of several bytes, from state ``base`` to state 1; and the next free state."""
    table = _character_table(False)
    edges = []
    for state, row in enumerate(table):
        edges += [
            (base + state, low, high, 1 if after == _END else base + after)
            for low, high, after in row
            if state or low >= 0x80 or low == 92
        ]
    return tuple(edges), base + len(table)


def _other_spelled_strings(names: Sequence[str], every: bool) -> tuple[Fragment, Fragment]:
    """:func:`other_strings` for any names, by the product of the names' trie and the automaton of a character."""
    trie = _Trie(names, every)
    dead = _without_a_beginning(trie.edges, trie.ends)
    table = _character_table(every)
    edges_of, ends = trie.edges, trie.ends
    count = len(edges_of)
    # states: 0 starts (the root of the trie), 1 ends, s + 1 is state s > 0 of the trie, then the states of the table
    shared = count  # table state q > 0 is shared + q
    place = [0] * count  # the state of the table that each state of the trie is in
    edges: list[tuple[int, int, int, int]] = []
    stops: list[tuple[int, int, int, int]] = []
    for state in range(count):  # what lies inside a character comes after the character's start
        source = state + 1 if state else 0
        inner = edges_of[state]
        row = table[place[state]]
        for low, high, after in row:
            target = 1 if after == _END else shared + after
            cut = low
            for byte in sorted(byte for byte in inner if low <= byte <= high) if inner else ():
                if cut < byte:
                    edges.append((source, cut, byte - 1, target))
                cut = byte + 1
                goal = inner[byte]
                place[goal] = 0 if after == _END else after
                edges.append((source, byte, byte, goal + 1))
            if cut <= high:
                edges.append((source, cut, high, target))
        stops.extend((source, byte, byte, goal + 1) for byte, goal in inner.items() if goal not in dead)
        if state not in ends and place[state] == 0:
            stops.append((source, 34, 34, 1))
    for state in range(1, len(table)):
        for low, high, after in table[state]:
            edges.append((shared + state, low, high, 1 if after == _END else shared + after))
    total = shared + len(table)
    return (total, tuple(edges)), (count + 1, tuple(stops))
