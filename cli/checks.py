"""What is checked after the options and before a model is loaded: the wanted output, whole."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from .failures import explained_errors
from .options import Reading

if TYPE_CHECKING:
    from constrained.output_types import OutputType
    from grammars.ir import IR

__all__ = ["checked_output_type", "require_exactly_one", "require_json"]

AS_USUAL = Reading(property_order=None, formats=None, on_unsupported=None, ensure_ascii=None)

_SOME_SOURCE = "a"  # where it is the documents'

# A remedy for callers of the library `grammars`; the command line has no limits to raise.
_RAISING_LIMITS = re.compile(r", or pass a higher Limits\(\w+=\.\.\.\)")


def require_exactly_one(options: dict[str, Any]) -> str:
    """The name of the one option that was given. Raises a usage error for none or several."""
    given = [name for name, value in options.items() if value is not None and value != ()]
    if len(given) != 1:
        got = " and ".join(given) if given else "none"
        raise click.UsageError(f"expected exactly one of {', '.join(options)}; got {got}")
    return given[0]


def checked_output_type(
    candidate: Any, *, option: str, whitespace: str | None, reading: Reading = AS_USUAL, source: str | None = None
) -> OutputType[Any]:
    """The output type, its grammar tried out, so that a fault is told before anything slow begins.

    ``source``: what verbatim text is taken from, if that is known by now.

    What of a schema is not enforced is told on stderr. Raises a usage error that names the option and holds every fault
    found.
    """
    from constrained.output_types import DEFAULT_WHITESPACE, ChoiceType, json_schema, output_type_from
    from constrained.output_types.regular import RegularType
    from grammars.ir.verbatim import bind_source

    try:
        output_type = output_type_from(candidate)
        is_json = not isinstance(output_type, RegularType | ChoiceType)
        if is_json and reading.given:
            output_type = json_schema(output_type, **reading.given)
        with _warnings_told():
            ir = output_type.lower(whitespace=whitespace or DEFAULT_WHITESPACE)
        _try_out(bind_source(ir, source or _SOME_SOURCE))
    except explained_errors() as error:
        raise click.BadParameter(_RAISING_LIMITS.sub("", str(error)), param_hint=f"'{option}'") from error
    if not is_json:
        require_json(whitespace, option, reading)
    return output_type


def require_json(whitespace: str | None, option: str, reading: Reading = AS_USUAL) -> None:
    """Refuse options that say how JSON is written where what is written is none: they would change nothing."""
    named = ["--whitespace"] if whitespace is not None else []
    named += [f"--{name.replace('_', '-')}" for name in reading.given]
    if named:
        say = "say" if len(named) > 1 else "says"
        leave = "them" if len(named) > 1 else "it"
        raise click.UsageError(
            f"{' and '.join(named)} {say} how JSON is written, and {option} writes none; leave {leave} out"
        )


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Tell what of a schema is not enforced, once, as messages for people."""
    from grammars.errors import SchemaWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SchemaWarning)
        yield
    for warning in caught:
        if isinstance(warning.message, SchemaWarning):
            click.echo(f"Warning: {warning.message}", err=True)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    warnings.simplefilter("ignore", SchemaWarning)


def _try_out(ir: IR) -> None:
    """Raise what compiling for a vocabulary would: that nothing is allowed, or that it is too large."""
    import grammars
    from grammars.automaton.network import build_network

    if not grammars.is_warm():
        click.echo("compiling the kernels of the grammar engine (once)", err=True)
        grammars.warm_up()
    build_network(ir)
