"""Hypothesis strategy: logits that a model may have, or that bring out what a mask or a sampler does wrong."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from grammars.vocabulary import Vocabulary

__all__ = ["LogitsKind", "logits"]

LogitsKind = Literal["random", "adversarial", "greedy-trap"]
_EXTREMES = (0.0, 1e4, -1e4, 3e38, -3e38, 1e-38, -np.inf)
_OPENING = (b"[", b"{", b'"', b"(", b" ", b"\n", b"\t", b"\\", b"1", b"0")


def logits(vocabulary: Vocabulary, *, kind: LogitsKind = "random") -> st.SearchStrategy[NDArray[np.float32]]:
    """Logits (V,) float32 for a vocabulary of V ids; never NaN or +inf.

    ``random``: normal noise of some scale, as a model of another text would have. ``adversarial``: exact ties, huge and
    tiny values, some -inf, and the ids that must never be chosen (special, unused, beyond the tokenizer) far on top.
    ``greedy-trap``: whatever opens, pads or goes on is best, ends and what closes are worst, so that greedy text never
    ends by itself.

    >>> from hypothesis import find
    >>> vocabulary = Vocabulary.from_bytes([b"a", b"[", None], eos_token_ids=[2])
    >>> find(logits(vocabulary, kind="greedy-trap"), lambda row: True).tolist()
    [0.0, 8.0, -8.0]
    """
    return {"random": _random, "adversarial": _adversarial, "greedy-trap": _greedy_trap}[kind](vocabulary)


@st.composite
def _random(draw: st.DrawFn, vocabulary: Vocabulary) -> NDArray[np.float32]:
    seed, scale = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from((1.0, 0.0, 0.01, 10.0, 100.0)))
    return (scale * np.random.default_rng(seed).standard_normal(vocabulary.size)).astype(np.float32)


@st.composite
def _adversarial(draw: st.DrawFn, vocabulary: Vocabulary) -> NDArray[np.float32]:
    row = np.zeros(vocabulary.size, np.float32)
    row[[not token for token in vocabulary.tokens]] = draw(st.sampled_from((1e4, 3e38, 1.0)))
    ids = st.integers(0, vocabulary.size - 1)
    for token_id, value in draw(st.lists(st.tuples(ids, st.sampled_from(_EXTREMES)), max_size=20)):
        row[token_id] = value
    return row


@st.composite
def _greedy_trap(draw: st.DrawFn, vocabulary: Vocabulary) -> NDArray[np.float32]:
    favourite = draw(st.sampled_from(_OPENING))
    row = np.zeros(vocabulary.size, np.float32)
    for token_id, token in enumerate(vocabulary.tokens):
        if not token or token[:1] in (b"]", b"}", b")"):
            row[token_id] = -8.0
        elif token.startswith(favourite):
            row[token_id] = 8.0
        elif token[:1] in _OPENING:
            row[token_id] = 4.0
    return row
