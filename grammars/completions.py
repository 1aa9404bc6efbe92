"""How few tokens can bring a text to a complete end, and masks that keep it within a budget of them.

The numbers are upper bounds (:mod:`grammars.automaton.shortest`): so many tokens are enough. Where the bound is n,
some token leads to where it is n - 1; so a text that is kept below its bound always ends complete.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .automaton.memory import (
    ACCEPTING,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    DEAD,
    END_ITEM,
    FIRST_ITEM,
    FLAGS,
    ITEMS,
    STACK_EDGES,
    STACK_WORDS,
    STACKS,
    TRANSITIONS,
    UNKNOWN,
    words_of,
    wrap,
)
from .automaton.shortest import NEVER, Shortest, shortest_ends
from .automaton.transitions import run_bytes
from .errors import NoShortestCompletion
from .guards import JsonBegins
from .ir import Kind
from .masks.open_guards import in_words
from .vocabulary.bitmask import TokenBitmask, allowed_token_ids
from .vocabulary.tables import TOKEN_BYTES, TOKEN_OFFSETS

if TYPE_CHECKING:
    from .compile import CompiledGrammar
    from .matcher import Matcher

__all__ = ["Completions"]

_MOST_ATTEMPTS = 6  # several tables can be full in turn


class Completions:
    """What the matchers of one grammar need to be complete; made by its ``completions``.

    >>> import grammars
    >>> vocabulary = grammars.Vocabulary.from_bytes([b"a", b"b", b"(", b")", b"))", None], eos_token_ids=[5])
    >>> grammar = grammars.compile_gbnf('root ::= "(" root ")" | "a"', vocabulary)
    >>> matcher = grammar.matcher()
    >>> grammar.completions.tokens_to_end(matcher)
    1
    >>> matcher.try_consume([2, 2, 2]), grammar.completions.tokens_to_end(matcher)
    (3, 4)
    >>> bitmask = grammars.allocate_token_bitmask(1, vocabulary.size)
    >>> matcher.fill_next_token_bitmask(bitmask)
    >>> grammar.completions.keep_within(matcher, bitmask, 0, num_tokens=5)  # so "(" is out: 6 would be needed
    1
    >>> grammars.allowed_token_ids(bitmask[0])
    array([0])
    """

    def __init__(self, grammar: CompiledGrammar) -> None:
        """Raises :class:`~grammars.errors.NoShortestCompletion` for grammars that ask questions where values end."""
        _refuse_questions(grammar)
        self._machine = grammar.machine
        self._vocabulary = grammar.vocabulary
        self._tables = words_of(grammar.tables)
        texts = {token for token in grammar.tokens if token}
        self._shortest: Shortest = shortest_ends(self._machine.network, texts)
        self._needed: dict[int, int] = {}  # by configuration
        self._stacks: dict[int, int] = {}  # by stack set
        self._worst: dict[int, int] = {}  # by configuration: what is needed after the token that leads furthest away
        self._epoch = self._machine.epoch

    @property
    def most(self) -> int | None:
        """Tokens that are enough from anywhere in any text; ``None`` where texts nest without end."""
        return self._shortest.most

    def tokens_to_end(self, matcher: Matcher) -> int | None:
        """So many tokens, an end token not counted, are enough from where ``matcher`` stands; 0 where it is complete.

        ``None`` where no way is known, which happens only where tokens for single bytes are missing.
        """
        if matcher.is_terminated:
            return 0
        with self._machine.lock:
            self._notice_renumbering()
            needed = self._needed_at(matcher.configuration)
        return needed if needed < NEVER else None

    def keep_within(self, matcher: Matcher, bitmask: TokenBitmask, row: int, *, num_tokens: int) -> int:
        """Clear the tokens of ``bitmask[row]``, the matcher's next one, behind which ``num_tokens - 1`` are too few.

        How many were cleared. Some token is left, or an end token, if :meth:`tokens_to_end` is at most ``num_tokens``.
        """
        if matcher.is_terminated or (self.most is not None and num_tokens > self.most):
            return 0
        with self._machine.lock:
            self._notice_renumbering()
            if self._worst.get(matcher.configuration, NEVER + 1) < num_tokens:
                return 0
            ids = allowed_token_ids(bitmask[row])
            lengths = self._offsets[ids + 1] - self._offsets[ids]
            ids = ids[np.argsort(-lengths, kind="stable")][: np.count_nonzero(lengths)]
            targets = self._targets(matcher, ids)
            needed = self._needed_of(targets)
            self._worst[matcher.configuration] = int(needed.max(initial=0))
            far = ids[needed >= num_tokens]
            if matcher.is_accepting:  # a special token of the grammar may be one that ends a text, too
                far = far[~np.isin(far, self._vocabulary.eos_token_ids)]
        keep = ~np.left_shift(np.uint32(1), (far & 31).astype(np.uint32))
        np.bitwise_and.at(bitmask[row].view(np.uint32), far >> 5, keep)
        return len(far)

    # -- inside -------------------------------------------------------------------------------------------------

    @cached_property
    def _offsets(self) -> npt.NDArray[np.int64]:
        """(V + 1,) where the bytes of each token begin."""
        tables = self._tables
        first = int(tables[TOKEN_OFFSETS])
        return tables[first : first + self._vocabulary.size + 1].astype(np.int64)

    @cached_property
    def _bytes(self) -> npt.NDArray[np.int64]:
        """The bytes of all tokens."""
        tables = self._tables
        first = int(tables[TOKEN_BYTES])
        return tables[first : first + int(self._offsets[-1])].astype(np.int64)

    def _notice_renumbering(self) -> None:
        if self._epoch != self._machine.epoch:
            for known in (self._needed, self._stacks, self._worst):
                known.clear()
            self._epoch = self._machine.epoch

    def _needed_of(self, configurations: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For each of many configurations (few different ones); 0 stands for none."""
        present = np.flatnonzero(np.bincount(configurations, minlength=1))
        needed = np.full(int(present[-1]) + 1 if len(present) else 1, NEVER, np.int64)
        for configuration in present.tolist():
            if configuration > 0:
                needed[configuration] = self._needed_at(configuration)
        return needed[configurations]

    def _needed_at(self, configuration: int) -> int:
        if configuration not in self._needed:
            words = words_of(self._machine.memory)
            record = int(words[CONFIGURATIONS]) + CONFIGURATION_WORDS * configuration
            first, end = int(words[record + FIRST_ITEM]), int(words[record + END_ITEM])
            base = int(words[ITEMS])
            least = 0 if words[record + FLAGS] & ACCEPTING else NEVER
            for state, stack in words[base + 2 * first : base + 2 * end].reshape(-1, 2).tolist():
                here = int(self._shortest.tokens[state])
                if here < least:
                    least = min(least, here + self._below(stack))
            self._needed[configuration] = least
        return self._needed[configuration]

    def _below(self, stack: int) -> int:
        """What the shortest of a set of return stacks needs: from the bottom up, no recursion."""
        words = words_of(self._machine.memory)
        todo = [stack]
        while todo:
            one = todo[-1]
            record = int(words[STACKS]) + STACK_WORDS * one
            base = int(words[STACK_EDGES])
            first, end = int(words[record]), int(words[record + 1])
            pairs = words[base + 2 * first : base + 2 * end].reshape(-1, 2).tolist()
            missing = [below for _, below in pairs if below not in self._stacks]
            if missing:
                todo.extend(missing)
                continue
            least = 0 if words[record + 2] else NEVER
            for back, below in pairs:
                least = min(least, int(self._shortest.tokens[back]) + self._stacks[below])
            self._stacks[one] = least
            todo.pop()
        return self._stacks[stack]

    def _targets(self, matcher: Matcher, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The configuration that each of ``ids``, the longest first, leads to; 0 for none."""
        for _ in range(_MOST_ATTEMPTS):
            status, targets = self._walk(matcher.configuration, ids)
            if status >= DEAD:
                return targets
            self._machine.make_room(status)
            self._notice_renumbering()
        raise self._machine.limit_reached(status)

    def _walk(self, configuration: int, ids: npt.NDArray[np.int64]) -> tuple[int, npt.NDArray[np.int64]]:
        """All tokens at once, a byte at a time; the status is that of a table that is full, or 0."""
        words = words_of(self._machine.memory)
        first = int(words[TRANSITIONS])
        here = np.full(len(ids), configuration, np.int64)
        starts = self._offsets[ids]
        lengths = self._offsets[ids + 1] - starts
        for depth in range(int(lengths[0]) if len(ids) else 0):
            num_live = int(np.searchsorted(-lengths, -depth, side="left"))
            keys = 256 * here[:num_live] + self._bytes[starts[:num_live] + depth]
            after = words[first + keys]
            unknown = (after == UNKNOWN) & (keys >= 256)
            if unknown.any():
                for key in np.unique(keys[unknown]).tolist():
                    status = int(run_bytes(self._machine.memory, key >> 8, wrap(np.array([key & 255], np.int32)), 0, 1))
                    if status < DEAD:
                        return status, here
                after = words[first + keys]
            here[:num_live] = np.where(keys >= 256, np.maximum(after, 0), 0)
        return 0, here


def _refuse_questions(grammar: CompiledGrammar) -> None:
    steps = grammar.machine.network.steps
    guards = [grammar.ir.guards[guard] for guard in dict.fromkeys(steps[steps[:, 0] == Kind.GUARD, 1].tolist())]
    asked = list(dict.fromkeys(in_words(guard) for guard in guards if not isinstance(guard, JsonBegins)))
    if (steps[:, 0] == Kind.REGISTER).any():
        asked.append(
            "names or items that were written may not be written again (an open object, or property_order='any')"
        )
    if asked:
        raise NoShortestCompletion(asked)
