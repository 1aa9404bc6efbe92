"""What is left of a lexer that stopped: how the text must not go on, as one small automaton for a whole grammar.

A lexer that stopped at a match would have taken more had the text gone on to a longer match, or one of a terminal that
comes before in its order. So behind the match, what is left of the lexer must not come to a match again.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .lexers import Lexer

__all__ = ["FAILED", "ObligationStates", "Obligations"]

ObligationStates: TypeAlias = frozenset[int]
"""States of the automaton of obligations, all of which must die before the text makes one of them fail."""

FAILED = -1
"""As the target of a step: what must not happen."""


class Obligations:
    """The least automaton of what is left of some lexers. State 0 asks for nothing more.

    ``steps[state]`` are the targets by class of characters. In a state of ``ends_badly`` the text must not end: a
    longer match has been read, which only the next character could undo.
    """

    def __init__(self, lexers: list[Lexer], width: int) -> None:
        self.first_of: list[int] = np.cumsum([0, *(len(lexer.rows) for lexer in lexers)]).tolist()
        total = self.first_of[-1]
        targets = np.zeros((total, width), np.int64)
        wins, dead = np.zeros(total, np.bool_), np.zeros(total, np.bool_)
        undone = np.zeros((total, width), np.bool_)
        for first, lexer in zip(self.first_of, lexers, strict=False):
            size = len(lexer.rows)
            targets[first : first + size] = np.array(lexer.rows, np.int64).reshape(size, width) + first
            wins[first : first + size] = [bool(name) for name in lexer.wins]
            dead[first] = True
            for state, classes in enumerate(lexer.fails):
                undone[first + state, sorted(classes)] = True
        doubtful = wins & undone.any(axis=1)
        # Each state twice: where the lexer stopped, and (from ``total`` on) where it has gone on to a doubtful match.
        onward = np.where(doubtful[targets], targets + total, targets)
        fails = wins[targets] & ~doubtful[targets]
        onward = np.concatenate([onward, onward])
        failing = np.concatenate([fails | undone, fails | ~undone])
        badly = np.concatenate([np.zeros(total, np.bool_), doubtful])
        matters = _can_fail(onward, failing, badly) & ~np.concatenate([dead, ~doubtful])
        self.block = _refined(onward, failing, np.where(matters, 1 + badly, 0))
        self.steps: list[list[int]] = [[0] * width for _ in range(int(self.block.max(initial=0)) + 1)]
        self.ends_badly: set[int] = set(self.block[badly & matters].tolist())
        after = np.where(failing, FAILED, self.block[onward])
        for state, number in enumerate(self.block.tolist()):
            if number:
                self.steps[number] = after[state].tolist()

    def left_of(self, lexer: int, state: int) -> int:
        """The obligation that is left of a lexer (by its number) that stopped in a state."""
        return int(self.block[self.first_of[lexer] + state])

    def step(self, states: ObligationStates, index: int) -> ObligationStates | None:
        """The obligations behind one character; None where one has failed."""
        after = {self.steps[one][index] for one in states}
        if FAILED in after:
            return None
        after.discard(0)
        return frozenset(after)


def _can_fail(
    targets: npt.NDArray[np.int64], failing: npt.NDArray[np.bool_], badly: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """The states from which a step that fails, or a bad end, can be reached."""
    found: npt.NDArray[np.bool_] = np.any(failing, axis=1) | badly
    while True:
        more: npt.NDArray[np.bool_] = found | np.any(found[targets], axis=1)
        if (more == found).all():
            return found
        found = more


def _refined(
    targets: npt.NDArray[np.int64], failing: npt.NDArray[np.bool_], block: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Blocks of states that fail alike; block 0 stays."""
    width = targets.shape[1]
    nothing = np.zeros((1, width + 1), np.int64)
    while True:
        after = np.where(failing, len(targets) + 1, block[targets])
        keyed = np.concatenate([block[:, None], after], axis=1)
        keyed[block == 0] = 0
        _, found = np.unique(np.concatenate([nothing, keyed]), axis=0, return_inverse=True)
        refined: npt.NDArray[np.int64] = found.reshape(-1)[1:] - found.reshape(-1)[0]
        if refined.max(initial=0) == block.max(initial=0):
            return refined
        block = refined
