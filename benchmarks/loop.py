"""What the fast loop brings: forced text, drafts, a shared prefix and batches, each as a ratio in one process.

    python -m benchmarks.loop [--documents 10] [--batch 8] [--weights fp32] [--rounds 1] [--max-tokens 300]

The documents of `benchmarks/quality_data` are extracted, each by its own schema, with the prompt of `extract`, in
several ways: token by token, with forced text, with drafts, with the prefix cache, and side by side in a batch. Every
round runs every way once, in turn. Printed: seconds a document, passes and tokens, the ratio to the first way and to
the way before, whether the ids are those of the way before (forced text may be cut into other tokens), and the last
line as JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import grammars
from constrained.loop import Engine, PrefixCache, Request, run_requests
from constrained.loop.schedule import source_of
from constrained.model import LoadedModel, load_model
from constrained.output_types import output_type_from
from constrained.prompts import DEFAULT_TEMPLATE
from constrained.result import ForcedMode, GenerationResult

from .quality_documents import load_documents

PREFIX_BYTES = 512 * 2**20


@dataclass(frozen=True)
class Way:
    """One way to run the same requests."""

    name: str
    forced: ForcedMode
    drafts: int = 0
    prefix: bool = False
    batch: int = 1


def ways(batch: int) -> list[Way]:
    """From the plain loop to all of it."""
    return [
        Way("token by token", "off"),
        Way("forced", "canonical"),
        Way("+ drafts", "canonical", drafts=8),
        Way("+ prefix cache", "canonical", drafts=8, prefix=True),
        Way(f"+ batch of {batch}", "canonical", drafts=8, prefix=True, batch=batch),
        Way(f"batch of {batch} alone", "off", batch=batch),
    ]


def requests_of(loaded: LoadedModel, engine: Engine, num_documents: int, max_tokens: int) -> list[Request]:
    """An extraction of each document, by its own schema."""
    requests = []
    for document in load_documents(limit=num_documents):
        wanted = output_type_from(dict(document.schema))
        grammar = grammars.compile_ir(wanted.lower(whitespace="indent=2"), engine.vocabulary)
        messages = DEFAULT_TEMPLATE.messages(document.text, schema_text=wanted.schema_text)
        prompt_ids = loaded.tokenizer.chat_prompt(messages)
        requests.append(Request(prompt_ids=prompt_ids, matcher=grammar.matcher(), max_tokens=max_tokens))
    return requests


def run(engine: Engine, requests: Sequence[Request], way: Way) -> tuple[float, list[GenerationResult]]:
    """Seconds in all, and the results in order."""
    if way.prefix:
        engine = replace(engine, prefix_cache=PrefixCache(max_bytes=PREFIX_BYTES))
    asked = [replace(request, forced=way.forced, drafts=way.drafts) for request in requests]
    found: dict[int, GenerationResult] = {}
    started = time.perf_counter()
    for step in run_requests(engine, source_of(asked), batch_size=way.batch, hold_back=True):
        if step.error is not None:
            raise step.error
        if step.result is not None:
            found[step.row] = step.result
    return time.perf_counter() - started, [found[index] for index in sorted(found)]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--weights", default="auto")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=300)
    arguments = parser.parse_args()
    loaded = load_model(weights=arguments.weights)
    engine = Engine.from_model(loaded.model, loaded.tokenizer)
    requests = requests_of(loaded, engine, arguments.documents, arguments.max_tokens)
    run(engine, requests[:1], ways(1)[0])  # machine code, pages
    seconds: dict[str, list[float]] = {}
    results: dict[str, list[GenerationResult]] = {}
    order = ways(arguments.batch)
    for _ in range(arguments.rounds):
        for way in order:
            taken, results[way.name] = run(engine, requests, way)
            seconds.setdefault(way.name, []).append(taken)
    print(json.dumps(report(order, seconds, results)))


def report(
    order: Sequence[Way], seconds: dict[str, list[float]], results: dict[str, list[GenerationResult]]
) -> dict[str, Any]:
    """Print a line a way; the numbers as plain values."""
    numbers: dict[str, Any] = {}
    first = before = order[0].name
    for way in order:
        pairs = zip(seconds[first], seconds[way.name], strict=True)
        usages = [result.usage for result in results[way.name]]
        ids = [result.token_ids for result in results[way.name]]
        number = {
            "seconds_per_document": statistics.median(seconds[way.name]) / len(usages),
            "speedup": statistics.median(one / other for one, other in pairs),
            "forward_passes": sum(usage.forward_passes for usage in usages),
            "output_tokens": sum(map(len, ids)),
            "forced_tokens": sum(usage.forced_tokens for usage in usages),
            "drafted_tokens": sum(usage.drafted_tokens for usage in usages),
            "accepted_tokens": sum(usage.accepted_tokens for usage in usages),
            "cached_prompt_tokens": sum(usage.cached_prompt_tokens for usage in usages),
            "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
            "prefill_seconds": sum(usage.prefill_seconds for usage in usages),
            "complete": sum(result.complete for result in results[way.name]),
            "same_ids_as_before": sum(one == other.token_ids for one, other in zip(ids, results[before], strict=True)),
        }
        numbers[way.name] = number
        print(
            f"{way.name:<22} {number['seconds_per_document']:7.3f} s  x{number['speedup']:5.2f}  "
            f"passes {number['forward_passes']:5}  tokens {number['output_tokens']:5}  "
            f"forced {number['forced_tokens']:5}  drafted {number['drafted_tokens']:5}  "
            f"accepted {number['accepted_tokens']:5}  "
            f"cached {number['cached_prompt_tokens']:5} of {number['prompt_tokens']:5}  "
            f"prefill {number['prefill_seconds']:6.2f} s  "
            f"complete {number['complete']:3}  same ids {number['same_ids_as_before']:3}"
        )
        before = way.name
    return numbers


if __name__ == "__main__":
    main()
