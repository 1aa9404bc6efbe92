"""Green lists: which tokens a ``kgw`` watermark favours after a context.

Where many tokens are allowed, a token is green if its word, as a number from 0 to 1, is below gamma. Where few are, a
list that happens to be empty or full would say nothing, so the tokens with the smallest words are green, as many as
gamma asks for and at least one: then even a choice of two carries a mark.

Source: Kirchenbauer et al., "A Watermark for Large Language Models", ICML 2023, algorithm 2 (the soft green list).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrained.philox import philox_blocks, philox_word
from constrained.token_bitmasks import list_allowed
from grammars.jit import kernel
from grammars.vocabulary import Vocabulary

__all__ = ["SMALL", "add_to_green", "few_allowed", "green_of_few", "is_green", "threshold_of"]

#: Up to so many allowed tokens are ranked.
SMALL = 32


def threshold_of(gamma: float) -> int:
    """Words below it are green; ``threshold / 2**32`` is the exact share."""
    return min(max(round(gamma * 2.0**32), 1), 2**32 - 1)


def is_green(token_id: int, key: NDArray[np.uint64], threshold: int) -> bool:
    """Whether a token is green where many are allowed."""
    return int(philox_word(int(token_id), key)) < threshold


def few_allowed(words: NDArray[np.int32], vocabulary: Vocabulary) -> NDArray[np.int64] | None:
    """The allowed ids of a bitmask's row that have a text, ascending, if there are at most :data:`SMALL`.

    Ids that end a generation are no part of it: a text does not show which of them ended it.
    """
    ids = np.empty(SMALL + len(vocabulary.eos_token_ids), np.int64)
    count = list_allowed(words, vocabulary.size, ids)
    if count < 0:
        return None
    allowed = ids[:count]
    ends = set(vocabulary.eos_token_ids)
    if any(token_id in ends for token_id in allowed.tolist()):
        allowed = np.array([token_id for token_id in allowed.tolist() if token_id not in ends], np.int64)
    return allowed if len(allowed) <= SMALL else None


def green_of_few(token_ids: NDArray[np.int64], key: NDArray[np.uint64], gamma: float) -> NDArray[np.bool_]:
    """(N,) Which of N allowed tokens, N at most :data:`SMALL`, are green; ties go to the lowest id.

    >>> key = np.array([1, 2, 3], np.uint64)
    >>> green_of_few(np.arange(2), key, 0.25).sum(), green_of_few(np.arange(20), key, 0.25).sum()
    (np.int64(1), np.int64(5))
    """
    words = np.array([int(philox_word(int(token_id), key)) for token_id in token_ids], np.int64)
    green = np.zeros(len(token_ids), np.bool_)
    green[np.argsort(words, kind="stable")[: max(1, round(gamma * len(token_ids)))]] = True
    return green


@kernel
def add_to_green(
    logits: NDArray[np.float32],
    token_ids: NDArray[np.int64],
    key: NDArray[np.uint64],
    threshold: int,
    delta: np.float32,
    words: NDArray[np.uint32],
) -> None:
    """Add ``delta`` to the green ones of ``logits`` (N,), in place; column j is token ``token_ids[j]``, or j where
    ``token_ids`` is empty. ``words`` (4, M) is room to work in."""
    if token_ids.shape[0]:
        for column in range(logits.shape[0]):
            if logits[column] > -np.inf and int(philox_word(token_ids[column], key)) < threshold:
                logits[column] += delta
        return
    chunk = 4 * words.shape[1]
    for start in range(0, logits.shape[0], chunk):
        philox_blocks(start >> 2, key, words[0], words[1], words[2], words[3])
        stop = min(start + chunk, logits.shape[0])
        for column in range(start, stop):
            word = words[column & 3, (column - start) >> 2]
            if int(word) < threshold:
                logits[column] += delta
