"""What a mask weighs: the probability that the model gives, before it, to what it allows.

The product of these over an output is its importance weight W: a text drawn under masks has W times the probability
that the model gives it among all texts of the grammar, up to a factor that is the same for all. So ln W tells, at the
cost of two sums, how far masking has led away from what the model would have written.
"""

from __future__ import annotations

import torch
from torch import Tensor

from constrained.processors.context import StepContext

__all__ = ["log_mask_mass", "note_logprobs"]


def log_mask_mass(context: StepContext, raw: Tensor, allowed: Tensor) -> Tensor:
    """(B,) Log of the allowed tokens' probability, at each row's temperature (at 1 where the best is always taken).

    ``raw`` (B, V) are the logits before the mask, ``allowed`` (B, N) those it left.
    """
    factors = [
        1.0 if config.is_greedy or config.temperature == 1.0 else 1.0 / max(config.temperature, 1e-3)
        for config in context.sampling
    ]
    if all(factor == 1.0 for factor in factors):
        return allowed.logsumexp(dim=1) - raw.logsumexp(dim=1)
    scale = torch.tensor(factors, device=raw.device)[:, None]
    return (allowed * scale).logsumexp(dim=1) - (raw * scale).logsumexp(dim=1)


def note_logprobs(context: StepContext, raw: Tensor, allowed: Tensor) -> None:
    """Note the log-probabilities of allowed tokens, for rows that ask for them, until one of them is drawn.

    They are those of the model, at temperature 1, before penalties and truncation.
    """
    for row, config in enumerate(context.sampling):
        if not (config.logprobs or config.top_logprobs or config.best_of):
            continue
        note = context.notes[row]
        total, mass = float(raw[row].logsumexp(0)), float(allowed[row].logsumexp(0))
        note.totals = (total, mass)
        if config.top_logprobs:
            values, columns = allowed[row].topk(min(config.top_logprobs, allowed.shape[1]))
            ids = columns if context.token_ids is None else context.token_ids[row][columns]
            note.top = tuple(
                (token_id, value - mass, value - total)
                for token_id, value in zip(ids.tolist(), values.tolist(), strict=True)
                if value > -torch.inf
            )
