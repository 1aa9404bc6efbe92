"""Draws that learn which beginnings lead nowhere: ``cars``, exact at every draw, and ``asap``, in the limit.

A trie keeps for each beginning that was visited an upper bound of the probability that the model, going on freely, ends
up in a text of the grammar: 1 before a visit, and after it the sum over next tokens of their probability times their
own bound. ``cars`` walks down by these weights and gives up with the probability by which a bound turned out too high;
a walk that reaches the end is a draw from the model among the texts of the grammar. ``asap`` goes on instead, so early
draws lean to what masks favour.

Sources: Park et al., "Grammar-Aligned Decoding", NeurIPS 2024 (ASAp); Parys et al., "Constrained Adaptive Rejection
Sampling", 2025 (CARS).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from constrained.errors import NoSample
from constrained.loop import Engine, Request
from constrained.loop.engine import TokenMatcher

from .drawn_text import DrawnText, generator_of
from .reader import Reader, allowed_ids, room_of

__all__ = ["TrieSampler"]


@dataclass(slots=True)
class _Node:
    """A beginning: the bound of what follows it, and the beginnings one token longer that were visited."""

    bound: float = 1.0
    children: dict[int, _Node] = field(default_factory=dict)


@dataclass(slots=True)
class _Place:
    """A node of the walk with what was read there."""

    node: _Node
    chances: NDArray[np.float64]
    """(V,) Probabilities of the allowed tokens, 0 for the others."""

    def weights(self) -> NDArray[np.float64]:
        """(V,) The same times the bounds."""
        weights = self.chances.copy()
        for token_id, child in self.node.children.items():
            weights[token_id] *= child.bound
        return weights


class TrieSampler:
    """Draws texts of one request; what one draw learns serves the next."""

    def __init__(self, engine: Engine, request: Request) -> None:
        self._engine, self._request = engine, request
        self._reader = Reader(engine, request)
        self._root = _Node()
        self._is_exact = request.sampling.sampling == "cars"
        self._room = room_of(engine, request)
        self.tokens = 0
        self.walks = 0

    @property
    def forward_passes(self) -> int:
        """Passes of the model so far."""
        return self._reader.forward_passes

    def draw(self, stream: int) -> DrawnText:
        """``cars``: the first text that is not given up. ``asap``: the last of ``max_draws``.

        Raises :class:`~constrained.errors.NoSample` where no walk reached the end.
        """
        generator = generator_of(self._request, stream)
        found = None
        for _ in range(self._request.sampling.max_draws):
            found = self._walk(generator) or found
            if found is not None and self._is_exact:
                break
            if self._root.bound == 0.0:
                break
        if found is None:
            raise NoSample(method=self._request.sampling.sampling, tries=self.walks, log_mass=_log(self._root.bound))
        return found

    def _walk(self, generator: np.random.Generator) -> DrawnText | None:
        """One walk from the root; ``None`` if it was given up or led nowhere."""
        self.walks += 1
        matcher = None if self._request.matcher is None else self._request.matcher.fork()
        ids: list[int] = []
        places: list[_Place] = []
        logprob = log_weight = 0.0
        node, found = self._root, None
        while True:
            place = self._read(node, ids, matcher)
            places.append(place)
            weights = place.weights()
            total, bound = float(weights.sum()), node.bound
            if total <= 0.0 or (self._is_exact and generator.random() * bound >= total):
                break
            log_weight += _log(float(place.chances.sum()))
            token_id = _choose(weights, generator)
            logprob += _log(float(place.chances[token_id]))
            self.tokens += 1
            if token_id in self._engine.eos_token_ids:
                found = DrawnText(tuple(ids), log_weight, logprob / (len(ids) + 1))
                break
            if matcher is not None:
                matcher.consume(token_id)
            ids.append(token_id)
            node = node.children.setdefault(token_id, _Node())
        for place in reversed(places):
            place.node.bound = float(place.weights().sum())
        return found

    def _read(self, node: _Node, ids: list[int], matcher: TokenMatcher | None) -> _Place:
        allowed = allowed_ids(self._engine, matcher, is_last=len(ids) >= self._room)
        chances = np.where(allowed, np.exp(self._reader.logprobs(ids)), 0.0)
        return _Place(node, chances)


def _choose(weights: NDArray[np.float64], generator: np.random.Generator) -> int:
    """An index with probability proportional to its weight; never one of weight 0."""
    sums = np.cumsum(weights)
    index = int(np.searchsorted(sums, generator.random() * sums[-1], side="right"))
    while index >= len(weights) or weights[index] == 0.0:
        index -= 1  # only by rounding at the very end
    return index


def _log(value: float) -> float:
    return float(np.log(value)) if value > 0.0 else -np.inf
