"""Several texts written side by side, each with a weight: ``smc`` with masks, ``awrs`` with checks of single tokens.

A particle's weight is the product of what its masks allowed. Where few particles carry most of the weight, all are
drawn anew among themselves. In the end one is drawn by weight. The mean weight is an unbiased estimate of the
probability that the model writes a text of the grammar at all; the text's own law is right up to O(1 / particles).

``awrs`` never makes a mask: it draws tokens from the model until two are allowed, and the number of tries estimates
what a mask would have weighed, without bias and whatever the first allowed token was.

Sources: Loula et al., "Syntactic and Semantic Control of Large Language Models via Sequential Monte Carlo", ICLR 2025;
Lipkin et al., "Fast Controlled Generation from Language Models with Adaptive Weighted Rejection Sampling", 2025.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from constrained.errors import NoSample
from constrained.loop import Engine, Request
from constrained.loop.engine import TokenMatcher

from .drawn_text import DrawnText, generator_of, log_sum_exp
from .reader import Reader, allowed_ids, room_of

__all__ = ["Particle", "ParticleSampler", "adaptive_rejection"]

_RESAMPLE_BELOW = 0.5


@dataclass(slots=True)
class Particle:
    """One text on its way."""

    matcher: TokenMatcher | None
    ids: list[int] = field(default_factory=list)
    log_weight: float = 0.0
    """Since all were last drawn anew."""
    log_mass: float = 0.0
    """Since the beginning, along this text."""
    logprob: float = 0.0
    has_ended: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it goes on."""
        return not self.has_ended and self.log_weight > -np.inf

    def copied(self) -> Particle:
        """An independent particle that stands where this one does."""
        other = copy.copy(self)
        other.ids = self.ids.copy()
        other.matcher = None if self.matcher is None else self.matcher.fork()
        return other


class ParticleSampler:
    """Draws texts of one request."""

    def __init__(self, engine: Engine, request: Request) -> None:
        self._engine, self._request = engine, request
        self._room = room_of(engine, request)
        self._readers = [Reader(engine, request) for _ in range(request.sampling.particles)]
        self.tokens = 0

    @property
    def forward_passes(self) -> int:
        """Passes of the model so far."""
        return sum(reader.forward_passes for reader in self._readers)

    def draw(self, stream: int) -> DrawnText:
        """One of the particles, by weight. Raises :class:`~constrained.errors.NoSample` where none reached the end."""
        particles, _, generator = self.run(stream)
        logs = np.array([particle.log_weight for particle in particles])
        if logs.max() == -np.inf:
            method = self._request.sampling.sampling
            raise NoSample(method=method, tries=len(particles), log_mass=-np.inf)
        chosen = particles[_systematic(logs, 1, generator)[0]]
        return DrawnText(tuple(chosen.ids), chosen.log_mass, chosen.logprob / (len(chosen.ids) + 1))

    def run(self, stream: int) -> tuple[list[Particle], float, np.random.Generator]:
        """The finished particles, and the log of the estimated probability of the grammar's texts."""
        generator = generator_of(self._request, stream)
        matcher = self._request.matcher
        count = self._request.sampling.particles
        particles = [Particle(None if matcher is None else matcher.fork()) for _ in range(count)]
        while any(particle.is_live for particle in particles):
            for particle, reader in zip(particles, self._readers, strict=True):
                if particle.is_live:
                    self._extend(particle, reader, generator)
            logs = np.array([particle.log_weight for particle in particles])
            if any(particle.is_live for particle in particles) and _effective(logs) < _RESAMPLE_BELOW * count:
                mean = log_sum_exp(logs.tolist()) - np.log(count)
                particles = [particles[index].copied() for index in _systematic(logs, count, generator)]
                for particle in particles:
                    particle.log_weight = float(mean)
        estimate = log_sum_exp([particle.log_weight for particle in particles]) - float(np.log(count))
        return particles, estimate, generator

    def _extend(self, particle: Particle, reader: Reader, generator: np.random.Generator) -> None:
        """Give a particle its next token, or let it die where there is none."""
        logprobs = reader.logprobs(particle.ids)
        is_last = len(particle.ids) >= self._room
        if self._request.sampling.sampling == "smc":
            allowed = allowed_ids(self._engine, particle.matcher, is_last=is_last)
            token_id, weight = _masked(np.exp(logprobs), allowed, generator)
        else:
            token_id, weight = adaptive_rejection(
                np.exp(logprobs), lambda candidate: self._is_allowed(particle, candidate, is_last), generator
            )
        self.tokens += 1
        if token_id < 0:
            particle.log_weight = -np.inf
            return
        particle.log_weight += float(np.log(weight))
        particle.log_mass += float(np.log(weight))
        particle.logprob += float(logprobs[token_id])
        if token_id in self._engine.eos_token_ids:
            particle.has_ended = True
            return
        if particle.matcher is not None:
            particle.matcher.consume(token_id)
        particle.ids.append(token_id)

    def _is_allowed(self, particle: Particle, token_id: int, is_last: bool) -> bool:
        if is_last and token_id not in self._engine.eos_token_ids:
            return False
        if particle.matcher is None:
            return bool((int(self._engine.free_bitmask[token_id >> 5]) >> (token_id & 31)) & 1)
        if not particle.matcher.try_consume([token_id]):
            return False
        particle.matcher.rollback(1)
        return True


def _masked(
    chances: NDArray[np.float64], allowed: NDArray[np.bool_], generator: np.random.Generator
) -> tuple[int, float]:
    """An allowed index by its chance, and the sum of the allowed chances; -1 where there is none."""
    kept = np.where(allowed, chances, 0.0)
    mass = float(kept.sum())
    return (_pick(kept, generator), mass) if mass > 0.0 else (-1, 0.0)


def adaptive_rejection(
    chances: NDArray[np.float64], is_allowed: object, generator: np.random.Generator
) -> tuple[int, float]:
    """An allowed index by its chance, and an estimate of the sum of the allowed chances: 1 / (tries for two - 1).

    Equal in law to drawing with replacement until two draws are allowed, but no index is asked about twice: draws that
    would repeat a refused one are counted by a geometric variable. (-1, 0) where nothing is allowed.
    """
    assert callable(is_allowed)
    left = chances / chances.sum()
    refused = 0.0
    known: set[int] = set()
    first = -1
    tries = accepted = 0
    while accepted < 2:
        open_mass = float(left.sum())
        if open_mass <= 1e-15 or not left.any():
            return (-1, 0.0)
        if refused > 0.0:
            tries += int(generator.geometric(min(1.0, max(open_mass, 1e-15)))) - 1
        tries += 1
        index = _pick(left, generator)
        if index in known or is_allowed(index):
            known.add(index)
            accepted += 1
            first = index if first < 0 else first
        else:
            refused += float(left[index])
            left[index] = 0.0
    return first, 1.0 / (tries - 1)


def _pick(weights: NDArray[np.float64], generator: np.random.Generator) -> int:
    sums = np.cumsum(weights)
    index = min(int(np.searchsorted(sums, generator.random() * sums[-1], side="right")), len(weights) - 1)
    while weights[index] == 0.0:
        index -= 1  # only by rounding at the very end
    return index


def _effective(logs: NDArray[np.float64]) -> float:
    """The effective number of particles; all of them where every weight is 0."""
    top = logs.max()
    if top == -np.inf:
        return float(len(logs))
    weights = np.exp(logs - top)
    return float(weights.sum() ** 2 / (weights**2).sum())


def _systematic(logs: NDArray[np.float64], count: int, generator: np.random.Generator) -> list[int]:
    """``count`` indices by weight, evenly spaced, so that each comes as often as its weight says, up to one."""
    sums = np.cumsum(np.exp(logs - logs.max()))
    places = (generator.random() + np.arange(count)) / count * sums[-1]
    return [min(int(index), len(logs) - 1) for index in np.searchsorted(sums, places, side="right")]
