"""How weights can be held."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

__all__ = ["WEIGHT_KINDS", "WEIGHT_TYPES", "WeightKind"]

WeightKind = Literal["fp32", "bf16", "int8"]
"""Exactly; rounded to bfloat16; or as whole numbers up to 127 with a scale for each output."""
WEIGHT_KINDS: tuple[WeightKind, ...] = get_args(WeightKind)

WEIGHT_TYPES: dict[WeightKind, Any] = {"fp32": np.float32, "bf16": np.uint16, "int8": np.int8}
"""Kind -> type of the packed numbers; of bfloat16, its bits."""
