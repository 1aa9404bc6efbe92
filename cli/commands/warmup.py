"""``constrained warmup``: do ahead what the first use would wait for."""

from __future__ import annotations

import time

import click

__all__ = ["warmup"]


@click.command()
def warmup() -> None:
    """Compile the kernels of the grammar engine, once after an install or upgrade.

    Without it, the first command that uses a grammar does this. Machine code is kept on disk.
    """
    import grammars

    if grammars.is_warm():
        click.echo("the kernels are compiled already", err=True)
        return
    click.echo("compiling the kernels of the grammar engine (once)", err=True)
    started = time.perf_counter()
    grammars.warm_up()
    click.echo(f"done in {time.perf_counter() - started:.1f} s", err=True)
