"""The post-forward stage: mask, temperature, truncation and the keyed draw, in one fixed order."""

from constrained.processors.context import LogitsProcessor, Stage, StepContext
from constrained.processors.mask import GrammarMask, apply_token_bitmask
from constrained.processors.pipeline import Pipeline, standard_pipeline
from constrained.processors.sampling import MinP, Temperature, TopK, TopP

__all__ = [
    "GrammarMask",
    "LogitsProcessor",
    "MinP",
    "Pipeline",
    "Stage",
    "StepContext",
    "Temperature",
    "TopK",
    "TopP",
    "apply_token_bitmask",
    "standard_pipeline",
]
