"""What building automata may cost: constructions that can grow without bound count their steps."""

from __future__ import annotations

from ...errors import LimitExceeded
from ...limits import Limits

__all__ = ["Budget"]


class Budget:
    """Counts steps and raises :class:`~grammars.errors.LimitExceeded` when, at ``cost`` each, they pass ``max_states``.

    A step is Python here and machine code in the network that ``max_states`` is meant for: the cost evens this out.
    """

    __slots__ = ("cost", "limits", "steps", "what")

    def __init__(self, limits: Limits, what: str, *, cost: int) -> None:
        self.limits = limits
        self.what = what
        self.cost = cost
        self.steps = 0

    def spend(self, steps: int) -> None:
        """Count some steps."""
        self.steps += steps
        if self.steps * self.cost > self.limits.max_states:
            raise LimitExceeded("max_states", self.limits.max_states, f"{self.what} (each step counts as {self.cost})")
