"""The state of one sequence: which tokens may come next, and what was written so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from typing import TYPE_CHECKING

import numpy as np

from .automaton.memory import (
    ACCEPTING,
    CONFIGURATION_WORDS,
    CONFIGURATIONS,
    DEAD,
    FIRST_GUARDED,
    FLAGS,
    MASK_ROW,
    TRANSITIONS,
    Memory,
    wrap,
)
from .automaton.transitions import forced_bytes, run_bytes
from .errors import TokenRefused
from .guards.judge import Judge
from .ir.private import SPECIAL_MARK
from .masks.limited import Counts
from .masks.open_guards import in_words
from .masks.past_guards import run_past_guards
from .masks.walk import consume_token, fill_bitmask
from .vocabulary.bitmask import TokenBitmask, allocate_token_bitmask, allowed_token_ids
from .vocabulary.tables import TOKEN_BYTES, TOKEN_OFFSETS

if TYPE_CHECKING:
    from .compile import CompiledGrammar

__all__ = ["Matcher"]

FORGOTTEN = 0  # in the history: no longer kept, computed again from the tokens when rolled back to
MOST_FORCED_BYTES = 4096
SPECIAL_BYTE = bytes([SPECIAL_MARK])
MOST_ATTEMPTS = 6  # several tables can be full in turn


class Matcher:
    """Follows one sequence of tokens through a :class:`~grammars.CompiledGrammar`; made by its ``matcher()``.

    Where a grammar asks for a special token that also ends a generation, that token is what was asked for, and the
    sequence goes on; elsewhere it ends the sequence.

    >>> import grammars
    >>> vocabulary = grammars.Vocabulary.from_bytes([b"a", b"b", b"ab", None], eos_token_ids=[3])
    >>> matcher = grammars.compile_regex("ab*", vocabulary).matcher()
    >>> matcher.allowed_token_ids()
    [0, 2]
    >>> matcher.consume(0)
    >>> matcher.is_accepting, matcher.allowed_token_ids()
    (True, [1, 3])
    """

    __slots__ = (
        "__weakref__",
        "_counts",
        "_history",
        "_judge",
        "_limited",
        "_lock",
        "_machine",
        "_memory",
        "_next_counts",
        "_tables",
        "_terminated",
        "_tokens",
        "grammar",
    )

    def __init__(self, grammar: CompiledGrammar) -> None:
        self.grammar = grammar
        self._machine = grammar.machine
        self._memory: Memory = self._machine.memory
        self._tables: Memory = grammar.tables
        self._lock = self._machine.lock
        self._tokens: list[int | bytes] = []  # bytes: text consumed without tokens
        self._terminated = False
        self._judge = Judge(grammar.ir.guards) if grammar.narrower is not None else None
        self._limited = grammar.limited
        self._counts: list[Counts] = [()]  # behind each token, where text is limited
        self._next_counts: Counts = ()
        with self._lock:
            self._history: list[int] = [self._machine.start]
            self._machine.tenants.add(self)

    # -- what may come next -------------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, bitmask: TokenBitmask, row: int = 0) -> None:
        """Write into ``bitmask[row]`` (int32, ceil(V / 32) words, bit 1 = allowed) which tokens may come next.

        ``bitmask`` is a C-contiguous (B, words) array, as :func:`grammars.allocate_token_bitmask` makes it; a torch
        tensor's ``.numpy()`` shares its memory. End tokens are set exactly where the text so far is complete; once
        one was consumed, only they are. Raises ValueError for another shape or dtype.
        """
        self.check_bitmask(bitmask, row)
        if self._terminated:
            self._fill_terminated(bitmask, row)
            return
        with self._lock:
            status = fill_bitmask(self._memory, self._tables, self._history[-1], bitmask, row)
            if status < DEAD:
                status = self._again(
                    status, lambda: fill_bitmask(self._memory, self._tables, self._history[-1], bitmask, row)
                )
            if self.grammar.spelling is not None:
                self.grammar.spelling.drop_dead_ends(self._history[-1], bitmask, row)
            narrower, judge = self.grammar.narrower, self._judge
            if status > 0 and narrower is not None and judge is not None:
                asked = narrower.asked_at(self._history[-1])
                if asked.has_inside or judge.may_deny(asked.guards):
                    self._narrow(bitmask, row)

    def check_bitmask(self, bitmask: TokenBitmask, row: int) -> None:
        """Raise ValueError unless ``bitmask[row]`` can take this matcher's bitmask."""
        words = self.grammar.num_words
        if (
            bitmask.dtype != np.int32
            or bitmask.ndim != 2
            or bitmask.shape[1] != words
            or not bitmask.flags.c_contiguous
        ):
            raise ValueError(
                f"bitmask: expected a C-contiguous int32 array (B, {words}), got {bitmask.dtype} {bitmask.shape}; "
                "make it by allocate_token_bitmask(batch_size, vocabulary.size)"
            )
        if not 0 <= row < bitmask.shape[0]:
            raise ValueError(f"row: expected 0 to {bitmask.shape[0] - 1}, got {row}")

    @property
    def configuration(self) -> int:
        """Where the matcher stands: an id of its grammar's machine, valid until the machine makes room."""
        return self._history[-1]

    @property
    def knows_bitmask(self) -> bool:
        """Whether the next bitmask needs no walk of the vocabulary."""
        with self._lock:
            record = self._memory[CONFIGURATIONS] + CONFIGURATION_WORDS * self._history[-1]
            return self._terminated or bool(self._memory[record + MASK_ROW] >= 0)

    def allowed_token_ids(self) -> list[int]:
        """The ids that may come next, ascending: the bitmask as a list, for tests and for people."""
        bitmask = allocate_token_bitmask(1, self.grammar.vocabulary.size)
        self.fill_next_token_bitmask(bitmask)
        return [int(token_id) for token_id in allowed_token_ids(bitmask[0])]

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete (more may still be allowed)."""
        with self._lock:
            record = self._memory[CONFIGURATIONS] + CONFIGURATION_WORDS * self._history[-1]
            return bool(self._memory[record + FLAGS] & ACCEPTING)

    @property
    def has_open_guard(self) -> bool:
        """Whether something was begun that a guard will be asked about when it ends.

        Until then the text may turn out to have no way on, so that some of it has to be undone (:meth:`rollback`).
        """
        open_guards = self.grammar.open_guards
        if open_guards is None or self._terminated:
            return False
        with self._lock:
            return open_guards.is_open(self._history[-1])

    def denials(self) -> tuple[str, ...]:
        """What guards ask, in words, that do not agree to some byte that could come next."""
        narrower, judge = self.grammar.narrower, self._judge
        if narrower is None or judge is None or self._terminated:
            return ()
        self.allowed_token_ids()  # so that the places where guards are asked are known
        with self._lock:
            denied = narrower.denied(self._history[-1], self._follow())
        return tuple(dict.fromkeys(in_words(self.grammar.ir.guards[guard]) for guard in denied))

    @property
    def is_terminated(self) -> bool:
        """Whether an end token was consumed: nothing more is accepted."""
        return self._terminated

    def forced_bytes(self) -> bytes:
        """The bytes that must follow whatever is chosen, up to the first choice (empty if there is one now)."""
        if self._terminated:
            return b""
        forced = self._forced()
        return forced.partition(SPECIAL_BYTE)[0] if self.grammar.special_ids else forced

    def forced_special(self) -> int | None:
        """The special token that must follow now, if one must: then there are no forced bytes."""
        if not self.allows_special or self.is_accepting:
            return None
        forced = self._forced()
        return int(forced[1:].partition(SPECIAL_BYTE)[0]) if forced.startswith(SPECIAL_BYTE) else None

    @property
    def allows_special(self) -> bool:
        """Whether a special token that the grammar asks for may come next. An end token may be one."""
        if not self.grammar.special_ids or self._terminated:
            return False
        with self._lock:
            row = self._memory[TRANSITIONS] + 256 * self._history[-1]
            return bool(self._memory[row + SPECIAL_MARK] != DEAD)

    def _forced(self) -> bytes:
        """The forced bytes, special tokens in their spelling among them."""
        output = np.empty(MOST_FORCED_BYTES, np.int32)
        with self._lock:
            count = forced_bytes(self._memory, self._history[-1], wrap(output))
            if count < DEAD:
                count = self._again(count, lambda: forced_bytes(self._memory, self._history[-1], wrap(output)))
        return output[:count].astype(np.uint8).tobytes()

    def forced_tokens(self) -> list[int]:
        """The token ids that must follow because at each of these steps exactly one id is allowed."""
        ahead = self.fork()
        forced: list[int] = []
        while len(forced) < MOST_FORCED_BYTES:
            allowed = ahead.allowed_token_ids()
            if len(allowed) != 1 or (ahead.is_accepting and allowed[0] in self.grammar.vocabulary.eos_token_ids):
                break
            forced.append(allowed[0])
            ahead.consume(allowed[0])
        return forced

    # -- moving -------------------------------------------------------------------------------------------------

    def consume(self, token_id: int) -> None:
        """Append a token. Raises :class:`~grammars.TokenRefused`, and changes nothing, if it is not allowed."""
        if not self._advance(token_id):
            raise TokenRefused(token_id, self._why_refused(token_id))

    def try_consume(self, token_ids: Iterable[int]) -> int:
        """Append tokens until one is not allowed; how many were taken."""
        count = 0
        for token_id in token_ids:
            if not self._advance(token_id):
                break
            count += 1
        return count

    def consume_bytes(self, data: bytes) -> bool:
        """Append text that is not cut into tokens; False, and nothing changes, if it is not allowed.

        It counts as one token for :meth:`rollback`, and as none for limited text. It holds no special tokens.
        """
        if self._terminated:
            return not data
        if self.grammar.special_ids and SPECIAL_BYTE in data:
            return False
        words = wrap(np.frombuffer(data, np.uint8).astype(np.int32))
        with self._lock:
            target = self._run(words, 0, len(data))
            if target < DEAD:
                target = self._again(target, lambda: self._run(words, 0, len(data)))
            if target < 0:
                return False
            if self._limited is not None:
                self._next_counts = self._limited.carry(target, self._counts[-1])
            self._append(data, target)
        return True

    def rollback(self, num_tokens: int) -> None:
        """Undo the last ``num_tokens`` tokens, an end token included."""
        if not 0 <= num_tokens <= len(self._tokens):
            raise ValueError(f"rollback: expected 0 to {len(self._tokens)} tokens, got {num_tokens}")
        if num_tokens == 0:
            return
        with self._lock:
            self._terminated = False
            del self._tokens[-num_tokens:]
            del self._history[-num_tokens:]
            if self._limited is not None:
                del self._counts[-num_tokens:]
            if self._judge is not None:
                self._judge.go_back(len(self._tokens))
            if self._history[-1] == FORGOTTEN:
                self._replay()

    def fork(self) -> Matcher:
        """An independent matcher that stands where this one does."""
        other = Matcher(self.grammar)
        with self._lock:
            other._tokens = self._tokens.copy()
            other._history = self._history.copy()
            other._counts = self._counts.copy()
            other._terminated = self._terminated
            other._judge = None if self._judge is None else self._judge.copy()
        return other

    def reset(self) -> None:
        """Go back to the beginning."""
        with self._lock:
            self._tokens = []
            self._history = [self._machine.start]
            self._counts = [()]
            self._terminated = False
            if self._judge is not None:
                self._judge.go_back(0)

    @property
    def num_tokens(self) -> int:
        """How many tokens were consumed."""
        return len(self._tokens)

    # -- inside -------------------------------------------------------------------------------------------------

    def _advance(self, token_id: int) -> bool:
        token_id = index(token_id)  # a float or None is a TypeError here
        if self._terminated or not 0 <= token_id < self.grammar.vocabulary.size:
            return False
        with self._lock:
            target = self._step(token_id)
            if target < DEAD:
                target = self._again(target, lambda: self._step(token_id))
            if target > 0 and self.grammar.spelling is not None and not self.grammar.spelling.is_live(target):
                return False
            if target < 0:
                if token_id not in self.grammar.vocabulary.eos_token_ids or not self.is_accepting:
                    return False
                target, self._next_counts = self._history[-1], self._counts[-1]
                self._terminated = True
            self._append(token_id, target)
        return True

    def _step(self, token_id: int) -> int:
        """Where a token leads: a configuration, DEAD, or what is full."""
        target = consume_token(self._memory, self._tables, self._history[-1], token_id)
        if target <= FIRST_GUARDED:
            tables = self._tables
            offsets = tables[TOKEN_OFFSETS] + token_id  # int: with numpy's integers each call of a kernel takes 200 us
            first, end = (int(tables[TOKEN_BYTES] + tables[offsets + index]) for index in (0, 1))
            target = run_past_guards(self._memory, self._history[-1], tables, first, end, self._follow)
        if target > 0 and self._limited is not None:
            target, self._next_counts = self._limited.step(target, self._counts[-1])
        return target

    def _run(self, data: Memory, first: int, end: int) -> int:
        """Where ``data[first:end]`` leads, one byte a word: a configuration, DEAD, or what is full."""
        target = run_bytes(self._memory, self._history[-1], data, first, end)
        if target > FIRST_GUARDED:
            return target
        return run_past_guards(self._memory, self._history[-1], data, first, end, self._follow)

    def _follow(self) -> Judge:
        """The judge, told of every token so far."""
        judge, tokens = self._judge, self.grammar.tokens
        assert judge is not None
        fresh = self._tokens[judge.num_pieces :]
        judge.follow([token if isinstance(token, bytes) else tokens[token] or b"" for token in fresh])
        return judge

    def _narrow(self, bitmask: TokenBitmask, row: int) -> None:
        """Take out what the guards deny; where a table is full, begin again."""

        narrower = self.grammar.narrower
        assert narrower is not None

        def run() -> int:
            status = fill_bitmask(self._memory, self._tables, self._history[-1], bitmask, row)
            return min(status, 0) or narrower.narrow(self._history[-1], self._follow(), bitmask, row)

        status = narrower.narrow(self._history[-1], self._follow(), bitmask, row)
        if status < DEAD:
            self._again(status, run)

    def _again(self, status: int, run: Callable[[], int]) -> int:
        """Make room and run a kernel again that found a table full; LimitExceeded if one step alone fills it."""
        for _ in range(MOST_ATTEMPTS):
            self._machine.make_room(status)
            status = run()
            if status >= DEAD:
                return status
        raise self._machine.limit_reached(status)

    def _append(self, token: int | bytes, configuration: int) -> None:
        self._tokens.append(token)
        self._history.append(configuration)
        if self._limited is not None:
            self._counts.append(self._next_counts)

    def _why_refused(self, token_id: int) -> str:
        vocabulary = self.grammar.vocabulary
        if not 0 <= token_id < vocabulary.size:
            return f"expected an id from 0 to {vocabulary.size - 1}"
        if self._terminated:
            return "the sequence has ended"
        if token_id in vocabulary.eos_token_ids:
            return "the text so far is not complete, so it cannot end here"
        token = vocabulary.tokens[token_id]
        if token_id in self.grammar.special_ids:
            return "the grammar does not ask for this special token here"
        if not token:
            return "it has no text of its own (a special or unused token)"
        return f"the grammar does not allow {token!r} here"

    def _fill_terminated(self, bitmask: TokenBitmask, row: int) -> None:
        bitmask[row] = 0
        for token_id in self.grammar.vocabulary.eos_token_ids:
            bitmask.view(np.uint32)[row, token_id >> 5] |= np.uint32(1 << (token_id & 31))

    # -- a tenant of the machine --------------------------------------------------------------------------------

    def live_configurations(self) -> list[int]:
        """Of the history only the last steps are kept when room is needed; older ones can be computed again."""
        kept = self.grammar.machine.limits.max_rollback_kept
        if len(self._history) > kept:
            self._history[:-kept] = [FORGOTTEN] * (len(self._history) - kept)
        return [configuration for configuration in self._history[-kept:] if configuration != FORGOTTEN]

    def renumber(self, new_ids: dict[int, int]) -> None:
        """Take over the new ids of the configurations held."""
        self._history = [new_ids.get(configuration, FORGOTTEN) for configuration in self._history]

    def _replay(self) -> None:
        tokens, self._tokens, self._history, self._counts = self._tokens, [], [self._machine.start], [()]
        if self._judge is not None:
            self._judge.go_back(0)
        for token in tokens:
            if isinstance(token, bytes):
                self.consume_bytes(token)
            else:
                self._advance(token)
