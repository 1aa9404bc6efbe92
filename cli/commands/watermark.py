"""``constrained watermark``: keys, and whether a text carries the marks of one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..checks import checked_output_type
from ..documents import STDIN, Unreadable, read_documents
from ..failures import EXIT_FAILED, without_traceback
from ..options import (
    FiniteRange,
    NameParam,
    WhitespaceParam,
    reading_options,
    reading_settings,
    schema_options,
)
from ..sampling_options import key_options, watermark_config
from ..streams import stdout_to_stderr

if TYPE_CHECKING:
    from constrained.watermark import Detection
    from constrained.watermark.text import TextReader

__all__ = ["watermark"]


@click.group()
def watermark() -> None:
    """Make keys, and find the marks that `generate --watermark` and `extract --watermark` leave."""


@watermark.command()
@click.argument("file", required=False, type=NameParam())
@without_traceback
def keygen(file: str | None) -> None:
    """Make a new key, and write it to FILE, which must not be there and only you can read; or to stdout."""
    from constrained.watermark import WatermarkKey

    key = WatermarkKey.generate()
    if file is None:
        click.echo(key.text)
        return
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise click.BadParameter(f"{file!r} is there already; a key is not replaced", param_hint="FILE") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(key.text + "\n")
    click.echo(f"key {key.key_id} is in {file}", err=True)


@watermark.command()
@click.argument("file", type=NameParam())
@schema_options
@click.option(
    "--watermark", "scheme", default="gumbel", show_default=True, type=click.Choice(["gumbel", "kgw", "synthid"])
)
@key_options
@click.option("--gamma", type=FiniteRange(min=0, max=1, min_open=True, max_open=True), help="kgw: the green share.")
@click.option("--layers", type=click.IntRange(min=1, max=32), help="synthid: rounds of the tournament.")
@click.option("--context-width", type=click.IntRange(min=1, max=16), help="Free tokens that decide a token's marks.")
@click.option("--nonces", type=click.IntRange(min=1, max=1024), help="How many variants of the marks there are.")
@click.option(
    "--model", "-m", type=NameParam(), metavar="NAME", help="Whose tokenizer: a model folder or tokenizer.json."
)
@click.option("--whitespace", type=WhitespaceParam(), help="How the JSON was written. Default: indent=2.")
@click.option("--lines", is_flag=True, help="Each line of FILE is an output. Default for *.jsonl.")
@click.option("--ids", is_flag=True, help="Outputs are JSON arrays of token ids.")
@click.option(
    "--level",
    default=1e-3,
    show_default=True,
    type=FiniteRange(min=0, max=1, min_open=True, max_open=True),
    help="Rate of false positives.",
)
@click.option("--fingerprint", metavar="DIGITS", help="That of the generator; another one is an error.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object an output, not a table.")
@click.option(
    "--html", type=NameParam(), metavar="FILE", help="Write a page that shows free, forced and marked tokens."
)
@reading_options
@without_traceback
def detect(file: str, schema: Any, fields: Any, **options: Any) -> None:
    """Tell whether FILE (- for standard input) carries the marks of a key. No model is run.

    The schema is that of the generation: then forced text neither counts nor hides anything. JSON in another layout,
    such as the lines that `extract` prints, is laid out anew first. Exit codes: 0 found; 1 not found, or too short to
    tell; 2 wrong usage.

    \b
    constrained watermark detect invoices.jsonl --schema invoice.json --key-file key.txt
    """
    settings = {name: options.pop(name) for name in ("gamma", "layers", "context_width", "nonces")}
    given = {name: value for name, value in settings.items() if value is not None}
    config = watermark_config(options["scheme"], options["key_file"], options["key_env"], **given)
    key = config.load_key()
    key.require_secret()
    reading = reading_settings(options)
    with stdout_to_stderr() as results:
        wanted = None
        if schema is not None and fields is not None:
            raise click.UsageError("expected at most one of --schema and --fields")
        if schema is not None or fields is not None:
            wanted = checked_output_type(
                schema if schema is not None else fields,
                option="--schema" if schema is not None else "--fields",
                whitespace=options["whitespace"],
                reading=reading,
            )
        from constrained.watermark import detect as detect_marks

        outputs = _outputs(file, lines=options["lines"], ids=options["ids"])
        reader = _reader(options["model"])
        found = [
            (
                name,
                detect_marks(
                    output,
                    reader,
                    key=key,
                    config=config,
                    schema=wanted,
                    whitespace=options["whitespace"] or "indent=2",
                    level=options["level"],
                    fingerprint=options["fingerprint"],
                ),
            )
            for name, output in outputs
        ]
        text, is_marked = _report(found, level=options["level"], as_json=options["as_json"])
        if options["html"] is not None:
            from constrained.watermark.page import page

            Path(options["html"]).write_text(page(found, reader.vocabulary, title=f"Watermark in {file}"), "utf-8")
        results.write(text.encode())
        results.flush()
    if not is_marked:
        raise click.exceptions.Exit(EXIT_FAILED)


def _outputs(file: str, *, lines: bool, ids: bool) -> list[tuple[str, str | list[int]]]:
    """The outputs in a file, each with a name. Raises a usage error."""
    (read,) = (
        read_documents([file], text_field=None) if file == STDIN or not file.endswith(".jsonl") else (_whole(file),)
    )
    if isinstance(read, Unreadable):
        raise click.UsageError(f"{read.name}: {read.reason}")
    text = read if isinstance(read, str) else read.text
    pieces = [(file, text)]
    if lines or file.endswith(".jsonl"):
        pieces = [(f"line {number}", line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not pieces:
        raise click.UsageError(f"{file}: there is no output in it")
    return [(name, _ids(name, piece) if ids else piece) for name, piece in pieces]


def _whole(file: str) -> str:
    from ..documents import decode_text

    try:
        return decode_text(Path(file).read_bytes())
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{file!r} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _ids(name: str, text: str) -> list[int]:
    try:
        ids = json.loads(text)
    except ValueError:
        ids = None
    if not isinstance(ids, list) or not all(type(token_id) is int for token_id in ids):
        raise click.UsageError(f"{name}: expected a JSON array of token ids (--ids)")
    return ids


def _reader(model: str | None) -> TextReader:
    """The tokenizer, from a folder or file; by default that of the embedded model."""
    from constrained.watermark.text import TextReader

    path = None if model is None else Path(model)
    if path is None:
        from constrained.model.embedded import default_model_folder

        path = default_model_folder(progress=lambda message: click.echo(message, err=True))
    if path.is_dir():
        path = path / "tokenizer.json"
    if not path.is_file():
        raise click.BadParameter(
            f"there is no {str(path)!r}; expected a model folder or tokenizer.json", param_hint="'--model'"
        )
    return TextReader.from_any(path)


def _report(found: list[tuple[str, Detection]], *, level: float, as_json: bool) -> tuple[str, bool]:
    """What to print, and whether there is a mark in it all."""
    from constrained.watermark.statistics import combined

    together = combined([detection.p_value for _, detection in found])
    is_marked = together <= level
    if as_json:
        rows = [{"name": name, **detection.to_dict()} for name, detection in found]
        if len(found) > 1:
            rows.append({"name": "together", "p_value": together, "level": level, "is_marked": is_marked})
        return "".join(json.dumps(row) + "\n" for row in rows), is_marked
    verdicts = {True: "marked", False: "not marked", None: "cannot tell"}
    lines = [f"{'output':<24}{'verdict':<14}{'p-value':>10}{'z':>8}{'tokens':>8}{'free':>6}{'scored':>8}"]
    for name, detection in found:
        lines.append(
            f"{name[-23:]:<24}{verdicts[detection.is_marked]:<14}{detection.p_value:>10.2g}{detection.z_score:>8.2f}"
            f"{detection.num_tokens:>8}{detection.num_free:>6}{detection.num_scored:>8}"
        )
    if len(found) == 1:
        lines.append(found[0][1].reason)
    else:
        verdict = "marked" if is_marked else "not marked"
        lines.append(f"{'together':<24}{verdict:<14}{together:>10.2g}")
    return "\n".join(lines) + "\n", is_marked
