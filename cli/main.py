"""The command ``constrained``: names the commands and hands over."""

from __future__ import annotations

import os
import sys

import click

from .commands.audit import audit
from .commands.extract import extract
from .commands.generate import generate
from .commands.grammar import grammar, mask
from .commands.model import model
from .commands.plan import plan
from .commands.replay import replay
from .commands.test import test
from .commands.warmup import warmup
from .commands.watermark import watermark
from .failures import EXIT_FAILED, EXIT_INTERRUPTED

__all__ = ["cli", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="constrained", prog_name="constrained")
def cli() -> None:
    """Make a Llama write exactly what a JSON Schema or regular expression allows.

    Exit codes: 0 done; 1 some documents failed, or a constrained output was cut off or refused by its type; 2 wrong
    usage, or no usable model; 130 interrupted.
    """


cli.add_command(audit)
cli.add_command(extract)
cli.add_command(generate)
cli.add_command(grammar)
cli.add_command(mask)
cli.add_command(model)
cli.add_command(plan)
cli.add_command(replay)
cli.add_command(test)
cli.add_command(warmup)
cli.add_command(watermark)


def main() -> None:
    """The entry point of the installed script."""
    if sys.stderr is None:  # closed by the caller, who wants no messages
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (until the end)
    if sys.stdout is None:
        click.echo("Error: standard output is closed", err=True)
        sys.exit(EXIT_FAILED)
    try:
        exit_code = cli.main(prog_name="constrained", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        exit_code = error.exit_code
    except (click.Abort, KeyboardInterrupt):  # before or after a command is in charge of it
        click.echo("Error: interrupted", err=True)
        exit_code = EXIT_INTERRUPTED
    sys.exit(exit_code if isinstance(exit_code, int) else 0)
