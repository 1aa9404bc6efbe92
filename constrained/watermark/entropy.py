"""Weights for a detector, where the model is at hand: tokens that could hardly have been others tell little.

Sources: Lee et al., "Who Wrote this Code? Watermarking for Code Generation", ACL 2024 (SWEET: a threshold); Lu et al.,
"An Entropy-based Text Watermarking Detection Method", ACL 2024 (EWD: weights by spike entropy).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .replay import replay

if TYPE_CHECKING:
    from ..api import Model

__all__ = ["entropy_weights"]

_SWEET_NATS = 0.9


def entropy_weights(
    model: Model,
    token_ids: Sequence[int],
    *,
    prompt_ids: Sequence[int],
    schema: Any = None,
    whitespace: str = "indent=2",
    method: str = "ewd",
    delta: float = 2.0,
    gamma: float = 0.25,
    context_width: int = 4,
) -> list[float]:
    """What each free token of an output counts (``weights`` of :func:`constrained.watermark.detect`).

    ``"sweet"``: 1 where the masked distribution has more than 0.9 nats of entropy, else 0. ``"ewd"``: its spike entropy
    for this ``delta`` and ``gamma``, less the least of the output's. One pass of the model over prompt and output.
    """
    if method not in ("sweet", "ewd"):
        raise ValueError(f"method: expected 'sweet' or 'ewd', got {method!r}")
    engine = model.engine
    grammar = None if schema is None else model.compile(schema, whitespace=whitespace)
    matcher = None if grammar is None else grammar.matcher()
    free = {place.index for place in replay(token_ids, engine.vocabulary, matcher, context_width=context_width).free}
    ids = [*prompt_ids, *token_ids]
    cache = engine.model.new_cache(1, len(ids))
    logits = engine.model.forward_rows([ids], [cache], all_positions=True)[len(prompt_ids) - 1 :]
    bitmask = engine.free_bitmask[None].copy()
    found: list[float] = []
    for index, token_id in enumerate(token_ids):
        if index in free:
            if matcher is not None:
                matcher.fill_next_token_bitmask(bitmask)
            bits = np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")[: engine.vocabulary.size]
            chances = logits[index][torch.from_numpy(bits.astype(np.bool_)).to(logits.device)].double().softmax(0)
            found.append(_entropy(chances) if method == "sweet" else _spike_entropy(chances, delta, gamma))
        if matcher is not None and not matcher.try_consume([token_id]):
            break
    if method == "sweet":
        return [1.0 if entropy > _SWEET_NATS else 0.0 for entropy in found]
    least = min(found, default=0.0)
    return [entropy - least for entropy in found]


def _entropy(chances: torch.Tensor) -> float:
    """In nats."""
    return float(-(chances * chances.clamp(min=1e-300).log()).sum())


def _spike_entropy(chances: torch.Tensor, delta: float, gamma: float) -> float:
    """Kirchenbauer et al. 2023, definition 4.1, with the modulus of their theorem 4.2."""
    grown = math.exp(delta)
    modulus = (1 - gamma) * (grown - 1) / (1 + (grown - 1) * gamma)
    return float((chances / (1 + modulus * chances)).sum())
