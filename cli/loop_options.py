"""The options that say how a generation may spend tokens and time; they change no draw but at a budget's end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["loop_keywords", "loop_options"]

Command = TypeVar("Command", bound=Callable[..., Any])
_NAMES = ("on_budget", "time_budget", "drafts")
_MOST_DRAFTS = 64


def loop_keywords(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of :func:`loop_options` out of a command's: those that were given, as the API has them."""
    taken = {name: options.pop(name) for name in _NAMES}
    return {name: value for name, value in taken.items() if value is not None}


def loop_options(command: Command) -> Command:
    """Budgets and drafts."""
    for option in reversed(
        (
            click.option(
                "--on-budget",
                type=click.Choice(["cut", "close"]),
                help="At the end of --max-tokens or --time-budget: cut the output off, or bring it to a complete end "
                "in time. Default: cut.",
            ),
            click.option(
                "--time-budget",
                type=click.FloatRange(min=0, min_open=True, max=1e9),
                metavar="SECONDS",
                help="That one output may take. Default: as long as it takes.",
            ),
            click.option(
                "--drafts",
                type=click.IntRange(min=0, max=_MOST_DRAFTS),
                help="Most tokens copied from the prompt that a pass checks; they change no output. Default: 8.",
            ),
        )
    ):
        command = option(command)
    return command
