"""What is checked after the options and before a model is loaded: the wanted output, whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from .failures import explained_errors

if TYPE_CHECKING:
    from constrained.output_types import OutputType
    from grammars.ir import IR

__all__ = ["checked_output_type", "require_exactly_one", "require_json"]

# A remedy for callers of the library `grammars`; the command line has no limits to raise.
_RAISING_LIMITS = re.compile(r", or pass a higher Limits\(\w+=\.\.\.\)")


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
    from constrained.output_types import DEFAULT_WHITESPACE, ChoiceType, output_type_from
    from constrained.output_types.regular import RegularType

    try:
        output_type = output_type_from(candidate)
        _try_out(output_type.lower(whitespace=whitespace or DEFAULT_WHITESPACE))
    except explained_errors() as error:
        raise click.BadParameter(_RAISING_LIMITS.sub("", str(error)), param_hint=f"'{option}'") from error
    if isinstance(output_type, RegularType | ChoiceType):
        require_json(whitespace, option)
    return output_type


def require_json(whitespace: str | None, option: str) -> None:
    """Refuse ``--whitespace`` where what is written is no JSON: it would change nothing."""
    if whitespace is not None:
        raise click.UsageError(f"--whitespace says how JSON is written, and {option} writes none; leave it out")


def _try_out(ir: IR) -> None:
    """Raise what compiling for a vocabulary would: that nothing is allowed, or that it is too large."""
    import grammars
    from grammars.automaton.network import build_network

    if not grammars.is_warm():
        click.echo("compiling the kernels of the grammar engine (once)", err=True)
        grammars.warm_up()
    build_network(ir)
