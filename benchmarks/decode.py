"""Tokens a second of our decode loop beside transformers' `generate`: same weights, one process, taking turns.

    python benchmarks/decode.py [--tokens 64] [--rounds 5] [--prefill 512] [--threads 1]

Each row is a way to generate; every round runs every row once, in turn, so that a change of the machine's load meets
all of them. Printed: the median and the spread over rounds, the ratio to transformers, and one JSON object on the last
line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from constrained.model import LoadedModel, load_model
from constrained.model.embedded import default_model_folder

QUESTION = "Describe a small harbour town in the morning, in as much detail as you can."


@dataclass(frozen=True)
class Row:
    """A way to generate: ``prefill(prompt)`` reads a prompt; ``decode(prompt, n)`` gives n tokens and the seconds from
    the first token on, prefill left out."""

    name: str
    prefill: Callable[[list[int]], None]
    decode: Callable[[list[int], int], tuple[list[int], float]]


def our_row(loaded: LoadedModel) -> Row:
    """Our forward pass in a plain greedy loop."""
    model = loaded.model

    def prefill(prompt: list[int]) -> None:
        model.forward(torch.tensor([prompt]), model.new_cache(1, len(prompt)))

    def decode(prompt: list[int], num_tokens: int) -> tuple[list[int], float]:
        cache = model.new_cache(1, len(prompt) + num_tokens)
        logits = model.forward(torch.tensor([prompt]), cache)
        token_ids = [int(logits.argmax())]
        start = time.perf_counter()
        while len(token_ids) < num_tokens:
            logits = model.forward(torch.tensor([token_ids[-1:]]), cache)
            token_ids.append(int(logits.argmax()))
        return token_ids, time.perf_counter() - start

    return Row("constrained, free", prefill, decode)


def transformers_row() -> Row:
    """transformers' `generate`, greedy, with its own cache."""
    from transformers import LlamaForCausalLM
    from transformers.generation.streamers import BaseStreamer

    folder = default_model_folder(progress=lambda line: print(line, file=sys.stderr))
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    class Clock(BaseStreamer):  # type: ignore[misc]
        """Notes when each token comes; the prompt comes first."""

        def __init__(self) -> None:
            self.times: list[float] = []

        def put(self, value: Any) -> None:
            self.times.append(time.perf_counter())

        def end(self) -> None:
            pass

    def prefill(prompt: list[int]) -> None:
        with torch.inference_mode():
            model(torch.tensor([prompt]), use_cache=True, logits_to_keep=1)

    def decode(prompt: list[int], num_tokens: int) -> tuple[list[int], float]:
        clock = Clock()
        inputs = torch.tensor([prompt])
        output = model.generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            do_sample=False,
            max_new_tokens=num_tokens,
            min_new_tokens=num_tokens,
            pad_token_id=0,
            streamer=clock,
        )
        return output[0, len(prompt) :].tolist(), clock.times[-1] - clock.times[1]

    return Row("transformers generate", prefill, decode)


def measure(rows: Sequence[Row], prompt: list[int], long_prompt: list[int], *, tokens: int, rounds: int) -> list[Any]:
    """Per row: tokens a second of decode and of prefill, one figure a round; the first, untimed round warms up."""
    figures: list[Any] = [{"row": row.name, "decode": [], "prefill": []} for row in rows]
    for round_number in range(rounds + 1):
        for row, figure in zip(rows, figures, strict=True):
            start = time.perf_counter()
            row.prefill(long_prompt)
            prefill_seconds = time.perf_counter() - start
            token_ids, decode_seconds = row.decode(prompt, tokens)
            if round_number:
                figure["prefill"].append(len(long_prompt) / prefill_seconds)
                figure["decode"].append((len(token_ids) - 1) / decode_seconds)
            figure["token_ids"] = token_ids
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=int, default=64, help="tokens to generate (default 64)")
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds (default 5)")
    parser.add_argument("--prefill", type=int, default=512, help="tokens of the prompt whose reading is timed")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (default 1)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    loaded = load_model(device="cpu", dtype="float32", progress=lambda line: print(line, file=sys.stderr))
    prompt = loaded.tokenizer.chat_prompt([{"role": "user", "content": QUESTION}])
    long_prompt = (prompt * (options.prefill // len(prompt) + 1))[: options.prefill]
    rows = [transformers_row(), our_row(loaded)]
    figures = measure(rows, prompt, long_prompt, tokens=options.tokens, rounds=options.rounds)
    report(figures, options)


def report(figures: list[Any], options: argparse.Namespace) -> None:
    """A table on stdout, then one JSON object; ratios are medians of each round's ratio to the first row."""
    peer = figures[0]
    lines = []
    print(f"{'':24}{'decode tokens/s':>24}{'ratio':>8}{'prefill tokens/s':>24}{'ratio':>8}")
    for figure in figures:
        line: dict[str, Any] = {"row": figure["row"]}
        for what in ("decode", "prefill"):
            ratios = [ours / theirs for ours, theirs in zip(figure[what], peer[what], strict=True)]
            line[f"{what}_tokens_per_s"] = round(statistics.median(figure[what]), 2)
            line[f"{what}_min"], line[f"{what}_max"] = round(min(figure[what]), 2), round(max(figure[what]), 2)
            line[f"{what}_ratio"] = round(statistics.median(ratios), 3)
        line["same_tokens"] = figure["token_ids"] == peer["token_ids"]
        lines.append(line)
        cells = [
            f"{line[w + '_tokens_per_s']:.1f} ({line[w + '_min']:.1f}-{line[w + '_max']:.1f})"
            for w in ("decode", "prefill")
        ]
        print(f"{line['row']:24}{cells[0]:>24}{line['decode_ratio']:>8}{cells[1]:>24}{line['prefill_ratio']:>8}")
    settings = {"model": "SmolLM2-135M-Instruct", "dtype": "float32", "torch": torch.__version__, **vars(options)}
    print(json.dumps({"benchmark": "decode", "settings": settings, "rows": lines}))


if __name__ == "__main__":
    main()
