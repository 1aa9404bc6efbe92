"""Does a row's result depend on what is computed beside it? Tried, on this machine, with the whole model.

The reference is one text alone, token by token. Then the same text is cut into passes in other ways, has other rows
beside it, stands at other places among them, has caches of other capacities, and runs on other numbers of threads; the
digests of its raw logits are compared with those of the reference.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from constrained.loop import Engine, Request, generate_tokens
from constrained.model import CpuLlama

from .bits import digest_tensor

__all__ = ["BATCH_SIZES", "CHUNKS", "Condition", "ModelAudit", "audit_model"]

BATCH_SIZES = (2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 33, 64)
CHUNKS = (2, 3, 7, 16)
_GREEDY_SIZES = (1, 2, 4, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One way to compute the same, and what came of it."""

    kind: str
    """batch, chunk, slot, capacity or threads."""
    value: int
    num_rows: int
    """Rows of logits that were compared."""
    num_different: int
    """How many of them had another bit anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAudit:
    """What was found of one model."""

    numerics: str
    conditions: tuple[Condition, ...]
    classes: tuple[tuple[int, ...], ...]
    """Batch sizes that give the same bits, together."""
    distinct_outputs: tuple[int, ...]
    """Of each prompt: how many different greedy texts came over batch sizes of 1 to 16."""
    seconds: dict[str, float]
    """Of a decode step of 1 row and of 16 rows, and of a prefill; the least of several."""

    @property
    def is_invariant(self) -> bool:
        """Whether no bit differed under any condition."""
        return not any(condition.num_different for condition in self.conditions)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {**asdict(self), "is_invariant": self.is_invariant}


def audit_model(engine: Engine, *, num_tokens: int = 32, threads: Sequence[int] = (1, 2), seed: int = 0) -> ModelAudit:
    """Try one model. ``num_tokens`` is the length of the text, at least 20; ``threads`` are tried one after the other.

    >>> from constrained.testing.tiny import tiny_llama, tiny_tokenizer
    >>> engine = Engine.from_model(CpuLlama.from_llama(tiny_llama()), tiny_tokenizer())
    >>> audit_model(engine, num_tokens=20).is_invariant
    True
    """
    if num_tokens < 20:
        raise ValueError(f"num_tokens: expected at least 20, got {num_tokens}")
    audit = _Audit(engine, num_tokens, np.random.default_rng(seed))
    conditions = [*audit.chunks(), *audit.capacities()]
    digests: dict[int, int] = {1: audit.reference[-1]}
    for size in BATCH_SIZES:
        condition, digest = audit.batch(size)
        conditions.append(condition)
        digests[size] = digest
    conditions += [audit.slot(place, of=8) for place in (1, 5, 7)]
    conditions += [audit.threads(count) for count in threads]
    return ModelAudit(
        numerics=getattr(engine.model, "numerics", "native"),
        conditions=tuple(conditions),
        classes=_classes(digests),
        distinct_outputs=tuple(audit.distinct_outputs()),
        seconds=audit.seconds(),
    )


def _classes(digests: dict[int, int]) -> tuple[tuple[int, ...], ...]:
    found: dict[int, list[int]] = {}
    for size, digest in digests.items():
        found.setdefault(digest, []).append(size)
    return tuple(map(tuple, found.values()))


class _Audit:
    """One text, its reference, and ways to compute it."""

    def __init__(self, engine: Engine, num_tokens: int, random: np.random.Generator) -> None:
        self._engine, self._model, self._random = engine, engine.model, random
        self._ids = self._text(num_tokens)
        self._capacity = 2 * num_tokens
        self.reference = self._digests_by_chunks(1, self._capacity)
        self._before_last = self._model.new_cache(1, self._capacity)
        self._model.forward_rows([self._ids[:-1]], [self._before_last])

    def _text(self, length: int) -> list[int]:
        ids: list[int] = self._random.integers(3, self._model.vocab_size, length).tolist()
        return ids

    def chunks(self) -> Iterator[Condition]:
        """The text in pieces of several tokens, and in one."""
        for size in (*CHUNKS, len(self._ids)):
            yield self._compared("chunk", size, self._digests_by_chunks(size, self._capacity))

    def capacities(self) -> Iterator[Condition]:
        """The text in caches with more room, and with none to spare."""
        for capacity in (len(self._ids), len(self._ids) + 1, 512, 1000):
            yield self._compared("capacity", capacity, self._digests_by_chunks(1, max(capacity, len(self._ids))))

    def batch(self, size: int) -> tuple[Condition, int]:
        """The text's last token beside others, as the first and as the last of them."""
        digests = [self._last_among(size, place) for place in (0, size - 1)]
        different = sum(digest != self.reference[-1] for digest in digests)
        return Condition(kind="batch", value=size, num_rows=2, num_different=different), digests[0]

    def slot(self, place: int, *, of: int) -> Condition:
        """The same at one place."""
        different = self._last_among(of, place) != self.reference[-1]
        return Condition(kind="slot", value=place, num_rows=1, num_different=int(different))

    def threads(self, count: int) -> Condition:
        """The text in pieces of 7 by another number of threads, against the reference."""
        with _threads(self._model, count) as model:
            got = self._digests_by_chunks(7, self._capacity, model=model)
        return self._compared("threads", count, got)

    def distinct_outputs(self, *, num_prompts: int = 2, num_tokens: int = 12) -> Iterator[int]:
        """Greedy texts of prompts that are generated beside 0 to 15 others."""
        prompts = [self._text(12) for _ in range(num_prompts)]
        texts: list[set[tuple[int, ...]]] = [set() for _ in prompts]
        for size in _GREEDY_SIZES:
            for index, prompt in enumerate(prompts):
                others = [self._text(int(self._random.integers(2, 20))) for _ in range(size - 1)]
                rows = [prompt, *others]
                requests = [Request(prompt_ids=ids, max_tokens=num_tokens) for ids in rows]
                results = [
                    step.result for step in generate_tokens(self._engine, requests) if step.result and step.row == 0
                ]
                texts[index].add(results[0].token_ids)
        return map(len, texts)

    def seconds(self) -> dict[str, float]:
        """The least time of a few passes of each kind."""
        found = {}
        for name, size in (("decode of 1", 1), ("decode of 16", 16)):
            caches = [self._model.new_cache(1, 64) for _ in range(size)]
            self._model.forward_rows([self._text(16) for _ in range(size)], caches)
            steps = []
            for _ in range(6):
                started = time.perf_counter()
                self._model.forward_rows([self._text(1) for _ in range(size)], caches)
                steps.append(time.perf_counter() - started)
            found[name] = min(steps)
        prefills = []
        for _ in range(3):
            cache = self._model.new_cache(1, 128)
            started = time.perf_counter()
            self._model.forward_rows([self._text(128)], [cache])
            prefills.append(time.perf_counter() - started)
        return {**found, "prefill of 128": min(prefills)}

    def _digests_by_chunks(self, size: int, capacity: int, *, model: Any = None) -> list[int]:
        """Digests of the logits at every position, the text fed ``size`` tokens at a time."""
        model = self._model if model is None else model
        cache = model.new_cache(1, capacity)
        digests: list[int] = []
        for start in range(0, len(self._ids), size):
            logits = model.forward_rows([self._ids[start : start + size]], [cache], all_positions=True)
            digests += _digests(logits)
        return digests

    def _last_among(self, size: int, place: int) -> int:
        """Digest of the last logits, the last token fed beside ``size - 1`` other rows, at ``place``."""
        cache = self._before_last
        cache.truncate(len(self._ids) - 1)
        rows, caches = [self._text(1) for _ in range(size)], [self._model.new_cache(1, 64) for _ in range(size)]
        with_past = caches[: min(size // 2, 8)]  # the others begin
        if with_past:
            self._model.forward_rows([self._text(1 + row % 5) for row in range(len(with_past))], with_past)
        rows[place], caches[place] = [self._ids[-1]], cache
        return _digests(self._model.forward_rows(rows, caches))[place]

    def _compared(self, kind: str, value: int, digests: Sequence[int]) -> Condition:
        different = sum(one != other for one, other in zip(self.reference, digests, strict=True))
        return Condition(kind=kind, value=value, num_rows=len(digests), num_different=different)


def _digests(logits: Tensor) -> list[int]:
    digests: list[int] = digest_tensor(logits).tolist()
    return digests


@contextlib.contextmanager
def _threads(model: Any, count: int) -> Iterator[Any]:
    """The same weights by another number of threads; torch's own number is put back."""
    if isinstance(model, CpuLlama):
        yield model.with_threads(count)
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield model
    finally:
        torch.set_num_threads(before)
