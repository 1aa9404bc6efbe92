"""``constrained model``: what a model is made of, and what rounding its weights changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..failures import without_traceback
from ..options import NameParam
from ..streams import stdout_to_stderr

if TYPE_CHECKING:
    from constrained.model import LlamaConfig

__all__ = ["model"]


@click.group()
def model() -> None:
    """What a model is made of."""


@model.command()
@click.option(
    "--model",
    "-m",
    "name",
    type=NameParam(),
    metavar="NAME",
    help="A folder, a GGUF file, or a hub id. Default: the small embedded model.",
)
@click.option("--drift", is_flag=True, help="Measure how far rounded weights lead from what exact ones give.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads. Default: OMP_NUM_THREADS, else 1.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON instead of a table.")
@without_traceback
def info(name: str | None, drift: bool, threads: int | None, as_json: bool) -> None:
    """Say a model's sizes, the memory of its weights by --weights, and that of a token's keys and values.

    Reads the configuration only, unless --drift asks for figures: then the exact model writes 200 tokens, and the
    others are compared with it on these.

    \b
    constrained model info --drift
    """
    from constrained.costs import read_config
    from constrained.model.embedded import DEFAULT_MODEL_NAME

    def say(line: str) -> None:
        click.echo(line, err=True)

    with stdout_to_stderr() as results:
        facts: dict[str, Any] = {"name": name or DEFAULT_MODEL_NAME}
        facts |= _facts(read_config(name, progress=say))
        if drift:
            from constrained.model.drift import measure_drift

            facts["drift"] = [of_kind.to_dict() for of_kind in measure_drift(name, threads=threads, progress=say)]
        text = json.dumps(facts) if as_json else "\n".join(f"{what:<16} {value}" for what, value in _rows(facts))
        results.write(text.encode() + b"\n")


def _facts(config: LlamaConfig) -> dict[str, Any]:
    import math

    from constrained.model.cpu import WEIGHT_KINDS, bytes_per_token, packed_bytes
    from constrained.model.weights import expected_shapes

    return {
        "architecture": config.architecture,
        "parameters": sum(math.prod(shape) for shape in expected_shapes(config).values()),
        "layers": config.num_hidden_layers,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "heads": config.num_attention_heads,
        "key_value_heads": config.num_key_value_heads,
        "head_dim": config.head_dim,
        "vocab_size": config.vocab_size,
        "context_length": config.max_position_embeddings,
        "weight_bytes": {kind: packed_bytes(config, kind=kind) for kind in WEIGHT_KINDS},
        "kv_bytes_per_token": bytes_per_token(config),
    }


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from constrained.costs import shown_bytes

    heads = f"{facts['heads']} of {facts['head_dim']}, on {facts['key_value_heads']} of keys and values"
    rows = [
        ("name", facts["name"]),
        ("architecture", facts["architecture"]),
        ("parameters", f"{facts['parameters'] / 1e6:,.1f} million"),
        ("layers", f"{facts['layers']}, {facts['hidden_size']} wide, {facts['intermediate_size']} inside"),
        ("heads", heads),
        ("vocabulary", f"{facts['vocab_size']:,}"),
        ("context", f"{facts['context_length']:,} tokens, {shown_bytes(facts['kv_bytes_per_token'])} each"),
    ]
    rows += [(f"weights, {kind}", shown_bytes(size)) for kind, size in facts["weight_bytes"].items()]
    rows += [
        (
            f"drift, {drift['weights']}",
            f"best token the same at {drift['same_best']} of {drift['positions']} positions; logits differ by "
            f"{drift['largest_difference']:.2g} at most; {drift['mean_divergence']:.2g} nats from the exact "
            "distribution on average",
        )
        for drift in facts.get("drift", ())
    ]
    return rows
