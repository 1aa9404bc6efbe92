"""Which grammar a command is about: a file, a regular expression, a JSON Schema, or one of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .checks import checked_lowering, require_exactly_one, usage_errors
from .documents import STDIN, Unreadable, read_documents
from .grammar_options import GrammarFileParam, grammar_text_options, require_start_is_used, wanted_grammars
from .options import NameParam, Reading, SchemaParam, TextParam, WhitespaceParam, reading_options, reading_settings

if TYPE_CHECKING:
    from grammars.ir import IR

__all__ = ["GrammarSource", "grammar_options", "read_source", "read_source_text", "read_text"]

Command = TypeVar("Command", bound=Callable[..., Any])

_SUFFIXES = {".gbnf": "gbnf", ".ebnf": "gbnf", ".lark": "lark", ".json": "schema"}


@dataclass(frozen=True, slots=True)
class GrammarSource:
    """A grammar as the options give it: ``option`` names the one that ``candidate`` is from."""

    option: str
    candidate: Any
    start: str | None
    whitespace: str | None
    source: str | None
    """The name of the file that verbatim text is taken from."""
    reading: Reading

    def lower(self, *, default_whitespace: str | None = None) -> IR:
        """The grammar. Raises a usage error that says all that is wrong with it.

        ``default_whitespace``: the style of JSON where ``--whitespace`` names none.
        """
        from grammars.ir.verbatim import bind_source

        source = None if self.source is None else read_source_text(self.source)
        _, ir = checked_lowering(
            self.candidate,
            option=self.option,
            whitespace=self.whitespace,
            reading=self.reading,
            start=self.start,
            default_whitespace=default_whitespace,
        )
        with usage_errors(self.candidate, self.option):
            return bind_source(ir, source)


def _read_file(name: str) -> Any:
    """What a grammar file holds, by the end of its name."""
    kind = _SUFFIXES.get(Path(name).suffix.lower())
    if kind is None:
        known = ", ".join(_SUFFIXES)
        raise click.UsageError(f"{name!r}: expected the name of a grammar file to end with one of {known}")
    if kind == "schema":
        return SchemaParam().convert(f"@{name}", None, None)
    return GrammarFileParam("lark" if kind == "lark" else "gbnf").convert(name, None, None)


def grammar_options(command: Command) -> Command:
    """The options that give a grammar, where it is not in a file, and say how it is read."""
    for option in (
        reading_options,
        click.option(
            "--source", type=NameParam(), metavar="FILE", help="The text that verbatim strings are taken from."
        ),
        click.option(
            "--whitespace", type=WhitespaceParam(), help="How JSON is written. Default: indent=2; to check: any."
        ),
        grammar_text_options,
        click.option(
            "--schema",
            "-s",
            type=SchemaParam(),
            metavar="FILE|JSON|MODULE:MODEL",
            help="A JSON Schema: a file, the JSON itself, or a Python type such as a Pydantic model.",
        ),
        click.option("--regex", type=TextParam(), metavar="PATTERN", help="A regular expression (Python's syntax)."),
    ):
        command = option(command)
    return command


def read_source(arguments: tuple[str, ...], options: dict[str, Any], *, more: int) -> tuple[GrammarSource, list[str]]:
    """The grammar, and the ``more`` arguments that stand behind its file, or alone where an option gives the grammar.

    Raises a usage error for too few or too many.
    """
    from constrained.output_types import regex

    reading = reading_settings(options)
    pattern = options.pop("regex")
    by_option = {
        "--regex": None if pattern is None else regex(pattern),
        "--schema": options.pop("schema"),
        **wanted_grammars(options),
    }
    has_option = any(value is not None for value in by_option.values())
    wanted = more if has_option else more + 1
    if len(arguments) != wanted:
        what = "TEXT" if more else "no argument"
        expected = (
            f"{what} (the grammar is given by an option)" if has_option else "a grammar file, or an option for it"
        )
        if more and not has_option:
            expected = "a grammar file (or an option for it) and TEXT"
        raise click.UsageError(f"expected {expected}; got {len(arguments)} arguments")
    if not has_option:
        by_option = {"GRAMMAR": _read_file(arguments[0])}
    option = require_exactly_one(by_option)
    start, whitespace = options.pop("start"), options.pop("whitespace")
    require_start_is_used(start, by_option[option])
    source = GrammarSource(option, by_option[option], start, whitespace, options.pop("source"), reading)
    return source, list(arguments[0 if has_option else 1 :])


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
