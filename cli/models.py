"""Loading the model that the options name, with a word on stderr about each slow step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from .options import Generation

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.result import GenerationResult

__all__ = ["load_model", "why_cut_off"]


def load_model(settings: Generation, *, say: Callable[[str], None]) -> Model:
    """The model of ``--model`` on ``--device``; or a :class:`constrained.errors.ConstrainedError`, or a usage error."""
    from constrained.api import load

    try:
        return load(
            settings.model,
            device=settings.device,
            weights=settings.weights,
            numerics="invariant" if settings.deterministic else "native",
            threads=settings.threads,
            progress=say,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def why_cut_off(result: GenerationResult, model: Model) -> str:
    """What ended an output before it was whole, and what to do about it."""
    written = len(result.token_ids)
    if result.usage.prompt_tokens + written >= model.context_length:
        return (
            f"cut off after {written} tokens, before the output was whole: with the {result.usage.prompt_tokens:,} of "
            f"the prompt they fill the model's context of {model.context_length:,}; shorten the text, or use a model "
            "with a longer context"
        )
    return (
        f"cut off after {written} tokens, before the output was whole; raise --max-tokens, close it in time "
        "(--on-budget close), or bound what may be long (maxLength, maxItems; in a grammar, repeats)"
    )
