"""Beam search under the mask: the most probable texts of the grammar that a narrow search finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from constrained.errors import NoSample
from constrained.loop import Engine, Request
from constrained.loop.engine import TokenMatcher

from .drawn_text import DrawnText
from .reader import Reader, allowed_ids, room_of

__all__ = ["BeamSearch"]


@dataclass(frozen=True, slots=True)
class _Beam:
    ids: tuple[int, ...]
    matcher: TokenMatcher | None
    logprob: float
    log_mass: float


class BeamSearch:
    """Keeps the ``num_beams`` beginnings with the highest log-probability, before masks, at each step.

    A text counts when it has ended. The search is over when no beginning is more probable than as many finished texts.
    Beginnings that share a prefix share its passes as far as one cache holds it.
    """

    def __init__(self, engine: Engine, request: Request) -> None:
        self._engine, self._request = engine, request
        self._width = request.sampling.num_beams
        self._readers = [Reader(engine, request) for _ in range(self._width)]
        self.tokens = 0

    @property
    def forward_passes(self) -> int:
        """Passes of the model so far."""
        return sum(reader.forward_passes for reader in self._readers)

    def search(self) -> list[DrawnText]:
        """Finished texts, the most probable first; :class:`~constrained.errors.NoSample` where there are none."""
        room = room_of(self._engine, self._request)
        matcher = self._request.matcher
        live = [_Beam((), None if matcher is None else matcher.fork(), 0.0, 0.0)]
        finished: list[tuple[float, DrawnText]] = []
        for length in range(room + 1):
            live = self._step(live, finished, is_last=length == room)
            finished.sort(key=lambda pair: -pair[0])
            del finished[self._width :]
            if not live or (len(finished) == self._width and live[0].logprob <= finished[-1][0]):
                break
        if not finished:
            raise NoSample(method="beams", tries=self._width, log_mass=-np.inf)
        return [text for _, text in finished]

    def _step(self, live: list[_Beam], finished: list[tuple[float, DrawnText]], *, is_last: bool) -> list[_Beam]:
        """The best beginnings one token longer; those that end go to ``finished``."""
        options: list[tuple[float, int, int, float]] = []
        for place, beam in enumerate(live):
            logprobs = self._readers[place].logprobs(beam.ids)
            allowed = allowed_ids(self._engine, beam.matcher, is_last=is_last)
            masked = np.where(allowed, logprobs, -np.inf)
            mass = beam.log_mass + float(np.log(np.exp(masked).sum())) if allowed.any() else -np.inf
            best = np.argsort(-masked, kind="stable")[: 2 * self._width]
            options += [
                (beam.logprob + float(masked[token_id]), place, int(token_id), mass)
                for token_id in best
                if masked[token_id] > -np.inf
            ]
        options.sort(key=lambda option: (-option[0], option[1], option[2]))
        kept: list[_Beam] = []
        for logprob, place, token_id, mass in options:
            beam = live[place]
            if token_id in self._engine.eos_token_ids:
                finished.append((logprob, DrawnText(beam.ids, mass, logprob / (len(beam.ids) + 1))))
                continue
            if len(kept) == self._width:
                break
            matcher = None if beam.matcher is None else beam.matcher.fork()
            if matcher is not None:
                matcher.consume(token_id)
            self.tokens += 1
            kept.append(_Beam((*beam.ids, token_id), matcher, logprob, mass))
        return kept
