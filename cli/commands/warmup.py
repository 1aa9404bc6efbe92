"""``constrained warmup``: do ahead what the first use would wait for."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

__all__ = ["warmup"]


@click.command()
def warmup() -> None:
    """Compile the kernels of the grammar engine, the forward pass and the draw, once after an install or upgrade.

    Without it, the first command that uses them does this. Machine code is kept on disk.
    """
    import grammars
    from constrained.model import cpu
    from constrained.processors import warming

    for name, is_warm, warm_up in (
        ("the grammar engine", grammars.is_warm, grammars.warm_up),
        ("the forward pass", cpu.is_warm, cpu.warm_up),
        ("the draw", warming.is_warm, warming.warm_up),
    ):
        _warm(name, is_warm, warm_up)


def _warm(name: str, is_warm: Callable[[], bool], warm_up: Callable[[], None]) -> None:
    if is_warm():
        click.echo(f"the kernels of {name} are compiled already", err=True)
        return
    click.echo(f"compiling the kernels of {name} (once)", err=True)
    started = time.perf_counter()
    warm_up()
    click.echo(f"done in {time.perf_counter() - started:.1f} s", err=True)
