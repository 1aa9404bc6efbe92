"""How many characters of any string text may follow in each state of an automaton.

Where so many may follow that few tokens have more, a token bitmask needs no walk (see :mod:`grammars.masks`). So the
writers of automata note it in the intermediate form, by :meth:`~grammars.ir.builder.Builder.text_ahead`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..charset import JSON_TEXT, meets
from ..nodes import UNBOUNDED
from .dfa import Dfa

__all__ = ["FEWEST_AHEAD", "counted_text_ahead", "text_ahead"]

FEWEST_AHEAD = 12
"""Fewer characters are not worth a note: too many tokens are longer."""
_MOST = 128
"""More are not told apart from any number: no token counts as text that has more."""


@lru_cache(maxsize=256)
def text_ahead(dfa: Dfa) -> tuple[int, ...]:
    """For each state of an automaton over text: so many characters of text may follow, ``UNBOUNDED`` for any number.

    0 where it is not worth a note.

    >>> from grammars.ir.regular import TEXT, lengths
    >>> text_ahead(lengths(TEXT, 0)), text_ahead(lengths(TEXT, 0, 20))[:3]
    ((0, -1), (0, 20, 19))
    """
    return tuple(_noted(_ahead(dfa, _text_steps(dfa))).tolist())


def counted_text_ahead(dfa: Dfa, alive: npt.NDArray[np.bool_], free: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The same for pairs of a number of characters read and a state; shapes (N + 1, S).

    Only the pairs that are ``alive`` count, and where they are ``free`` the number does not matter.
    """
    steps = _text_steps(dfa)
    unnumbered = _ahead(dfa, steps)
    ahead = np.where(alive, np.where(free, unnumbered, 0), -1)
    known: dict[tuple[bytes, bytes], npt.NDArray[np.int64]] = {}
    for number in range(len(alive) - 2, -1, -1):
        key = ahead[number + 1].tobytes(), ahead[number].tobytes()
        row = known.get(key)
        if row is None:
            row = np.minimum(_MOST, 1 + ahead[number + 1][steps].min(axis=1))
            row = known[key] = np.where(alive[number] & ~free[number], row, ahead[number])
        ahead[number] = row
    return _noted(ahead)


def _ahead(dfa: Dfa, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(S,) The numbers, none above _MOST; -1 for the dead state."""
    ahead = np.full(len(dfa.accepting), _MOST)
    ahead[0] = -1
    for _ in range(_MOST):
        shorter = np.minimum(_MOST, 1 + ahead[steps].min(axis=1))
        shorter[0] = -1
        if (shorter == ahead).all():
            break
        ahead = shorter
    return ahead


def _text_steps(dfa: Dfa) -> npt.NDArray[np.int64]:
    """(S, K) The next states of each state by those classes of characters that hold any text."""
    columns = [index for index, members in enumerate(dfa.alphabet.classes) if meets(members, JSON_TEXT)]
    return dfa.transitions[:, columns].astype(np.int64)


def _noted(ahead: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.where(ahead >= _MOST, UNBOUNDED, np.where(ahead < FEWEST_AHEAD, 0, ahead))
