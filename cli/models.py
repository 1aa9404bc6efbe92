"""Loading the model that the options name, with a word on stderr about each slow step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .options import Generation

if TYPE_CHECKING:
    from constrained.api import Model

__all__ = ["load_model"]


def load_model(settings: Generation, *, say: Callable[[str], None]) -> Model:
    """The model of ``--model`` on ``--device``. Raises :class:`constrained.errors.ConstrainedError`."""
    from constrained.api import load

    return load(settings.model, device=settings.device, progress=say)
