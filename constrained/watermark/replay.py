"""Following a text through its grammar again: which positions were free, and what was allowed at those.

Nothing of the model is needed. The positions that are found do not depend on the key, so whatever is scored at them has
its exact law under the null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammars.matcher import Matcher
from grammars.vocabulary import Vocabulary
from grammars.vocabulary.bitmask import allocate_token_bitmask

from .contexts import first_bytes_of, free_bitmask_of, is_free
from .green import few_allowed

__all__ = ["FreePosition", "Replay", "replay"]


@dataclass(frozen=True, slots=True)
class FreePosition:
    """A token that was chosen."""

    index: int
    """Which of the text's tokens it is."""
    token_id: int
    context: tuple[int, ...]
    """The last free tokens before it, as many as there are up to the width of the context."""
    few: NDArray[np.int64] | None
    """The allowed ids that have a text, where they are few enough to be ranked."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What a text's tokens were."""

    token_ids: tuple[int, ...]
    free: tuple[FreePosition, ...]
    refused_at: int | None
    """Index of the first token that the grammar does not allow; what follows it was not looked at."""


def replay(token_ids: Sequence[int], vocabulary: Vocabulary, matcher: Matcher | None, *, context_width: int) -> Replay:
    """Follow ``token_ids`` from where ``matcher`` stands (``None``: any text), which is not moved."""
    first_bytes = first_bytes_of(vocabulary)
    bitmask = allocate_token_bitmask(1, vocabulary.size)
    if matcher is None:
        bitmask[0] = free_bitmask_of(vocabulary)
    else:
        matcher = matcher.fork()
    free: list[FreePosition] = []
    refused_at = None
    for index, token_id in enumerate(token_ids):
        if matcher is not None:
            matcher.fill_next_token_bitmask(bitmask)
        if not 0 <= token_id < vocabulary.size or not (int(bitmask[0, token_id >> 5]) >> (token_id & 31)) & 1:
            refused_at = index
            break
        if token_id in vocabulary.eos_token_ids:
            token_ids = token_ids[:index]
            break
        if is_free(bitmask[0], first_bytes):
            context = tuple(position.token_id for position in free[-context_width:])
            free.append(FreePosition(index, token_id, context, few_allowed(bitmask[0], vocabulary)))
        if matcher is not None:
            matcher.consume(token_id)
    return Replay(tuple(token_ids), tuple(free), refused_at)
