"""What is checked after the options and before a model is loaded: the wanted output, whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .failures import explained_errors

if TYPE_CHECKING:
    from constrained.output_types import OutputType

__all__ = ["checked_output_type", "require_exactly_one"]


def require_exactly_one(options: dict[str, Any]) -> str:
    """The name of the one option that was given. Raises a usage error for none or several."""
    given = [name for name, value in options.items() if value is not None and value != ()]
    if len(given) != 1:
        got = " and ".join(given) if given else "none"
        raise click.UsageError(f"expected exactly one of {', '.join(options)}; got {got}")
    return given[0]


def checked_output_type(candidate: Any, *, option: str, whitespace: str | None) -> OutputType[Any]:
    """The output type, its grammar tried out, so that a fault is told before anything slow begins.

    Raises a usage error that names the option and holds every fault found.
    """
    from constrained.output_types import DEFAULT_WHITESPACE, output_type_from

    try:
        output_type = output_type_from(candidate)
        output_type.lower(whitespace=whitespace or DEFAULT_WHITESPACE)
    except explained_errors() as error:
        raise click.BadParameter(str(error), param_hint=f"'{option}'") from error
    return output_type
