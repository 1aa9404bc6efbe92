"""``constrained generate``: one answer to one prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ..checks import checked_output_type, require_exactly_one, require_json
from ..documents import STDIN, Unreadable, read_documents
from ..failures import EXIT_FAILED, fail, without_traceback
from ..grammar_options import grammar_text_options, require_start_is_used, wanted_grammars
from ..grammar_source import read_source_text
from ..models import load_model, why_cut_off
from ..options import (
    Generation,
    NameParam,
    Reading,
    TextParam,
    generation_options,
    generation_settings,
    reading_options,
    reading_settings,
    schema_options,
)
from ..render import compact_json
from ..streams import stdout_to_stderr

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.output_types import OutputType

__all__ = ["generate"]


@click.command()
@click.argument("prompt", type=TextParam())
@schema_options
@click.option(
    "--regex",
    type=TextParam(),
    metavar="PATTERN",
    help="Write only what this regular expression matches from end to end.",
)
@click.option(
    "--choice",
    multiple=True,
    type=TextParam(),
    metavar="TEXT",
    help="Write one of these texts; give the option once for each.",
)
@grammar_text_options
@click.option(
    "--source", type=NameParam(), metavar="FILE", help="The text that verbatim strings of the schema are taken from."
)
@click.option("--raw", is_flag=True, help="Take the prompt as it is, without the model's chat template.")
@reading_options
@generation_options
@without_traceback
def generate(
    prompt: str,
    schema: Any,
    fields: Any,
    regex: str | None,
    choice: tuple[str, ...],
    source: str | None,
    raw: bool,
    **options: Any,
) -> None:
    """Answer PROMPT (- reads it from standard input): freely, or as a schema, a pattern, a choice or a grammar says.

    Free text appears as it is written, and a note on stderr says if --max-tokens ended it. JSON comes on one line when
    it is whole; one that is cut off fails (exit code 1).

    \b
    constrained generate 'Name a prime number above 100.' --regex '[0-9]{3}'
    constrained generate 'Is the sky blue?' --choice yes --choice no
    constrained generate 'Write SQL that counts the customers.' --grammar sql_select
    """
    reading, start = reading_settings(options), options.pop("start")
    wanted = {"--schema": schema, "--fields": fields, "--regex": regex, "--choice": choice, **wanted_grammars(options)}
    settings = generation_settings(options)
    with stdout_to_stderr() as results:
        output_type = _output_type(wanted, settings, reading, start)
        source_text = _source_text(output_type, source)
        text = _prompt_text(prompt)
        model = load_model(settings, say=lambda message: click.echo(message, err=True))
        if output_type is None:
            _write_freely(results, model, text, settings, raw=raw)
        else:
            _write_constrained(results, model, text, output_type, settings, raw=raw, source=source_text)


def _source_text(output_type: OutputType[Any] | None, name: str | None) -> str | None:
    takes_source = output_type is not None and output_type.takes_source
    if takes_source and name is None:
        raise click.UsageError(
            "the schema asks for verbatim strings: name the text that they are taken from by --source"
        )
    if name is not None and not takes_source:
        raise click.UsageError(
            "--source is for schemas with verbatim strings (x-verbatim), and there is none; leave it out"
        )
    return None if name is None else read_source_text(name)


def _prompt_text(prompt: str) -> str:
    if prompt != STDIN:
        if not prompt.strip():
            raise click.UsageError("the prompt is empty")
        return prompt
    (read,) = read_documents([STDIN])
    if isinstance(read, Unreadable):
        raise click.UsageError(f"the prompt from {read.name} cannot be used: {read.reason}")
    return read.text


def _output_type(
    wanted: dict[str, Any], settings: Generation, reading: Reading, start: str | None
) -> OutputType[Any] | None:
    from constrained import output_types

    if all(value is None or value == () for value in wanted.values()):
        require_json(settings.whitespace, "free text", reading)
        require_start_is_used(start, None)
        return None
    option = require_exactly_one(wanted)
    candidate = wanted[option]
    require_start_is_used(start, candidate)
    if option == "--regex":
        candidate = output_types.regex(candidate)
    elif option == "--choice":
        if len(set(candidate)) != len(candidate):
            raise click.BadParameter("expected different texts", param_hint="'--choice'")
        candidate = output_types.choice(candidate)
    return checked_output_type(candidate, option=option, whitespace=settings.whitespace, reading=reading, start=start)


def _write_freely(results: BinaryIO, model: Model, prompt: str, settings: Generation, *, raw: bool) -> None:
    try:
        stream = model.stream(prompt, chat=False if raw else None, **settings.keywords())
    except ValueError as error:  # settings that are for a whole output
        raise click.UsageError(str(error)) from error
    for piece in stream:
        _write(results, piece)
    _write(results, "\n")
    if stream.result.stop_reason == "length":
        click.echo("(cut off: --max-tokens or the model's context is used up)", err=True)


def _write_constrained(
    results: BinaryIO,
    model: Model,
    prompt: str,
    output_type: OutputType[Any],
    settings: Generation,
    *,
    raw: bool,
    source: str | None,
) -> None:
    chat = False if raw else None
    result = model.generate(prompt, output_type, chat=chat, source=source, **settings.keywords())
    if not result.complete:
        fail(f"{why_cut_off(result, model)}. So far: {result.text}", exit_code=EXIT_FAILED)
    _write(results, (compact_json(result.text) if output_type.schema_text is not None else result.text) + "\n")


def _write(results: BinaryIO, text: str) -> None:
    results.write(text.encode())
    results.flush()
