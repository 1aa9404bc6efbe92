"""The post-forward stage: mask, temperature, truncation and the keyed draw, in one fixed order."""

from constrained.processors.context import LogitsProcessor, Stage, StepContext
from constrained.processors.mask import GrammarMask, apply_token_bitmask
from constrained.processors.penalties import LogitBias, Penalties
from constrained.processors.pipeline import Pipeline, standard_pipeline
from constrained.processors.record import RowRecord
from constrained.processors.sampling import MinP, Temperature, TopK, TopP
from constrained.processors.watermark import Watermark

__all__ = [
    "GrammarMask",
    "LogitBias",
    "LogitsProcessor",
    "MinP",
    "Penalties",
    "Pipeline",
    "RowRecord",
    "Stage",
    "StepContext",
    "Temperature",
    "TopK",
    "TopP",
    "Watermark",
    "apply_token_bitmask",
    "standard_pipeline",
]
