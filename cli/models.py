"""Loading the model that the options name, with a word on stderr about each slow step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from .options import Generation

if TYPE_CHECKING:
    from constrained.api import Model

__all__ = ["load_model"]


def load_model(settings: Generation, *, say: Callable[[str], None]) -> Model:
    """The model of ``--model`` on ``--device``; or a :class:`constrained.errors.ConstrainedError`, or a usage error."""
    from constrained.api import load

    try:
        return load(settings.model, device=settings.device, threads=settings.threads, progress=say)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
