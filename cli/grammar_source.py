"""Which grammar a command is about: a file, a regular expression, a JSON Schema, or one of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .checks import require_exactly_one
from .documents import STDIN, Unreadable, decode_text, read_documents
from .options import NameParam, SchemaParam, TextParam, WhitespaceParam

if TYPE_CHECKING:
    from grammars.ir import IR

__all__ = ["GrammarSource", "grammar_options", "read_source", "read_source_text", "read_text"]

Command = TypeVar("Command", bound=Callable[..., Any])

_SUFFIXES = {".gbnf": "gbnf", ".ebnf": "gbnf", ".lark": "lark", ".json": "schema"}


@dataclass(frozen=True, slots=True)
class GrammarSource:
    """A grammar as the options give it."""

    file: str | None
    regex: str | None
    schema: Any
    library: str | None
    start: str | None
    whitespace: str | None
    source: str | None
    """The name of the file that verbatim text is taken from."""

    def lower(self) -> IR:
        """The grammar. Raises a usage error that says all that is wrong with it."""
        from grammars.ir.verbatim import bind_source

        from .failures import explained_errors

        option = require_exactly_one(
            {"GRAMMAR": self.file, "--regex": self.regex, "--schema": self.schema, "--library": self.library}
        )
        source = None if self.source is None else read_source_text(self.source)
        try:
            return bind_source(self._lower(option), source)
        except explained_errors() as error:
            raise click.BadParameter(str(error), param_hint=f"'{option}'") from error

    def _lower(self, option: str) -> IR:
        from constrained.combinators import gbnf, lark
        from constrained.output_types import DEFAULT_WHITESPACE, output_type_from, regex
        from grammars.ir import Builder
        from grammars.library import grammar

        whitespace = self.whitespace or DEFAULT_WHITESPACE
        if self.library is not None:
            builder = Builder()
            return builder.finish(grammar(self.library).lower(builder))
        if self.regex is not None:
            return regex(self.regex).lower(whitespace=whitespace)
        if self.file is None:
            return output_type_from(self.schema).lower(whitespace=whitespace)
        kind, text = _read_file(self.file)
        if kind == "schema":
            return output_type_from(text).lower(whitespace=whitespace)
        if kind == "lark":
            return lark(text, start=self.start or "start").lower(whitespace=whitespace)
        return gbnf(text, start=self.start or "root").lower(whitespace=whitespace)


def _read_file(name: str) -> tuple[str, str]:
    """What is in a grammar file, by the end of its name, and its text."""
    kind = _SUFFIXES.get(Path(name).suffix.lower())
    if kind is None:
        known = ", ".join(_SUFFIXES)
        raise click.UsageError(f"{name!r}: expected the name of a grammar file to end with one of {known}")
    try:
        return kind, decode_text(Path(name).read_bytes())
    except FileNotFoundError:
        raise click.UsageError(f"there is no file {name!r}") from None
    except OSError as error:
        raise click.UsageError(f"{name!r} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise click.UsageError(f"{name!r} is not a text file with a grammar: {error}") from None


def grammar_options(command: Command) -> Command:
    """The options that give a grammar, where it is not in a file."""
    for option in reversed(
        (
            click.option(
                "--regex", type=TextParam(), metavar="PATTERN", help="A regular expression (Python's syntax)."
            ),
            click.option(
                "--schema",
                "-s",
                type=SchemaParam(),
                metavar="FILE|JSON|MODULE:MODEL",
                help="A JSON Schema: a file, the JSON itself, or a Python type such as a Pydantic model.",
            ),
            click.option("--library", metavar="NAME", help="A ready grammar, such as sql_select or python_expression."),
            click.option("--start", metavar="RULE", help="Where a grammar starts. Default: root (GBNF), start (Lark)."),
            click.option("--whitespace", type=WhitespaceParam(), help="How JSON is written. Default: indent=2."),
            click.option(
                "--source", type=NameParam(), metavar="FILE", help="The text that verbatim strings are taken from."
            ),
        )
    ):
        command = option(command)
    return command


def read_source(arguments: tuple[str, ...], options: dict[str, Any], *, more: int) -> tuple[GrammarSource, list[str]]:
    """The grammar, and the ``more`` arguments that stand behind its file, or alone where an option gives the grammar.

    Raises a usage error for too few or too many.
    """
    has_option = any(options[name] is not None for name in ("regex", "schema", "library"))
    wanted = more if has_option else more + 1
    if len(arguments) != wanted:
        what = "TEXT" if more else "no argument"
        expected = (
            f"{what} (the grammar is given by an option)" if has_option else "a grammar file, or an option for it"
        )
        if more and not has_option:
            expected = "a grammar file (or an option for it) and TEXT"
        raise click.UsageError(f"expected {expected}; got {len(arguments)} arguments")
    file = None if has_option else arguments[0]
    return GrammarSource(file=file, **options), list(arguments[0 if has_option else 1 :])


def read_source_text(name: str) -> str:
    """The text of a file that verbatim strings are taken from. Raises a usage error where there is none."""
    from grammars.errors import SourceError
    from grammars.ir.verbatim import check_source

    (read,) = read_documents([name])
    if isinstance(read, Unreadable):
        raise click.BadParameter(f"{read.name}: {read.reason}", param_hint="'--source'")
    try:
        check_source(read.text, read.name)
    except SourceError as error:
        raise click.BadParameter(str(error), param_hint="'--source'") from None
    return read.text


def read_text(argument: str) -> str:
    """The text that an argument means: itself, or standard input for ``-``."""
    if argument != STDIN:
        return str(TextParam().convert(argument, None, None))
    (read,) = read_documents([STDIN])
    if isinstance(read, Unreadable):
        raise click.UsageError(f"the text from {read.name} cannot be used: {read.reason}")
    return read.text
