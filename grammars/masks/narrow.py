"""Token bitmasks of grammars with guards: what the machine allows, less what the guards deny.

The machine takes every guard to agree and notes, for each bitmask it computes, the nodes of the token trie at which
guards are asked (:mod:`grammars.masks.walk`). Here they are asked. Where one denies, the tokens of the subtree are
taken out, and those put back that the grammar allows in another way: through the stacks that do not need the guard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from ..automaton.machine import Machine
from ..automaton.memory import (
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    DEAD,
    END_PENDING,
    FIRST_GUARDED,
    FIRST_PENDING,
    GUARDED,
    MASK_ROW,
    MASKS,
    MAX_MASKS,
    NUM_PENDING,
    NUM_WORDS,
    PENDING,
    PENDING_WORDS,
    TRANSITIONS,
    Memory,
    words_of,
    wrap,
)
from ..automaton.transitions import filtered_transition, guarded_target, run_to_guard
from ..guards.judge import Judge
from ..guards.reading import canonical_text, string_text
from ..jit import copy_words, inlined, kernel
from ..vocabulary.bitmask import TokenBitmask
from ..vocabulary.tables import NODES, NUM_TWINS, TOKEN_BYTES, TOKEN_OFFSETS, TWINS
from ..vocabulary.trie import DEPTH_SHIFT, TOKEN_MASK
from .walk import set_bit, walk_subtree

__all__ = ["Narrower", "run_past_guards"]

_PLAIN = re.compile(rb'[^"\\]*"|[ \t\n\r]*(?:"[^"\\]*"|[0-9]+)')
_REST = re.compile(rb'(?:[^"\\]|\\.)*"', re.DOTALL)  # of a string that is open
_WHOLE = re.compile(rb'[ \t\n\r]*"((?:[^"\\]|\\.)*")', re.DOTALL)


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


def text_of_node(tables: Memory, node: int) -> bytes:
    """The bytes on the path to a node of the token trie, its own included."""
    nodes = tables[NODES]
    depth = int(tables[nodes + 2 * node + 1]) >> DEPTH_SHIFT
    below = node
    while not int(tables[nodes + 2 * below + 1]) & TOKEN_MASK:
        below += 1
    token = (int(tables[nodes + 2 * below + 1]) & TOKEN_MASK) - 1
    first = int(tables[TOKEN_BYTES]) + int(tables[int(tables[TOKEN_OFFSETS]) + token])
    return bytes(words_of(tables)[first : first + depth + 1].astype(np.uint8))


def guards_of(memory: Memory, code: int) -> tuple[int, ...]:
    """The guards that a transition hangs on."""
    first = int(memory[GUARDED]) + FIRST_GUARDED - code
    return tuple(words_of(memory)[first + 2 : first + 2 + int(memory[first + 1])].tolist())


def run_past_guards(
    memory: Memory, configuration: int, data: Memory, first: int, end: int, judge: Callable[[], Judge]
) -> int:
    """Take ``data[first:end]``, asking the guards on the way: a configuration, DEAD, or what is full.

    ``judge`` is called when it is first needed, and stands where ``data[first]`` begins.
    """
    stopped = wrap(np.empty(1, np.int32))
    whole = first
    begin = -1
    while True:
        configuration = run_to_guard(memory, configuration, data, first, end, stopped)
        at = int(stopped[0])
        if configuration < 0 or at == end:
            if configuration > 0 and begin > 0:
                judge().json_begins(begin)
            return configuration
        ahead = bytes(words_of(data)[whole : at + 1].astype(np.uint8))
        code = int(memory[int(memory[TRANSITIONS]) + 256 * configuration + ahead[-1]])
        guards = guards_of(memory, code)
        denied = [guard for guard in guards if not judge().agrees(guard, ahead, begin)]
        if not judge().marks.isdisjoint(guards):
            begin = len(ahead)
        if denied:
            configuration = filtered_transition(memory, configuration, ahead[-1], wrap(np.array(denied, np.int32)))
        else:
            configuration = guarded_target(memory, code)
        if configuration < 0:
            return configuration
        first = at + 1


class Narrower:
    """Narrows the bitmasks of one machine. Called with the machine's lock held."""

    def __init__(self, machine: Machine, tables: Memory, guards: Sequence[Hashable]) -> None:
        """``guards``: those of the machine's grammar."""
        self.machine = machine
        self.marks = Judge(guards).marks
        self.memory = machine.memory
        self.tables = tables
        self._asked: dict[int, _Asked] = {}
        self._epoch = machine.epoch

    def narrow(self, configuration: int, judge: Callable[[], Judge], bitmask: TokenBitmask, row: int) -> int:
        """Take what the guards deny out of a row that holds the configuration's bitmask; negative when a table is full.

        ``judge`` is called when it is first needed.
        """
        memory = self.memory
        asked = self._asked_at(configuration)
        if asked is None:
            return 0
        places = asked.to_ask(judge())
        kept = int(memory[NUM_PENDING])
        status, narrowed = 0, False
        while places and status >= 0:
            settled = -1  # nodes before this one were walked again
            again: list[tuple[int, int]] = []
            for place in places:
                if place.node < settled:
                    continue
                denied = [guard for guard in place.guards if not judge().agrees(guard, place.ahead, place.begin)]
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
                again.append((before, int(memory[NUM_PENDING])))
            places = [place for first, end in again for place in self._places(first, end)]
        if status >= 0 and narrowed:
            end_narrowing(memory, self.tables, bitmask, row)
        memory[NUM_PENDING] = kept
        return status

    def _asked_at(self, configuration: int) -> _Asked | None:
        """Where guards are asked in the walk of a configuration's bitmask, ``None`` if nowhere."""
        memory = self.memory
        record = int(memory[CONFIGURATIONS]) + CONFIGURATION_WORDS * configuration
        first, end = int(memory[record + FIRST_PENDING]), int(memory[record + END_PENDING])
        if first == end:
            return None
        if self._epoch != self.machine.epoch:
            self._asked.clear()
            self._epoch = self.machine.epoch
        asked = self._asked.get(configuration)
        if asked is None:
            asked = self._asked[configuration] = _Asked(self._places(first, end))
        return asked

    def _places(self, first: int, end: int) -> list[_Place]:
        """The places noted from ``first`` to ``end``, in the order of the walk."""
        memory, tables = self.memory, self.tables
        base = int(memory[PENDING])
        noted = words_of(memory)[base + PENDING_WORDS * first : base + PENDING_WORDS * end]
        found = []
        begins: list[tuple[int, int]] = []  # marks on the path: node behind the subtree, bytes before the JSON
        for node, configuration, inside in noted.reshape(-1, PENDING_WORDS).tolist():
            word = int(tables[int(tables[NODES]) + 2 * node])
            code = int(memory[int(memory[TRANSITIONS]) + 256 * configuration + (word & 0xFF)])
            ahead, guards, behind = text_of_node(tables, node), guards_of(memory, code), node + (word >> 8)
            while begins and begins[-1][0] <= node:
                begins.pop()
            begin = begins[-1][1] if begins else -1
            found.append(_Place(node, behind, configuration, bool(inside), ahead, begin, guards))
            if not self.marks.isdisjoint(guards):
                begins.append((behind, len(ahead)))
        return found


class _Place(NamedTuple):
    """A node of the token trie at which guards are asked."""

    node: int
    end: int
    """The node behind its subtree."""
    configuration: int
    """Before its byte."""
    inside: bool
    """Whether it lies below another such node."""
    ahead: bytes
    begin: int
    """How many of them come before the JSON that begins there, -1: none does."""
    guards: tuple[int, ...]


def canonical_endings(ahead: bytes) -> list[bytes]:
    r"""What a place's bytes write of a value, as :meth:`Question.denied_ahead` would: the rest of a string or a whole
    one, or digits; two if they can be either. Empty if they are none of these.

    >>> canonical_endings(rb'\u0061b"'), canonical_endings(b' "a"'), canonical_endings(b'1, 2')
    ([b'ab"'], [b' "a"', b'"a"'], [])
    """
    if _PLAIN.fullmatch(ahead):
        stripped = ahead.lstrip(b" \t\r\n")
        return [ahead] if stripped == ahead else [ahead, stripped]
    whole = _WHOLE.fullmatch(ahead)
    rest = whole[1] if whole else ahead if _REST.fullmatch(ahead) else None
    if rest is None:
        return []
    try:
        canonical = string_text(canonical_text(b'"' + rest))
    except ValueError:  # half a character, or an escape that is none
        return []
    return [canonical if whole else canonical[1:]]


class _Asked:
    """The places of one bitmask, so ordered that few need to be asked about."""

    def __init__(self, places: list[_Place]) -> None:
        self.places = places
        self.guards = sorted({guard for place in places for guard in place.guards})
        self.odd: list[int] = []  # places that are asked about in any case
        self.plain: dict[bytes, list[int]] = {}
        for index, place in enumerate(places):
            endings = [] if place.inside or place.begin >= 0 else canonical_endings(place.ahead)
            if not endings:
                self.odd.append(index)
            for ending in endings:
                self.plain.setdefault(ending, []).append(index)

    def to_ask(self, judge: Judge) -> list[_Place]:
        """The places where some guard may not agree, in order."""
        denied = judge.denied_ahead(self.guards)
        if denied is None:
            return self.places
        chosen = {index for ahead in denied for index in self.plain.get(ahead, ())}
        if not chosen and not self.odd:
            return []
        return [self.places[index] for index in sorted(chosen.union(self.odd))]
