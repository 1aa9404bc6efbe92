"""Watermarks that know the mask: what marks a text, and what finds the marks. Nothing here needs torch or a model.

>>> from constrained.watermark import WatermarkConfig, WatermarkKey
>>> WatermarkConfig(scheme="kgw", key_file="key.txt").gamma
0.25
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import WatermarkConfig
    from .detection import Detection, detect
    from .key import WatermarkKey

__all__ = ["Detection", "WatermarkConfig", "WatermarkKey", "detect"]

_HOME_OF = {"Detection": "detection", "WatermarkConfig": "config", "WatermarkKey": "key", "detect": "detection"}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value
