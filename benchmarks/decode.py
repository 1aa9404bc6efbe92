"""Tokens a second of our decoding, free and constrained, beside transformers' `generate`: same weights, one process.

    python -m benchmarks.decode [--tokens 64] [--rounds 5] [--prefill 512] [--threads 1] [--clock wall|cpu]

Each row is a way to generate; every round runs every row once, in turn, so that a change of the machine's load meets
all of them; a first round is not timed. Printed: the median and the range over rounds, the median of each round's ratio
to transformers, and one JSON object on the last line. Decode counts the tokens after the first and the time after it,
so prefill is left out; forced tokens count as tokens. Then, what passes of several tokens and of several rows cost, and
the share of the memory's speed, measured beside them. `--clock cpu` counts this process's CPU seconds instead of the
wall's, for machines that others use at the same time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import grammars
from constrained.loop import Engine, Request, generate_tokens
from constrained.model import CpuLlama, Llama, LlamaConfig, LoadedModel, load_model
from constrained.model.cpu import WEIGHT_KINDS
from constrained.model.embedded import default_model_folder
from constrained.model.weights import SafetensorsFolder, build_model
from constrained.result import ForcedMode

from .passes import pass_figures, print_passes

Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}

QUESTION = "Invent the inhabitants of a small harbour town; describe each of them in detail."
SCHEMA = {
    "type": "array",
    "minItems": 40,
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "trade": {"enum": ["fisher", "baker", "sailor", "teacher"]},
            "description": {"type": "string", "minLength": 20},
        },
        "required": ["name", "age", "trade", "description"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True)
class Decoded:
    """Output ids, and the seconds from the ``num_first``-th token to the last."""

    token_ids: list[int]
    num_first: int
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        return (len(self.token_ids) - self.num_first) / self.seconds


@dataclass(frozen=True)
class Row:
    """A way to generate: ``decode(prompt, num_tokens)``; and to read a prompt, for those that differ in it."""

    name: str
    decode: Callable[[list[int], int], Decoded]
    prefill: Callable[[list[int]], object] | None = None


@dataclass
class Figures:
    """What was measured of one row, an entry a round."""

    row: Row
    decode: list[float] = field(default_factory=list)
    prefill: list[float] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)


def transformers_row(folder: Path, clock: Clock) -> Row:
    """transformers' `generate`, greedy, with its own cache; the end token is held back."""
    from transformers import LlamaForCausalLM
    from transformers.generation.streamers import BaseStreamer

    model: Any = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()

    class Times(BaseStreamer):
        """Notes when each token comes; the prompt comes first."""

        def __init__(self) -> None:
            self.times: list[float] = []

        def put(self, value: Any) -> None:
            self.times.append(clock())

        def end(self) -> None:
            pass

    def prefill(prompt: list[int]) -> object:
        with torch.inference_mode():
            return model(torch.tensor([prompt]), use_cache=True, logits_to_keep=1)

    def decode(prompt: list[int], num_tokens: int) -> Decoded:
        times = Times()
        inputs = torch.tensor([prompt])
        output = model.generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            do_sample=False,
            max_new_tokens=num_tokens,
            min_new_tokens=num_tokens,
            pad_token_id=0,
            streamer=times,
        )
        return Decoded(output[0, len(prompt) :].tolist(), 1, times.times[-1] - times.times[1])

    return Row("transformers generate", decode, prefill)


def forward_row(name: str, model: Llama | CpuLlama, clock: Clock) -> Row:
    """A forward pass and an argmax, nothing else."""

    def prefill(prompt: list[int]) -> object:
        return model.forward(torch.tensor([prompt]), model.new_cache(1, len(prompt)))

    def decode(prompt: list[int], num_tokens: int) -> Decoded:
        cache = model.new_cache(1, len(prompt) + num_tokens)
        token_ids = [int(model.forward(torch.tensor([prompt]), cache).argmax())]
        start = clock()
        while len(token_ids) < num_tokens:
            token_ids.append(int(model.forward(torch.tensor([token_ids[-1:]]), cache).argmax()))
        return Decoded(token_ids, 1, clock() - start)

    return Row(name, decode, prefill)


def loop_row(
    name: str,
    engine: Engine,
    clock: Clock,
    *,
    schema: Mapping[str, Any] | None = None,
    forced: ForcedMode = "off",
) -> Row:
    """Our whole loop, greedy: free, or under a JSON Schema."""
    compiled = None if schema is None else grammars.compile_json_schema(schema, engine.vocabulary)

    def decode(prompt: list[int], num_tokens: int) -> Decoded:
        matcher = None if compiled is None else compiled.matcher()
        request = Request(prompt_ids=prompt, matcher=matcher, max_tokens=num_tokens, forced=forced)
        steps = generate_tokens(engine, [request])
        token_ids = [*next(steps).token_ids, *next(steps).token_ids]  # what is forced at the start; the first pass
        num_first, start = len(token_ids), clock()
        for step in steps:
            token_ids += step.token_ids
        return Decoded(token_ids, num_first, clock() - start)

    return Row(name, decode)


def torch_model(folder: Path) -> Llama:
    """The forward pass by torch, which CUDA uses, on the CPU."""
    config = LlamaConfig.from_file(folder / "config.json")
    return build_model(config, SafetensorsFolder(folder), device=torch.device("cpu"), dtype=torch.float32)


def default_rows(folder: Path, loaded: LoadedModel, models: Sequence[CpuLlama], clock: Clock) -> list[Row]:
    """Every row of this benchmark, the one that the others are compared with first."""
    engine = Engine.from_model(loaded.model, loaded.tokenizer)
    return [
        transformers_row(folder, clock),
        *(forward_row(f"forward pass, {model.weights}", model, clock) for model in models),
        forward_row("forward pass by torch", torch_model(folder), clock),
        loop_row("free", engine, clock),
        loop_row("schema, forced=off", engine, clock, schema=SCHEMA),
        loop_row("schema, forced=canonical", engine, clock, schema=SCHEMA, forced="canonical"),
    ]


def measure(
    rows: Sequence[Row], prompt: list[int], long_prompt: list[int], *, tokens: int, rounds: int, clock: Clock
) -> list[Figures]:
    """Run all rows in turn, ``rounds`` times after a round that is not counted."""
    figures = [Figures(row) for row in rows]
    for round_number in range(rounds + 1):
        for of_row in figures:
            if of_row.row.prefill is not None:
                start = clock()
                of_row.row.prefill(long_prompt)
                of_row.prefill.append(len(long_prompt) / (clock() - start))
            decoded = of_row.row.decode(prompt, tokens)
            of_row.decode.append(decoded.tokens_per_second)
            of_row.token_ids = decoded.token_ids
            if round_number == 0:
                of_row.decode.clear()
                of_row.prefill.clear()
    return figures


def summary(figures: Sequence[Figures]) -> list[dict[str, Any]]:
    """One JSON object a row: medians, ranges, ratios to the first row, and whether the ids are the same."""
    first = figures[0]
    lines = []
    for of_row in figures:
        line: dict[str, Any] = {"row": of_row.row.name, "same_ids": of_row.token_ids == first.token_ids}
        for what in ("decode", "prefill"):
            speeds, of_first = getattr(of_row, what), getattr(first, what)
            if speeds:
                ratios = [ours / theirs for ours, theirs in zip(speeds, of_first, strict=True)]
                line[f"{what}_tokens_per_s"] = round(statistics.median(speeds), 2)
                line[f"{what}_range"] = [round(min(speeds), 2), round(max(speeds), 2)]
                line[f"{what}_ratio"] = round(statistics.median(ratios), 3)
        lines.append(line)
    return lines


def print_table(lines: Sequence[dict[str, Any]]) -> None:
    """The summary for people."""
    print(f"{'':26}{'decode tokens/s':>24}{'ratio':>8}{'prefill tokens/s':>24}{'ratio':>8}")
    for line in lines:
        text = f"{line['row']:26}"
        for what in ("decode", "prefill"):
            if f"{what}_ratio" in line:
                low, high = line[f"{what}_range"]
                text += f"{line[f'{what}_tokens_per_s']:.1f} ({low:.1f}-{high:.1f})".rjust(24)
                text += f"{line[f'{what}_ratio']:8.2f}"
        print(text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, help="folder in Hugging Face form (default: the embedded model)")
    parser.add_argument("--tokens", type=int, default=64, help="tokens to generate (default 64)")
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds (default 5)")
    parser.add_argument("--prefill", type=int, default=512, help="tokens of the prompt whose reading is timed")
    parser.add_argument("--threads", type=int, default=1, help="threads of all engines (default 1)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="seconds of the wall (default) or of the CPU")
    options = parser.parse_args(arguments)
    clock = CLOCKS[options.clock]
    torch.set_num_threads(options.threads)

    folder = options.model or default_model_folder(progress=lambda line: print(line, file=sys.stderr))

    def load(kind: str) -> LoadedModel:
        return load_model(folder, device="cpu", weights=kind, threads=options.threads)

    loaded = load("fp32")
    models = [_on_cpu(loaded), *(_on_cpu(load(kind)) for kind in WEIGHT_KINDS if kind != "fp32")]
    prompt = loaded.tokenizer.chat_prompt([{"role": "user", "content": QUESTION}])
    long_prompt = (prompt * (options.prefill // len(prompt) + 1))[: options.prefill]
    rows = default_rows(folder, loaded, models, clock)
    figures = measure(rows, prompt, long_prompt, tokens=options.tokens, rounds=options.rounds, clock=clock)
    lines = summary(figures)
    print_table(lines)
    passes = pass_figures(models, prompt, lengths=(1, 2, 3, 4, 8), batch=8, rounds=options.rounds, clock=clock)
    print_passes(passes)
    settings = vars(options) | {"model": folder.name, "torch": torch.__version__}
    print(json.dumps({"benchmark": "decode", "settings": settings, "rows": lines, "passes": passes}))


def _on_cpu(loaded: LoadedModel) -> CpuLlama:
    assert isinstance(loaded.model, CpuLlama)
    return loaded.model


if __name__ == "__main__":
    main()
