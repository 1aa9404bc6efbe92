"""``constrained plan``: what a generation will cost, before it is begun."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..failures import without_traceback
from ..options import NameParam
from ..streams import stdout_to_stderr

if TYPE_CHECKING:
    from constrained.costs import CostPlan, Rates

__all__ = ["plan"]

_POSITIVE = click.IntRange(min=1)


@click.command()
@click.option(
    "--model",
    "-m",
    type=NameParam(),
    metavar="NAME",
    help="A folder, a GGUF file, or a hub id. Default: the small embedded model.",
)
@click.option("--device", default="auto", show_default=True, type=click.Choice(["auto", "cpu", "cuda"]))
@click.option("--threads", type=_POSITIVE, help="CPU threads. Default: OMP_NUM_THREADS, else 1.")
@click.option("--prompt-tokens", default=512, show_default=True, type=_POSITIVE, help="Of one prompt.")
@click.option("--max-tokens", default=256, show_default=True, type=_POSITIVE, help="Of one output.")
@click.option("--batch", default=1, show_default=True, type=_POSITIVE, help="Rows written side by side.")
@click.option(
    "--weights",
    type=click.Choice(["fp32", "bf16", "int8"]),
    help="How weights are held. Default: fp32 on a CPU, bf16 on CUDA.",
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON instead of a table.")
@without_traceback
def plan(
    model: str | None,
    device: str,
    threads: int | None,
    prompt_tokens: int,
    max_tokens: int,
    batch: int,
    weights: str | None,
    as_json: bool,
) -> None:
    """Say what a generation costs at least: memory, times, and the price of an output token.

    Reads the model's sizes, not its weights, and measures this machine for a second: how fast it reads memory and how
    fast it multiplies. Fails where the memory or the model's context would not do, and says what would.

    \b
    constrained plan --prompt-tokens 800 --max-tokens 300 --batch 8
    """
    with stdout_to_stderr() as results:
        costs, rates = _costs(device, threads, weights, model, prompt_tokens, max_tokens, batch)
        text = json.dumps(costs.to_dict()) if as_json else _table(costs, rates)
        results.write(text.encode() + b"\n")


def _costs(
    device: str, threads: int | None, weights: Any, model: str | None, prompt_tokens: int, max_tokens: int, batch: int
) -> tuple[CostPlan, Rates]:
    import torch

    from constrained.api import set_threads
    from constrained.costs import available_memory, measure_rates, plan_costs, read_config

    cuda = torch.cuda.is_available()
    if device == "cuda" and not cuda:
        raise click.UsageError("--device cuda: torch finds no CUDA here; use cpu or auto")
    chosen = torch.device("cuda" if cuda and device != "cpu" else "cpu")
    set_threads(threads)
    is_half = chosen.type == "cuda"
    rates = measure_rates(chosen, dtype=torch.bfloat16 if is_half else torch.float32)
    costs = plan_costs(
        read_config(model, progress=lambda line: click.echo(line, err=True)),
        rates,
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
        batch=batch,
        weights=weights or ("bf16" if is_half else "fp32"),
        cache_bytes=2 if is_half else 4,
        available_bytes=available_memory(chosen),
    )
    return costs, rates


def _table(costs: CostPlan, rates: Rates) -> str:
    from constrained.costs import shown_bytes

    available = "" if costs.available_bytes is None else f" of {shown_bytes(costs.available_bytes)} available"
    rows = (
        ("parameters", f"{costs.parameters / 1e6:,.0f} million, {shown_bytes(costs.weight_bytes)}"),
        (
            "keys and values",
            f"{shown_bytes(costs.kv_bytes_per_token)} a token, {shown_bytes(costs.kv_bytes)} at full length",
        ),
        ("memory", f"{shown_bytes(costs.memory_bytes)}{available}"),
        ("measured", f"{rates.bytes_per_second / 1e9:,.1f} GB/s read, {rates.flops / 1e12:,.3f} TFLOP/s"),
        ("prefill", f"at least {costs.prefill_seconds:.3f} s"),
        ("decode", f"at least {costs.decode_seconds:.3f} s, {1e3 * costs.seconds_per_step:.2f} ms a pass"),
        ("bound by", costs.bound_by),
        ("output", f"at most {costs.tokens_per_second:,.1f} tokens/s; forced and copied tokens come on top"),
        ("price", f"an output token costs as much time as {costs.output_to_input_ratio:,.1f} of the prompt"),
    )
    return "\n".join(f"{name:<16} {text}" for name, text in rows)
