"""``constrained audit``: is a row's result its own on this machine, whatever is computed beside it?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..failures import EXIT_FAILED, without_traceback
from ..options import NameParam
from ..streams import stdout_to_stderr

if TYPE_CHECKING:
    from constrained.determinism.audit import ModelAudit
    from constrained.determinism.operations import OperationAudit

__all__ = ["audit"]

_MOST_THREADS = 1024


@click.command()
@click.option("--model", "-m", type=NameParam(), metavar="NAME", help="A folder, a GGUF file, or a hub id.")
@click.option("--weights", default="auto", type=click.Choice(["auto", "fp32", "bf16", "int8"]))
@click.option(
    "--threads", default=2, show_default=True, type=click.IntRange(min=1, max=_MOST_THREADS), help="Most threads tried."
)
@click.option("--tokens", default=32, show_default=True, type=click.IntRange(min=20, max=512), help="Of the text.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, not tables.")
@without_traceback
def audit(model: str | None, weights: str, threads: int, tokens: int, as_json: bool) -> None:
    """Try a model under many conditions, on the CPU, and compare each logit's bits with those of the text alone.

    Batches of 1 to 64 rows, places in a batch, pieces of a prompt, capacities of the cache, threads; for torch's own
    operations too, and beside it for the model by torch (native), with what the one costs against the other.

    Exit codes: 0 invariant; 1 not: a bit depends on what it must not depend on.
    """
    from constrained.determinism.auditing import audit_all

    with stdout_to_stderr() as results:
        found = audit_all(
            model,
            weights=weights,
            threads=sorted({1, threads}),
            num_tokens=tokens,
            progress=lambda line: click.echo(line, err=True),
        )
        text = json.dumps(found.to_dict(), indent=2) if as_json else "\n".join(_told(found))
        results.write((text + "\n").encode())
        results.flush()
    if not found.invariant.is_invariant:
        raise click.exceptions.Exit(EXIT_FAILED)


def _told(found: Any) -> list[str]:
    lines = ["torch's operations: rows of a batch that give a row the same bits, together"]
    lines += [f"  {_operation(operation)}" for operation in found.operations]
    first = next((operation for operation in found.operations if not operation.is_invariant), None)
    lines.append(f"  first that is not invariant: {'none' if first is None else f'{first.name}, {first.dtype}'}")
    for audit_of_model in (found.invariant, found.native):
        if audit_of_model is not None:
            lines += _model(audit_of_model)
    if found.native is not None:
        ratios = [f"{name} {found.invariant.seconds[name] / took:.2f}" for name, took in found.native.seconds.items()]
        lines.append(f"time, invariant to native: {'; '.join(ratios)}")
    lines.append("invariant" if found.invariant.is_invariant else "NOT INVARIANT")
    return lines


def _operation(found: OperationAudit) -> str:
    classes = " | ".join(",".join(map(str, sizes)) for sizes in found.classes)
    tile = "none" if found.smallest_safe_tile is None else found.smallest_safe_tile
    return f"{found.name:18} {found.dtype:9} tile {tile!s:5} {classes}"


def _model(found: ModelAudit) -> list[str]:
    lines = [f"the model, {found.numerics}"]
    for kind in ("chunk", "capacity", "batch", "slot", "threads"):
        shown = [f"{c.value}: {c.num_different}/{c.num_rows}" for c in found.conditions if c.kind == kind]
        lines.append(f"  {kind:9} rows that differ  {'  '.join(shown)}")
    classes = " | ".join(",".join(map(str, sizes)) for sizes in found.classes)
    lines.append(f"  batch sizes with the same bits: {classes}")
    lines.append(f"  distinct greedy texts over batches of 1 to 16: {', '.join(map(str, found.distinct_outputs))}")
    return lines
