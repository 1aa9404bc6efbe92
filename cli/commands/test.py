"""``constrained test``: a schema or grammar through one engine or several, and what is wrong with what they allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..documents import decode_text
from ..failures import EXIT_FAILED, fail, without_traceback
from ..options import NameParam, SchemaParam, TextParam
from ..streams import stdout_to_stderr

if TYPE_CHECKING:
    from constrained.testing.fuzz import Outcome
    from constrained.testing.isolation import Task

__all__ = ["test"]

_KINDS = {".json": "schema", ".gbnf": "gbnf", ".ebnf": "gbnf", ".lark": "lark"}
_ENGINES = ("ours", "xgrammar", "llguidance", "outlines", "lmfe")


@click.command()
@click.argument("sources", nargs=-1, metavar="[SCHEMA|GRAMMAR|FOLDER]...")
@click.option(
    "--schema", "-s", type=SchemaParam(), metavar="FILE|JSON|MODULE:MODEL", help="A JSON Schema, or a Python type."
)
@click.option("--regex", type=TextParam(), metavar="PATTERN", help="A regular expression (Python's syntax).")
@click.option(
    "--engine",
    "-e",
    "engines",
    multiple=True,
    type=click.Choice(_ENGINES),
    help="Through which engine; may be given several times. Default: ours.",
)
@click.option(
    "--examples",
    "-n",
    type=click.IntRange(min=1),
    help="Valid texts, invalid texts and walks, so many of each. Default: CONSTRAINED_EXAMPLES, or 20.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="The same seed, the same texts.")
@click.option(
    "--max-seconds",
    default=60.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="For one grammar and one engine.",
)
@click.option("--report", type=NameParam(), metavar="FILE", help="Write the faults to an HTML page.")
@without_traceback
def test(
    sources: tuple[str, ...],
    schema: Any,
    regex: str | None,
    engines: tuple[str, ...],
    examples: int | None,
    seed: int,
    max_seconds: float,
    report: str | None,
) -> None:
    """Search for faults: valid texts that an engine refuses, invalid ones that it allows, masks that break a law.

    Sources are files (.json for a JSON Schema, .gbnf, .lark) and folders of them. Verdicts are those of jsonschema, of
    Python's re, or of a plain recogniser, never of the engine. What an engine does to its process is an outcome too.

    Exit codes: 0 no fault; 1 some fault; 2 wrong usage, or a fault in a schema or grammar.

    \b
    constrained test invoice.json
    constrained test schemas/ --engine xgrammar --examples 200 --report faults.html
    """
    from constrained.testing.budget import examples_of

    subjects = [*_given(schema, regex), *_from_files(sources)]
    if not subjects:
        raise click.UsageError("expected a schema or grammar: a file, a folder, --schema or --regex; got none")
    try:
        count = examples_of(examples)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    page = None if report is None else _page(report)
    tasks = _tasks(subjects, engines or ("ours",), count, seed, max_seconds)
    with stdout_to_stderr():
        outcomes = _run(tasks)
    _show(outcomes)
    if page is not None:
        from constrained.testing.html_report import html_report

        page.write_text(html_report(outcomes), encoding="utf-8")
    if any(outcome.num_faults for outcome in outcomes):
        raise click.exceptions.Exit(EXIT_FAILED)


Subject = tuple[str, str, str]
"""Name, kind and text."""


def _given(schema: Any, regex: str | None) -> Iterator[Subject]:
    if schema is not None:
        from constrained.output_types import output_type_from

        from ..failures import explained_errors

        try:
            text = output_type_from(schema).schema_text
        except explained_errors() as error:
            raise click.BadParameter(str(error), param_hint="'--schema'") from error
        if text is None:
            raise click.BadParameter("this type is not written as JSON; pass --regex", param_hint="'--schema'")
        yield "--schema", "schema", text
    if regex is not None:
        yield "--regex", "regex", regex


def _from_files(sources: Sequence[str]) -> Iterator[Subject]:
    for source in sources:
        path = Path(source)
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in _KINDS and file.is_file())
            if not inside:
                raise click.UsageError(f"{source!r}: expected a folder with {', '.join(_KINDS)} files, found none")
            yield from map(_read, inside)
        else:
            yield _read(path)


def _read(path: Path) -> Subject:
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise click.UsageError(f"{str(path)!r}: expected a name that ends with one of {', '.join(_KINDS)}, or a folder")
    try:
        return str(path), kind, decode_text(path.read_bytes())
    except FileNotFoundError:
        raise click.UsageError(f"there is no file {str(path)!r}") from None
    except OSError as error:
        raise click.UsageError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise click.UsageError(f"{str(path)!r} is not a text file: {error}") from None


def _page(report: str) -> Path:
    path = Path(report)
    try:
        path.touch()
    except OSError as error:
        raise click.BadParameter(
            f"{report!r} cannot be written: {error.strerror or error}", param_hint="'--report'"
        ) from error
    return path


def _tasks(
    subjects: Sequence[Subject], engines: Sequence[str], examples: int, seed: int, max_seconds: float
) -> list[Task]:
    try:
        from constrained.testing.isolation import Task
    except ImportError as error:
        fail(f"{error}; it comes with the extra 'testing': in a checkout, pip install -e '.[testing]'", exit_code=2)
    return [
        Task(
            subject=name,
            kind=kind,
            text=text,
            engine=engine,
            examples=examples,
            seed=seed,
            max_seconds=max_seconds,
        )
        for engine in dict.fromkeys(engines)
        for name, kind, text in subjects
    ]


def _run(tasks: Sequence[Task]) -> list[Outcome]:
    """The outcomes, with a line on stderr for each as it comes."""
    from constrained.testing.isolation import run_isolated

    outcomes: list[Outcome] = []
    try:
        for outcome in run_isolated(tasks):
            outcomes.append(outcome)
            verdict = "refused" if outcome.refused else f"{outcome.num_faults} faults in {outcome.tried} tries"
            click.echo(f"{len(outcomes)}/{len(tasks)} {outcome.subject}: {outcome.engine}: {verdict}", err=True)
    except ValueError as error:  # a schema or grammar that is none
        fail(str(error), exit_code=2)
    return outcomes


def _show(outcomes: Sequence[Outcome]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    table.add_column("subject", overflow="fold")
    table.add_column("engine")
    for name in ("tried", "valid rejected", "invalid accepted", "crashes", "other laws", "seconds"):
        table.add_column(name, justify="right")
    for outcome in outcomes:
        numbers = (outcome.valid_rejected, outcome.invalid_accepted, outcome.crashes, outcome.laws_broken)
        cells = ["refused", *[""] * 4] if outcome.refused else [str(outcome.tried), *map(str, numbers)]
        engine = f"{outcome.engine} {outcome.version}".strip()
        table.add_row(outcome.subject, engine, *cells, f"{outcome.seconds:.1f}")
    Console(highlight=False, markup=False).print(table)
    for outcome in outcomes:
        for fault in outcome.faults:
            click.echo(f"\n{fault}")
        if outcome.refused:
            click.echo(f"\n{outcome.subject}: {outcome.engine} refuses it: {outcome.refused}")
