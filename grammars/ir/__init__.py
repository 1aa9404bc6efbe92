"""The small language that all front ends lower to."""

from .builder import Builder
from .nodes import IR, Kind, NodeId, RuleId

__all__ = ["IR", "Builder", "Kind", "NodeId", "RuleId"]
