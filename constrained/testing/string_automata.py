"""The slow twin of JSON strings in the network: the same languages as small automata, built in plain Python.

:func:`expand` rewrites the JSON_STRINGS nodes of an IR into them, for the slow recogniser; VERBATIM ones it writes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from grammars.frontends.json_schema.spelling import json_text
from grammars.ir import IR, Builder, Kind, NodeId, RuleId
from grammars.ir.charset import JSON_TEXT, difference, from_ranges, intersection
from grammars.ir.json_character import character_table as shared_table
from grammars.ir.nodes import UNBOUNDED
from grammars.ir.utf8 import Fragment, utf8_fragment
from grammars.ir.verbatim import Verbatim, document_of, unit_bounds, written

__all__ = ["expand", "other_strings", "spellings_of"]

END = -1
_SHORT_ESCAPES = {0x22: b'\\"', 0x5C: b"\\\\", 0x08: b"\\b", 0x0C: b"\\f", 0x0A: b"\\n", 0x0D: b"\\r", 0x09: b"\\t"}
_Edges = tuple[tuple[int, int, int], ...]
FragmentEdges = tuple[tuple[int, int, int, int], ...]
_Table = tuple[_Edges, ...]
"""An automaton of one character: for each state edges (low byte, high byte, next state), ``END`` after it."""


def expand(ir: IR) -> IR:
    """The same grammar without JSON_STRINGS and VERBATIM nodes."""
    builder = Builder()
    rules = [builder.declare_rule(name) for name in ir.rule_names]
    built: list[NodeId] = []
    for kind, a, b, c in ir.nodes.tolist():
        listed = ir.children[a : a + b].tolist() if kind in _LISTS else []
        built.append(
            _rebuild(builder, ir, Kind(kind), (a, b, c), [built[child] for child in listed], listed, built, rules)
        )
    for rule, node in zip(rules, ir.rules.tolist(), strict=True):
        builder.define_rule(rule, built[node])
    return builder.finish(built[ir.start])


_LISTS = (Kind.SEQUENCE, Kind.ALTERNATION, Kind.LITERALS, Kind.JSON_STRINGS)


def _rebuild(
    builder: Builder, ir: IR, kind: Kind, arguments: tuple[int, int, int], children: list[NodeId], listed: list[int],
    built: list[NodeId], rules: list[RuleId],
) -> NodeId:  # fmt: skip
    a, b, c = arguments
    match kind:
        case Kind.NEVER:
            return builder.never
        case Kind.EPSILON | Kind.GUARD:  # a guard is taken to agree
            return builder.epsilon
        case Kind.LITERAL:
            return builder.literal(ir.data[a : a + b].tobytes())
        case Kind.FRAGMENT:
            edges = ir.fragment_edges[ir.fragments[a] : ir.fragments[a + 1]].tolist()
            return builder.fragment((int(ir.fragment_states[a]), tuple(map(tuple, edges))))
        case Kind.SEQUENCE:
            return builder.sequence(*children)
        case Kind.ALTERNATION | Kind.LITERALS:
            return builder.alternation(*children)
        case Kind.REPEAT:
            return builder.repeat(built[a], b, None if c == UNBOUNDED else c)
        case Kind.CALL:
            return builder.call(rules[a])
        case Kind.JSON_STRINGS:
            assert not c & 4, "the twin writes characters beyond ASCII raw"
            texts = [_text(ir, child) for child in listed]
            return _strings(builder, texts, every=bool(c & 1), others=bool(c & 2))
        case Kind.VERBATIM:
            return builder.literals(_pieces(ir.verbatims[a]))
        case Kind.REGISTER:
            raise ValueError("no context-free recogniser keeps registers")
        case Kind.SPECIAL | Kind.LIMITED:
            raise ValueError("expected the grammar as it is made for one vocabulary, see grammars.ir.private")


def _pieces(verbatim: Verbatim) -> Iterator[bytes]:
    """Everything that verbatim text from a document may be: as many texts as the square of its length."""
    document = document_of(verbatim)
    begins, ends = unit_bounds(document, verbatim.by)
    for begin in range(len(document)):
        for end in range(begin, len(document)):
            if begins[begin] and ends[end]:
                yield written(document[begin : end + 1], verbatim.spelling)


def _text(ir: IR, node: int) -> str:
    kind, a, b, _ = ir.nodes[node].tolist()
    return "" if kind == Kind.EPSILON else ir.data[a : a + b].tobytes().decode()


def _strings(builder: Builder, texts: list[str], *, every: bool, others: bool) -> NodeId:
    quote = builder.literal('"')
    if not others:
        return builder.fragment(spellings_of(texts)) if every else builder.literals(map(json_text, texts))
    rest = builder.sequence(builder.repeat(builder.fragment(_any_character(every)), 0), quote)
    if not texts:
        return builder.sequence(quote, rest)
    leaving, stopping = other_strings(texts, every=every)
    away = builder.sequence(builder.fragment(leaving), rest)
    return builder.sequence(quote, builder.alternation(away, builder.fragment(stopping)))


def _any_character(every: bool) -> Fragment:
    """One character in any of its spellings."""
    offsets, edges = shared_table(every)
    places = range(len(offsets) - 1)
    return len(places) + 1, tuple(
        (place + 1 if place else 0, low, high, 1 if after < 0 else after + 1)
        for place in places
        for low, high, after in edges[offsets[place] : offsets[place + 1]].tolist()
    )


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


def _without_a_beginning(children: Sequence[Mapping[Any, int]], ends: set[int]) -> set[int]:
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
def _ways_out(base: int) -> tuple[FragmentEdges, int]:
    """Edges of all characters of several bytes, from state ``base`` to state 1; and the next free state."""
    table = character_table(False)
    edges = []
    for state, row in enumerate(table):
        edges += [
            (base + state, low, high, 1 if after == END else base + after)
            for low, high, after in row
            if state or low >= 0x80 or low == 92
        ]
    return tuple(edges), base + len(table)


def _other_spelled_strings(names: Sequence[str], every: bool) -> tuple[Fragment, Fragment]:
    """:func:`other_strings` for any names, by their trie over characters."""
    children: list[dict[str, int]] = [{}]
    ends: set[int] = set()
    for name in names:
        state = 0
        for character in name:
            after = children[state].get(character)
            if after is None:
                after = children[state][character] = len(children)
                children.append({})
            state = after
        ends.add(state)
    dead = _without_a_beginning(children, ends)
    # states: 0 starts (the root), 1 ends, s + 1 is state s > 0 of the trie; then the states of the table, then others
    base = len(children) + 1
    table = character_table(every)
    edges = [
        (base + state, low, high, 1 if after == END else base + after)
        for state, row in enumerate(table)
        for low, high, after in row
        if state
    ]
    stops: list[tuple[int, int, int, int]] = []
    exits: dict[tuple[str, ...], int] = {}
    count, stop_count = base + len(table), base
    for state, inner in enumerate(children):
        source = state + 1 if state else 0
        key = tuple(sorted(inner))
        way_out = exits.get(key)
        if way_out is None:
            way_out = exits[key] = count
            leaving, states = _way_out(key, every)
            edges += [
                (count + start, low, high, count + end if end >= 0 else 1 if end == END else base - 1 - end)
                for start, low, high, end in leaving
            ]
            count += states
        edges.append((source, 1, 0, way_out))
        for character, goal in inner.items():
            path, inside = _spelled_path(character, every)
            target = goal + 1
            edges += _placed(path, source, target, count)
            count += inside
            if goal not in dead:
                stops += _placed(path, source, target, stop_count)
                stop_count += inside
        if state not in ends:
            stops.append((source, 34, 34, 1))
    return (count, tuple(edges)), (stop_count, tuple(stops))


def _placed(path: FragmentEdges, source: int, target: int, base: int) -> list[tuple[int, int, int, int]]:
    """The path with its ends 0 and 1 at ``source`` and ``target``, and its inner states from ``base`` on."""
    ends = (source, target)
    return [
        (ends[start] if start < 2 else base + start - 2, low, high, ends[end] if end < 2 else base + end - 2)
        for start, low, high, end in path
    ]


@lru_cache(maxsize=4096)
def _spelled_path(character: str, every: bool) -> tuple[FragmentEdges, int]:
    """All spellings of one character, from state 0 to state 1; and the number of states between."""
    trie = SpellingTrie((character,), every)
    (end,) = trie.ends
    place = {0: 0, end: 1}
    for state in range(len(trie.edges)):
        place.setdefault(state, len(place))
    edges = tuple(
        (place[state], byte, byte, place[after])
        for state, outgoing in enumerate(trie.edges)
        for byte, after in outgoing.items()
    )
    return edges, len(trie.edges) - 2


@lru_cache(maxsize=4096)
def _way_out(taken: tuple[str, ...], every: bool) -> tuple[FragmentEdges, int]:
    """All spellings of the characters that are not ``taken``, from state 0 on; and the number of states.

    A target below zero is ``END`` or state q of the table of a character, written as ``-1 - q``.
    """
    trie = SpellingTrie(taken, every)
    table = character_table(every)
    place = [0] * len(trie.edges)  # the state of the table that each state of the trie is in
    edges: list[tuple[int, int, int, int]] = []
    for state, inner in enumerate(trie.edges):
        if state in trie.ends:
            continue
        for low, high, after in table[place[state]]:
            target = END if after == END else -1 - after
            cut = low
            for byte in sorted(byte for byte in inner if low <= byte <= high):
                if cut < byte:
                    edges.append((state, cut, byte - 1, target))
                cut = byte + 1
                if inner[byte] not in trie.ends:
                    place[inner[byte]] = after
                    edges.append((state, byte, byte, inner[byte]))
            if cut <= high:
                edges.append((state, cut, high, target))
    return tuple(edges), len(trie.edges)


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
