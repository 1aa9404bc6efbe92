"""Token bitmasks of grammars with guards: what the machine allows, less what the guards deny.

The machine takes every guard to agree and notes, for each bitmask it computes, the nodes of the token trie at which
guards are asked (:mod:`grammars.masks.walk`). Here they are asked. Where one denies, the tokens of the subtree are
taken out, and those put back that the grammar allows in another way: through the stacks that do not need the guard.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from ..automaton.machine import Machine
from ..automaton.memory import (
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    DEAD,
    END_PENDING,
    FIRST_PENDING,
    FLAGS,
    FULL_PENDING,
    MASK_ROW,
    MASKS,
    MAX_MASKS,
    NUM_PENDING,
    NUM_WORDS,
    UNLISTED,
    Memory,
    wrap,
)
from ..automaton.transitions import filtered_transition
from ..guards.judge import Judge, marks_of
from ..guards.reading import canonical_text, string_text
from ..jit import copy_words, inlined, kernel
from ..vocabulary.bitmask import TokenBitmask
from ..vocabulary.tables import NODES, NUM_TWINS, TWINS
from ..vocabulary.trie import TOKEN_MASK
from .bits import set_bit
from .pending import BEYOND, INSIDE, SPELLED, Place, any_inside, find_place, guards_asked, list_odd, place_at
from .walk import list_places, walk_subtree

__all__ = ["Asked", "Narrower"]

_MOST_FOUND = 20_000
"""Texts whose places are kept in mind, for each bitmask."""
_FEW = 8
"""Places that are all asked about: no time is lost on choosing among them."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


@inlined
def clear_bit(memory: Memory, mask: int, token: int) -> None:
    """Forbid a token in the bitmask that begins at word ``mask``."""
    bit = token & 31
    if memory[mask + (token >> 5)] >> bit & 1:
        memory[mask + (token >> 5)] ^= (1 << bit) if bit < 31 else -(1 << 31)


@kernel
def begin_narrowing(memory: Memory, configuration: int) -> None:
    """Copy a configuration's bitmask to where it will be narrowed."""
    num_words = memory[NUM_WORDS]
    place = memory[memory[CONFIGURATIONS] + CONFIGURATION_WORDS * configuration + MASK_ROW]
    scratch = memory[MASKS] + memory[MAX_MASKS] * num_words
    copy_words(memory, scratch, memory, memory[MASKS] + place * num_words, num_words)


@kernel
def walk_again(memory: Memory, tables: Memory, node: int, target: int) -> int:
    """Take the tokens of a subtree out, and put back those that ``target`` (or DEAD) allows; negative when full."""
    mask = memory[MASKS] + memory[MAX_MASKS] * memory[NUM_WORDS]
    nodes = tables[NODES]
    for inner in range(node, node + (tables[nodes + 2 * node] >> 8)):
        token = tables[nodes + 2 * inner + 1] & TOKEN_MASK
        if token > 0:
            clear_bit(memory, mask, token - 1)
    if target < 0:
        return 0
    return walk_subtree(memory, tables, node, target, mask, False)


@kernel
def end_narrowing(memory: Memory, tables: Memory, bitmask: TokenBitmask, row: int) -> None:
    """Give twins the bits of their doubles, and copy the narrowed bitmask out."""
    num_words = memory[NUM_WORDS]
    mask = memory[MASKS] + memory[MAX_MASKS] * num_words
    twins = tables[TWINS]
    for twin in range(tables[NUM_TWINS]):
        token, double = tables[twins + 2 * twin], tables[twins + 2 * twin + 1]
        if memory[mask + (token >> 5)] >> (token & 31) & 1:
            set_bit(memory, mask, double)
        else:
            clear_bit(memory, mask, double)
    copy_words(bitmask[row], 0, memory, mask, num_words)


class Narrower:
    """Narrows the bitmasks of one machine. Called with the machine's lock held."""

    def __init__(self, machine: Machine, tables: Memory, guards: Sequence[Hashable]) -> None:
        """``guards``: those of the machine's grammar."""
        self.machine = machine
        self.marks = marks_of(guards)
        self.num_guards = len(guards)
        self.memory = machine.memory
        self.tables = tables
        self._asked: dict[int, Asked] = {}
        self._epoch = machine.epoch

    def narrow(self, configuration: int, judge: Judge, bitmask: TokenBitmask, row: int) -> int:
        """Take what the guards deny out of a row that holds the configuration's bitmask; negative when a table is full.

        For a configuration whose walk asks guards (:func:`~grammars.masks.pending.asks_guards`).
        """
        memory = self.memory
        asked = self.asked_at(configuration)
        if asked.are_unlisted:
            if asked.has_nothing_to_ask(judge):
                return 0
            status = self._list(configuration)
            if status < 0:
                return status
            asked = self.asked_at(configuration)
        places = asked.to_ask(judge)
        kept = int(memory[NUM_PENDING])
        status, narrowed = 0, False
        begins: list[tuple[int, int]] = []  # marks on the path: node behind the subtree, bytes before the JSON
        while status >= 0:
            settled = -1  # nodes before this one were walked again
            again: list[Place] = []
            for place in places:
                if place.node < settled:
                    continue
                begin = self._begin(begins, place)
                denied = [guard for guard in place.guards if not judge.agrees(guard, place.ahead, begin)]
                if not denied:
                    continue
                if not narrowed:
                    begin_narrowing(memory, configuration)
                    narrowed = True
                settled = place.end
                before = int(memory[NUM_PENDING])
                blocked = wrap(np.array(denied, np.int32))
                status = filtered_transition(memory, place.configuration, place.ahead[-1], blocked)
                if status >= DEAD:
                    status = walk_again(memory, self.tables, place.node, status)
                if status < 0:
                    break
                noted = range(before, int(memory[NUM_PENDING]))
                again += [place_at(memory, self.tables, index) for index in noted]
            if not again:
                break
            places = again
        if status >= 0 and narrowed:
            end_narrowing(memory, self.tables, bitmask, row)
        memory[NUM_PENDING] = kept
        return min(status, 0)

    def denied(self, configuration: int, judge: Judge) -> list[int]:
        """The guards that do not agree somewhere in the walk of a configuration's bitmask, which must be known."""
        if self.asked_at(configuration).are_unlisted and self._list(configuration) < 0:
            raise self.machine.limit_reached(FULL_PENDING)
        begins: list[tuple[int, int]] = []
        found: dict[int, None] = {}
        for place in self.asked_at(configuration).everywhere():
            begin = self._begin(begins, place)
            found.update((guard, None) for guard in place.guards if not judge.agrees(guard, place.ahead, begin))
        return list(found)

    def _list(self, configuration: int) -> int:
        """List the real places of a configuration; negative when a table is full."""
        status = int(list_places(self.memory, self.tables, configuration))
        if status == 0:
            del self._asked[configuration]
        return status

    def _begin(self, begins: list[tuple[int, int]], place: Place) -> int:
        """How many bytes of a place come before the JSON that begins in them, -1 if none does."""
        if not self.marks:
            return -1
        while begins and begins[-1][0] <= place.node:
            begins.pop()
        begin = begins[-1][1] if begins else -1
        if not self.marks.isdisjoint(place.guards):
            begins.append((place.end, len(place.ahead)))
        return begin

    def asked_at(self, configuration: int) -> Asked:
        """Where guards are asked in the walk of a configuration's bitmask."""
        if self._epoch != self.machine.epoch:
            self._asked.clear()
            self._epoch = self.machine.epoch
        asked = self._asked.get(configuration)
        if asked is None:
            record = int(self.memory[CONFIGURATIONS]) + CONFIGURATION_WORDS * configuration
            first, end = int(self.memory[record + FIRST_PENDING]), int(self.memory[record + END_PENDING])
            are_unlisted = bool(self.memory[record + FLAGS] & UNLISTED)
            asked = self._asked[configuration] = Asked(self, first, end, are_unlisted=are_unlisted)
        return asked


def canonical_ending(ahead: bytes, *, in_string: bool) -> bytes | None:
    r"""How ``json.dumps`` would write what bytes say up to the end of a value; ``None`` if it is no string or digits.

    >>> canonical_ending(rb'\u0061b"', in_string=True), canonical_ending(b' "a"', in_string=False)
    (b'ab"', b'"a"')
    """
    text = b'"' + ahead if in_string else ahead.lstrip(b" \t\r\n")
    if text.isdigit():
        return text
    if not _STRING.fullmatch(text):
        return None
    try:
        canonical = string_text(canonical_text(text))
    except ValueError:  # half a character, or an escape that is none
        return None
    return canonical[1:] if in_string else canonical


class Asked:
    """The places of one bitmask, and which of them are asked about."""

    def __init__(self, narrower: Narrower, first: int, end: int, *, are_unlisted: bool) -> None:
        self.memory, self.tables = narrower.memory, narrower.tables
        self.first, self.end = first, end
        self.are_unlisted = are_unlisted
        """Whether the places are those of rests of tokens: they say which guards are asked, and not at which tokens."""
        self.guards: Iterable[int] = range(narrower.num_guards)
        """The guards that are asked at them."""
        if narrower.num_guards > 1:
            self.guards = guards_asked(self.memory, self.tables, first, end)
        self.has_marks = not narrower.marks.isdisjoint(self.guards)
        self.has_inside = any_inside(self.memory, first, end)
        """Whether some token goes on behind the end of a value to another one."""
        self._odd: dict[int, list[int]] | None = None
        self._spelled: dict[bytes, list[int]] = {}
        """Places that mean the same as plain bytes, or canonical escapes, by these."""
        self._places: dict[int, Place] = {}
        self._found: dict[bytes, int] = {}
        """Places by their bytes, -1 where there is none."""

    def place(self, index: int) -> Place:
        """One of the places."""
        place = self._places.get(index)
        if place is None:
            place = self._places[index] = place_at(self.memory, self.tables, index)
        return place

    def everywhere(self) -> Iterable[Place]:
        """All places, in order."""
        return map(self.place, range(self.first, self.end))

    def has_nothing_to_ask(self, judge: Judge) -> bool:
        """Whether every guard agrees, wherever it may be asked."""
        if self.has_marks or self.has_inside:
            return False
        ahead = judge.denied_ahead(self.guards)
        return ahead.plain is not None and not (ahead.plain or ahead.spelled or ahead.beyond)

    def to_ask(self, judge: Judge) -> Iterable[Place]:
        """The places where some guard may not agree, in order."""
        if self.end - self.first <= _FEW or self.has_marks:
            return self.everywhere()
        plain, spelled, beyond = judge.denied_ahead(self.guards)
        if plain is None:
            return self.everywhere()
        chosen = {found for text in plain if text and (found := self._find(text)) >= 0}
        if spelled or beyond or self.has_inside:
            odd = self._sort_odd(in_string=judge.is_in_string) if self._odd is None else self._odd
            chosen.update(odd[INSIDE])
            if spelled:
                chosen.update(odd[SPELLED])
                chosen.update(index for text in plain for index in self._spelled.get(text, ()))
            if beyond:
                chosen.update(odd[BEYOND])
        return map(self.place, sorted(chosen))

    def _sort_odd(self, *, in_string: bool) -> dict[int, list[int]]:
        """The places that are not plain, by their kind."""
        pairs = np.empty(2 * (self.end - self.first), np.int32)
        count = list_odd(self.memory, self.tables, self.first, self.end, in_string, pairs)
        odd: dict[int, list[int]] = {SPELLED: [], BEYOND: [], INSIDE: []}
        for index, kind in pairs[: 2 * count].reshape(-1, 2).tolist():
            ending = canonical_ending(self.place(index).ahead, in_string=in_string) if kind == SPELLED else None
            if ending is None:
                odd[kind].append(index)
            else:
                self._spelled.setdefault(ending, []).append(index)
        self._odd = odd
        return odd

    def _find(self, text: bytes) -> int:
        found = self._found.get(text)
        if found is None:
            words = wrap(np.frombuffer(text, np.uint8).astype(np.int32))
            found = find_place(self.memory, self.tables, self.first, self.end, words)
            if len(self._found) < _MOST_FOUND:
                self._found[text] = found
        return found
