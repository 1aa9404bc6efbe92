"""The options of a call that say how tokens are chosen: fields of :class:`~constrained.SamplingConfig`, by keyword."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from .sampling_config import SamplingMethod
from .watermark.config import WatermarkConfig

__all__ = ["SamplingOptions"]


class SamplingOptions(TypedDict, total=False):
    """Each is a field of :class:`~constrained.SamplingConfig`, which says more."""

    temperature: float
    """0 (the default) takes the best token always."""
    top_k: int | None
    """Keep only the best so many tokens."""
    top_p: float
    """Keep the smallest set of best tokens with at least this probability."""
    min_p: float
    """Keep tokens at least so many times as probable as the best."""
    seed: int
    """The same seed gives the same tokens. 0 by default."""
    repetition_penalty: float
    """Above 1: tokens that were drawn before become less probable."""
    presence_penalty: float
    """Taken off the logit of each token that was drawn before."""
    frequency_penalty: float
    """Taken off the logit of a token as often as it was drawn."""
    logit_bias: Mapping[int, float]
    """Added to the logits of these token ids."""
    bad_words: Sequence[str]
    """Texts that must not stand in the output."""
    sampling: SamplingMethod
    """``"local"``, the default: each token among the allowed ones; the others: whole texts as the model weighs them."""
    particles: int
    """Texts written side by side under ``"smc"`` and ``"awrs"``. 16 by default."""
    max_draws: int
    """Texts begun at most for one that is given back, under ``"asap"`` and ``"cars"``. 100 by default."""
    n: int
    """How many samples are wanted; ``result.samples`` has them all."""
    best_of: int | None
    """How many are drawn, of which the ``n`` with the best mean log-probability are kept."""
    num_beams: int
    """Above 1: search so many texts side by side for the most probable, instead of drawing."""
    logprobs: bool
    """Whether ``result.logprobs`` is filled."""
    top_logprobs: int
    """And of how many of the best tokens at each place."""
    watermark: WatermarkConfig | None
    """How the output is marked."""
