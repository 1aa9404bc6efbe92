"""Grammars as texts on the command line: ``--lark FILE``, ``--gbnf FILE``, ``--grammar NAME`` and ``--start RULE``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from .documents import decode_text
from .options import AnyParamType, NameParam, TextParam

if TYPE_CHECKING:
    from constrained.output_types import OutputType

__all__ = ["GrammarText", "grammar_text_options", "require_start_is_used", "wanted_grammars"]

Command = TypeVar("Command", bound=Callable[..., Any])
Notation = Literal["lark", "gbnf", "regex"]


@dataclass(frozen=True, slots=True)
class GrammarText:
    """A grammar in its notation; ``name`` of its file, or in the library."""

    notation: Notation
    name: str
    text: str

    def output_type(self, start: str | None) -> OutputType[Any]:
        """What it allows, from the rule ``start`` (``None``: the notation's own)."""
        from constrained.combinators import gbnf, lark
        from constrained.output_types import regex

        if self.notation == "regex":
            return regex(self.text)
        if self.notation == "lark":
            return lark(self.text, start=start or "start")
        return gbnf(self.text, start=start or "root")


class GrammarFileParam(AnyParamType):
    """A file with a grammar in a notation. The value is a :class:`GrammarText`."""

    name = "file"

    def __init__(self, notation: Notation) -> None:
        self.notation: Notation = notation

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, GrammarText):
            return value
        name = NameParam().convert(value, param, ctx)
        try:
            return GrammarText(self.notation, name, decode_text(Path(name).read_bytes()))
        except FileNotFoundError:
            self.fail(f"there is no file {name!r}", param, ctx)
        except OSError as error:
            self.fail(f"{name!r} cannot be read: {error.strerror or error}", param, ctx)
        except ValueError as error:
            self.fail(f"{name!r} is not a text file with a grammar: {error}", param, ctx)


class LibraryParam(AnyParamType):
    """A grammar of the library, by its name. The value is a :class:`GrammarText`."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from grammars.errors import GrammarError
        from grammars.library import grammar

        if isinstance(value, GrammarText):
            return value
        try:
            found = grammar(str(value))
        except GrammarError as error:
            self.fail(str(error), param, ctx)
        return GrammarText(found.kind, found.name, found.text)


def grammar_text_options(command: Command) -> Command:
    """The options for grammars that are texts."""
    for option in reversed(
        (
            click.option(
                "--lark",
                type=GrammarFileParam("lark"),
                metavar="FILE",
                help="A Lark grammar: what Lark's LALR parser with its contextual lexer parses.",
            ),
            click.option(
                "--gbnf", type=GrammarFileParam("gbnf"), metavar="FILE", help="A GBNF grammar, as llama.cpp has them."
            ),
            click.option(
                "--grammar",
                "--library",
                "library",
                type=LibraryParam(),
                metavar="NAME",
                help="A ready grammar, such as sql_select or python_expression.",
            ),
            click.option(
                "--start",
                type=TextParam(empty=False),
                metavar="RULE",
                help="Where a Lark or GBNF grammar starts. Default: start (Lark), root (GBNF).",
            ),
        )
    ):
        command = option(command)
    return command


def wanted_grammars(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of :func:`grammar_text_options` but ``start`` out of a command's, by their names for people."""
    return {f"--{name}": options.pop(option) for name, option in _NAMES.items()}


_NAMES = {"lark": "lark", "gbnf": "gbnf", "grammar": "library"}


def require_start_is_used(start: str | None, grammar: object) -> None:
    """Refuse ``--start`` where there is no grammar with rules."""
    if start is not None and not (isinstance(grammar, GrammarText) and grammar.notation != "regex"):
        raise click.UsageError("--start names a rule of a Lark or GBNF grammar, and none is given; leave it out")
