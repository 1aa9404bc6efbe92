"""One request, drawn as its settings say; several samples, and the best of them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from constrained.loop import Engine, Request, generate
from constrained.processors import LogitsProcessor
from constrained.result import GenerationResult

from .beams import BeamSearch
from .choices import ChoiceScores
from .drawn_text import result_of
from .particles import ParticleSampler
from .trie import TrieSampler

__all__ = ["Drawer", "keep_best"]


class Drawer:
    """Draws one request as often as it is asked; exact samplers keep what they learn.

    ``choices``: the texts of which one is wanted, where whole ones are to be weighed. Raises ValueError where
    processors or stop texts are to go with a sampling that cannot take them.
    """

    def __init__(
        self,
        engine: Engine,
        request: Request,
        processors: Sequence[LogitsProcessor] = (),
        *,
        choices: Sequence[str] | None = None,
    ) -> None:
        self.engine, self.request, self._processors = engine, request, processors
        self._sampler: TrieSampler | ParticleSampler | ChoiceScores | None = None
        config = request.sampling
        if config.sampling == "local" and config.num_beams == 1 and choices is None:
            return
        what = f"sampling={config.sampling!r}" if config.sampling != "local" else f"num_beams={config.num_beams}"
        if choices is not None:
            what = "score='sequence'"
        for name, given in (("processors", processors), ("stop", request.stop)):
            if given:
                raise ValueError(f"{name}: {what} follows the model's own distribution; expected none, got {given!r}")
        is_trie = config.sampling in ("asap", "cars")
        if choices is not None:
            if config.watermark is not None or config.sampling != "local" or config.num_beams > 1:
                raise ValueError(
                    "choice: score='sequence' weighs whole choices; expected no watermark, beams or sampling"
                )
            self._sampler = ChoiceScores(engine, request, choices)
        elif config.sampling != "local":
            self._sampler = TrieSampler(engine, request) if is_trie else ParticleSampler(engine, request)

    def draw(self, stream: int) -> GenerationResult:
        """One text with the randomness of ``stream``; the errors of the loop and of the samplers."""
        if self._sampler is None:
            request = dataclasses.replace(self.request, stream=stream)
            return generate(self.engine, request, processors=self._processors)
        started = time.perf_counter()
        tokens, passes = self._sampler.tokens, self._sampler.forward_passes
        drawn = self._sampler.draw(stream)
        result = result_of(
            self.engine,
            self.request,
            drawn,
            started=started,
            tokens=self._sampler.tokens - tokens,
            passes=self._sampler.forward_passes - passes,
        )
        if isinstance(self._sampler, ChoiceScores):
            return dataclasses.replace(result, choice_logprobs=self._sampler.log_probabilities)
        return result

    def beams(self) -> list[GenerationResult]:
        """The texts that a beam search finds, the most probable first."""
        started = time.perf_counter()
        search = BeamSearch(self.engine, self.request)
        return [
            result_of(
                self.engine, self.request, text, started=started, tokens=search.tokens, passes=search.forward_passes
            )
            for text in search.search()
        ]


def keep_best(
    drawer: Drawer,
    draw: Callable[[int], GenerationResult],
    check: Callable[[list[GenerationResult]], list[GenerationResult]],
) -> GenerationResult:
    """All samples that a request asks for, ``draw(0)``, ``draw(1)`` ...: the first or best, which holds the others.

    Of beams, those that ``check`` lets pass.
    """
    config = drawer.request.sampling
    if config.num_beams > 1:
        results = check(drawer.beams())
    else:
        results = [draw(sample) for sample in range(config.best_of or config.n)]
    if config.best_of is not None:
        results.sort(key=lambda result: -(result.mean_logprob if result.mean_logprob is not None else -1e9))
    results = results[: config.n]
    return results[0] if config.n == 1 else dataclasses.replace(results[0], samples=tuple(results))
