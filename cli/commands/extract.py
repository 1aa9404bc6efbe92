"""``constrained extract``: one JSON value a document, as a schema says."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ..checks import checked_output_type, require_exactly_one
from ..documents import Document, Unreadable, is_json_lines, read_documents
from ..failures import EXIT_FAILED, EXIT_INTERRUPTED, explained_errors, fail, without_traceback
from ..grammar_options import grammar_text_options, require_start_is_used, wanted_grammars
from ..interrupts import interrupt_deferred
from ..models import load_model, why_cut_off
from ..options import (
    Generation,
    NameParam,
    TextParam,
    generation_options,
    generation_settings,
    reading_options,
    reading_settings,
    schema_options,
)
from ..render import LineWriter, Reporter, compact_json
from ..streams import stdout_to_stderr

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.batches import GenerationRequest, Outcome
    from constrained.output_types import OutputType

__all__ = ["extract"]

_MOST_ROWS = 1024


@click.command()
@click.argument("files", nargs=-1, metavar="[FILES|-]...")
@schema_options
@grammar_text_options
@click.option(
    "--prompt",
    "-p",
    type=TextParam(empty=False),
    metavar="TEXT",
    help="What to extract, in words; {document} may say where the text goes.",
)
@click.option(
    "--text-field",
    type=TextParam(empty=False),
    metavar="NAME",
    help="Read every input as JSON Lines; NAME holds the text. Default for *.jsonl: text.",
)
@click.option(
    "--verbatim",
    flag_value="words",
    help="Every string without a pattern, a format or given values has to be a piece of the document, by whole words.",
)
@click.option(
    "--verbatim-characters",
    "verbatim",
    flag_value="characters",
    help="The same by characters, for languages that write no spaces between words.",
)
@click.option(
    "--spans",
    is_flag=True,
    help='Write {"value": ..., "spans": ...}: which characters of the document each string is, by JSON pointer.',
)
@click.option(
    "--batch",
    default=1,
    show_default=True,
    type=click.IntRange(min=1, max=_MOST_ROWS),
    help="Documents worked on side by side: more share each pass of the model, and wait longer for their results.",
)
@click.option("--out", "-o", type=NameParam(), metavar="FILE", help="A file for the results instead of stdout.")
@reading_options
@generation_options
@without_traceback
def extract(
    files: tuple[str, ...],
    schema: Any,
    fields: Any,
    prompt: str | None,
    text_field: str | None,
    spans: bool,
    batch: int,
    out: str | None,
    **options: Any,
) -> None:
    """Extract one value from each document, as a JSON Schema, a list of fields or a grammar says.

    Documents are text files, standard input (-), or lines of JSON Lines. Results are JSON Lines on stdout, one line a
    document, in the order of the inputs; progress and messages are on stderr. A document that fails is named there, and
    the others are still written.

    \b
    constrained extract invoices/*.txt --schema invoice.json > invoices.jsonl
    constrained extract mail.jsonl --text-field body --fields 'sender: str, amount: float, due: date?'
    constrained extract letter.txt --fields 'sender: str, subject: str?' --verbatim --spans
    constrained extract mail.jsonl --text-field body --grammar iso_date --prompt 'When is the meeting? {document}'
    """
    start = options.pop("start")
    wanted = {"--schema": schema, "--fields": fields, **wanted_grammars(options)}
    option = require_exactly_one(wanted)
    require_start_is_used(start, wanted[option])
    sources = _sources(files)
    path = None if out is None else Path(out)
    _check_out(path, sources)
    reading = reading_settings(options)
    settings = generation_settings(options)
    with stdout_to_stderr() as results:
        output_type = checked_output_type(
            wanted[option],
            option=option,
            whitespace=settings.whitespace,
            reading=reading,
            start=start,
        )
        total = None if any(is_json_lines(source, text_field) for source in sources) else len(sources)
        with Reporter(total=total, results=results) as reporter, _writer(results, path) as writer:
            run = _Run(reporter, writer, output_type, settings, prompt, with_spans=spans, batch=batch)
            try:
                run.over(read_documents(sources, text_field=text_field))
            except KeyboardInterrupt:
                reporter.say(f"interrupted; {run.finished} documents were finished and are written")
                raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
    if run.failed:
        fail(f"{run.failed} of {run.finished + run.failed} documents failed", exit_code=EXIT_FAILED)


@contextmanager
def _writer(results: BinaryIO, path: Path | None) -> Iterator[LineWriter]:
    with ExitStack() as stack:
        try:
            writer = stack.enter_context(LineWriter(results, path=path))
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise click.BadParameter(f"{str(path)!r} cannot be written: {reason}", param_hint="'--out'") from error
        yield writer


def _sources(files: tuple[str, ...]) -> tuple[str, ...]:
    if files:
        if "" in files:
            raise click.UsageError("a document's name is empty; name files, or - for standard input")
        if files.count("-") > 1:
            raise click.UsageError("standard input (-) can be read only once")
        return files
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("no documents: name files, or - for standard input")
    return ("-",)


def _check_out(out: Path | None, sources: tuple[str, ...]) -> None:
    if out is None:
        return
    try:
        if not out.parent.is_dir():
            raise click.BadParameter(f"there is no folder {str(out.parent)!r}", param_hint="'--out'")
        if out.is_file() and any(_is_same(out, source) for source in sources):
            raise click.BadParameter(f"{str(out)!r} is one of the documents", param_hint="'--out'")
    except (OSError, ValueError):
        return  # opening it says what is wrong


def _is_same(out: Path, source: str) -> bool:
    try:
        return os.path.samestat(out.stat(), os.fstat(0) if source == "-" else os.stat(source))
    except (OSError, ValueError):
        return False


class _Run:
    """One pass over the documents; the model is loaded when the first readable one has been found."""

    def __init__(
        self,
        reporter: Reporter,
        writer: LineWriter,
        output_type: OutputType[Any],
        settings: Generation,
        prompt: str | None,
        *,
        with_spans: bool,
        batch: int,
    ) -> None:
        self._reporter = reporter
        self._writer = writer
        self._output_type = output_type
        self._settings = settings
        self._prompt = prompt
        self._with_spans = with_spans
        self._batch = batch
        self.finished = 0
        self.failed = 0

    def over(self, documents: Iterator[Document | Unreadable]) -> None:
        """Work through all documents in order."""
        for found in documents:
            if isinstance(found, Document):
                break
            self._fail(found.name, found.reason)
        else:
            return
        self._reporter.begin("loading the model")
        model = load_model(self._settings, say=self._reporter.say)
        from constrained.batches import in_order

        taken: dict[int, Document] = {}
        requests = self._requests(model, itertools.chain([found], documents), taken)
        for outcome in in_order(model.stream_many(requests, batch_size=self._batch)):
            self._finish(model, taken.pop(outcome.index), outcome)

    def _requests(
        self, model: Model, items: Iterable[Document | Unreadable], taken: dict[int, Document]
    ) -> Iterator[GenerationRequest]:
        """What to ask of each document that can be read, which goes to ``taken`` by its place among these."""
        places = itertools.count()
        for item in items:
            self._reporter.begin(item.name)
            if isinstance(item, Unreadable):
                self._fail(item.name, item.reason)
                continue
            taken[next(places)] = item
            yield model.extraction(item.text, self._output_type, instructions=self._prompt, **self._settings.keywords())

    def _finish(self, model: Model, document: Document, outcome: Outcome) -> None:
        from constrained.spans import find_spans

        try:
            result = outcome.result
        except explained_errors() as error:
            self._fail(document.name, str(error))
            return
        if not result.complete:
            self._fail(document.name, why_cut_off(result, model))
            return
        with interrupt_deferred(), self._reporter.aside():
            line = _line(result.text, self._output_type)
            if self._with_spans:
                spans = find_spans(result.text, document.text, is_json=self._output_type.schema_text is not None)
                line = f'{{"value":{line},"spans":{json.dumps(spans, ensure_ascii=False, separators=(",", ":"))}}}'
            self._writer.write(line)
            self.finished += 1
        self._reporter.finish_one()

    def _fail(self, name: str, reason: str) -> None:
        self.failed += 1
        self._reporter.say(f"{name}: {reason}")
        self._reporter.finish_one()


def _line(text: str, output_type: OutputType[Any]) -> str:
    """JSON as the model wrote it, on one line; other text (a regular expression from a module) as a JSON string."""
    return compact_json(text) if output_type.schema_text is not None else json.dumps(text, ensure_ascii=False)
