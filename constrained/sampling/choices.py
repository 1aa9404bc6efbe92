"""How probable each of several texts is as a whole, by one walk over the tree of their tokens.

A model that is asked token by token decides at the first token, and a choice that begins like no other may win although
it is unlikely as a whole. Here every choice is read to its end; what choices share is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from constrained.loop import Engine, Request
from constrained.loop.forced import tokens_after

from .drawn_text import DrawnText, generator_of, log_sum_exp

__all__ = ["ChoiceScores"]


class ChoiceScores:
    """Scores and draws whole choices for one request."""

    def __init__(self, engine: Engine, request: Request, choices: Sequence[str]) -> None:
        self._engine, self._request = engine, request
        self._choices = tuple(choices)
        self._ids = [self._tokens(choice) for choice in self._choices]
        self._scores: NDArray[np.float64] | None = None
        self.tokens = 0
        self.forward_passes = 0

    @property
    def log_probabilities(self) -> dict[str, float]:
        """Of each choice, its tokens and then an end token, at temperature 1; made sum to 1 among the choices."""
        scores = self._read()
        total = log_sum_exp(scores.tolist())
        return {choice: float(score) - total for choice, score in zip(self._choices, scores, strict=True)}

    def draw(self, stream: int) -> DrawnText:
        """The most probable choice, the first of equal ones; or, above temperature 0, one by its probability."""
        scores, sampling = self._read(), self._request.sampling
        if sampling.is_greedy:
            place = int(scores.argmax())
        else:
            noise = generator_of(self._request, stream).gumbel(size=len(scores))
            place = int((scores / sampling.temperature + noise).argmax())
        total = log_sum_exp(scores.tolist())
        ids = self._ids[place]
        return DrawnText(tuple(ids), total, float(scores[place]) / (len(ids) + 1))

    def _tokens(self, choice: str) -> list[int]:
        left = list(self._request.prompt_ids)[-16:]
        return tokens_after(self._engine, left, choice.encode()) or self._engine.tokenizer.tokenize(choice)

    def _read(self) -> NDArray[np.float64]:
        if self._scores is None:
            self._scores = self._read_tree()
        return self._scores

    def _read_tree(self) -> NDArray[np.float64]:
        """(choices,) Log-probabilities, from one cache: choices in the order of their tokens share what they can."""
        prompt = list(self._request.prompt_ids)
        longest = max(map(len, self._ids))
        cache: Any = self._engine.model.new_cache(1, len(prompt) + longest + 1)
        rows: list[torch.Tensor] = []  # log-probabilities (V,) after the prompt and each token of the path
        path: list[int] = []
        scores = np.empty(len(self._ids))
        ends = torch.tensor(sorted(self._engine.eos_token_ids))
        for place in sorted(range(len(self._ids)), key=lambda index: self._ids[index]):
            ids = self._ids[place]
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, ids, strict=False)))
            fed = ids[shared:] if rows else [*prompt, *ids]
            del rows[shared + 1 :]
            if fed:
                if rows:
                    cache.truncate(len(prompt) + shared)
                logits = self._engine.model.forward_rows([fed], [cache], all_positions=True)  # (T, V)
                kept = logits if rows else logits[len(prompt) - 1 :]
                rows += list(kept.double().log_softmax(1).cpu())
                self.forward_passes += 1
            path = ids
            score = sum(float(rows[depth][token_id]) for depth, token_id in enumerate(ids))
            scores[place] = score + float(rows[len(ids)][ends].logsumexp(0))
        return scores
