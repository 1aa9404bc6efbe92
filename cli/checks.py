"""What is checked after the options and before a model is loaded: the wanted output, whole."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from .failures import explained_errors
from .grammar_options import GrammarText
from .options import Reading

if TYPE_CHECKING:
    from constrained.output_types import OutputType
    from grammars.ir import IR

__all__ = [
    "checked_lowering",
    "checked_output_type",
    "require_exactly_one",
    "require_json",
    "usage_errors",
    "without_limits",
]

AS_USUAL = Reading(property_order=None, formats=None, on_unsupported=None, ensure_ascii=None)

_SOME_SOURCE = "a"  # where it is the documents'

# A remedy for callers of the library `grammars`.
_RAISING_LIMITS = re.compile(r" \(the library `grammars` takes a higher Limits\(\w+=\.\.\.\)\)")


def require_exactly_one(options: dict[str, Any]) -> str:
    """The name of the one option that was given. Raises a usage error for none or several."""
    given = [name for name, value in options.items() if value is not None and value != ()]
    if len(given) != 1:
        got = " and ".join(given) if given else "none"
        raise click.UsageError(f"expected exactly one of {', '.join(options)}; got {got}")
    return given[0]


def checked_output_type(
    candidate: Any,
    *,
    option: str,
    whitespace: str | None,
    reading: Reading = AS_USUAL,
    start: str | None = None,
    source: str | None = None,
) -> OutputType[Any]:
    """The output type, its grammar tried out, so that a fault is told before anything slow begins.

    ``candidate`` is a :class:`~.grammar_options.GrammarText`, which starts at ``start``, or what is an output type.
    ``source``: what verbatim text is taken from, if that is known by now.

    What of a schema is not enforced is told on stderr. Raises a usage error that names the option and holds every fault
    found.
    """
    from grammars.ir.verbatim import bind_source

    with usage_errors(candidate, option):
        output_type, ir = checked_lowering(
            candidate, option=option, whitespace=whitespace, reading=reading, start=start
        )
        _try_out(bind_source(ir, source or _SOME_SOURCE))
    return output_type


def checked_lowering(
    candidate: Any,
    *,
    option: str,
    whitespace: str | None,
    reading: Reading,
    start: str | None,
    default_whitespace: str | None = None,
) -> tuple[OutputType[Any], IR]:
    """As :func:`checked_output_type`, with the grammar, which is not tried out."""
    from constrained.output_types import DEFAULT_WHITESPACE, json_schema, output_type_from

    with usage_errors(candidate, option):
        output_type = output_type_from(
            candidate.output_type(start) if isinstance(candidate, GrammarText) else candidate
        )
        if output_type.schema_text is None:
            require_json(None if _may_hold_json(output_type) else whitespace, option, reading)
        elif reading.given:
            output_type = json_schema(output_type, **reading.given)
        with _warnings_told():
            return output_type, output_type.lower(whitespace=whitespace or default_whitespace or DEFAULT_WHITESPACE)


@contextmanager
def usage_errors(candidate: Any, option: str) -> Iterator[None]:
    """Tell what a grammar is refused for as wrong usage of the option that gave it."""
    try:
        yield
    except explained_errors() as error:
        where = f"{candidate.name}: " if isinstance(candidate, GrammarText) else ""
        raise click.BadParameter(where + without_limits(str(error)), param_hint=f"'{option}'") from error


def without_limits(message: str) -> str:
    """A message without the advice to raise a limit: the command line has none to raise."""
    return _RAISING_LIMITS.sub("", message)


def _may_hold_json(output_type: OutputType[Any]) -> bool:
    """Whether some of what is written may be JSON, so that its whitespace matters."""
    from constrained.combinators.pieces import GbnfPiece
    from constrained.output_types import ChoiceType
    from constrained.output_types.regular import RegularType

    return not isinstance(output_type, RegularType | ChoiceType | GbnfPiece)


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
    from grammars.ir.private import is_private, make_private

    if not grammars.is_warm():
        click.echo("compiling the kernels of the grammar engine (once)", err=True)
        grammars.warm_up()
    build_network(make_private(ir, range(len(ir.specials))) if is_private(ir) else ir)
