"""How far the logits of rounded weights are from those of exact ones, on text that the exact model itself writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from constrained.model.cpu import CpuLlama, WeightKind
from constrained.model.sources import LoadedModel, load_model

__all__ = ["Drift", "drift_between", "measure_drift"]

_QUESTIONS = (
    "Describe a small harbour town and three of the people who live in it.",
    "Write the invoice of a carpenter for two tables and six chairs as JSON.",
    "Explain how bread is made, step by step.",
    "What is the difference between weather and climate?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Rounded weights beside exact ones, over ``positions`` of text."""

    weights: WeightKind
    positions: int
    same_best: int
    """Positions at which both have the same best token."""
    largest_difference: float
    """Of any logit."""
    mean_divergence: float
    """Mean of Kullback-Leibler divergences of next-token distributions, exact from rounded, in nats."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return asdict(self)


def measure_drift(
    source: str | Path | None = None,
    *,
    kinds: Sequence[WeightKind] = ("bf16", "int8"),
    num_tokens: int = 50,
    threads: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Drift]:
    """Of a model on the CPU, over ``num_tokens`` greedy tokens after each of four questions.

    Raises what :func:`constrained.model.load_model` raises.
    """
    progress("writing text with exact weights")
    loaded = load_model(source, device="cpu", weights="fp32", threads=threads, progress=progress)
    exact = _on_cpu(loaded)
    texts = [_written(exact, _prompt(loaded, question), num_tokens) for question in _QUESTIONS]
    expected = [_logits(exact, *text) for text in texts]
    del exact, loaded
    drifts = []
    for kind in kinds:
        progress(f"reading it with {kind} weights")
        rounded = _on_cpu(load_model(source, device="cpu", weights=kind, threads=threads, progress=progress))
        got = [_logits(rounded, *text) for text in texts]
        drifts.append(drift_between(torch.cat(expected), torch.cat(got), weights=kind))
    return drifts


def drift_between(exact: Tensor, rounded: Tensor, *, weights: WeightKind) -> Drift:
    """Of logits (positions, V) both.

    >>> exact, rounded = torch.tensor([[0.0, 1.0], [3.0, 1.0]]), torch.tensor([[0.5, 0.0], [3.0, 1.0]])
    >>> drift = drift_between(exact, rounded, weights="int8")
    >>> drift.positions, drift.same_best, drift.largest_difference, round(drift.mean_divergence, 3)
    (2, 1, 1.0, 0.129)
    """
    of_exact, of_rounded = exact.log_softmax(-1), rounded.log_softmax(-1)
    return Drift(
        weights=weights,
        positions=len(exact),
        same_best=int((exact.argmax(-1) == rounded.argmax(-1)).sum()),
        largest_difference=float((exact - rounded).abs().max()),
        mean_divergence=float((of_exact.exp() * (of_exact - of_rounded)).sum(-1).mean()),
    )


def _on_cpu(loaded: LoadedModel) -> CpuLlama:
    assert isinstance(loaded.model, CpuLlama)
    return loaded.model


def _prompt(loaded: LoadedModel, question: str) -> list[int]:
    if loaded.tokenizer.has_chat_template:
        return loaded.tokenizer.chat_prompt([{"role": "user", "content": question}])
    return loaded.tokenizer.tokenize(question)


def _written(model: CpuLlama, prompt: list[int], num_tokens: int) -> tuple[list[int], int]:
    """The prompt with the best tokens after it, ends of text among them; and the length of the prompt."""
    cache = model.new_cache(1, len(prompt) + num_tokens)
    token_ids = list(prompt)
    pending = prompt
    for _ in range(num_tokens):
        pending = [int(model.forward_rows([pending], [cache]).argmax())]
        token_ids += pending
    return token_ids, len(prompt)


def _logits(model: CpuLlama, token_ids: list[int], prompt_length: int) -> Tensor:
    """Of all positions from which a token was written: (tokens, V)."""
    cache = model.new_cache(1, len(token_ids))
    if prompt_length > 1:
        model.forward_rows([token_ids[: prompt_length - 1]], [cache])
    return model.forward_rows([token_ids[prompt_length - 1 : -1]], [cache], all_positions=True)
