"""What determinism costs, and what it brings: digests, records, texts over mixed batches.

Prints a table. The model is the embedded default, or a folder. Run it on a quiet machine:

    python -m benchmarks.determinism --requests 100
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import constrained
from constrained.api import Model
from constrained.batches import GenerationRequest
from constrained.determinism import RunRecord, replay
from constrained.determinism.bits import count_bits, digest_words, read_row

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "colour": {"enum": ["red", "green", "blue"]},
        "note": {"type": "string", "maxLength": 80},
    },
    "required": ["name", "colour", "note"],
    "additionalProperties": False,
}
PROMPTS = ("Describe a chair.", "Describe a boat as JSON.", "Invent a bird.", "What stands on your desk?")


def best(work: Callable[[], object], *, rounds: int = 300) -> float:
    """The least time of one call, in microseconds."""
    work()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1e6 * min(times)


def digest_times() -> None:
    """Of one step, by the size of the vocabulary and the share of it that is allowed."""
    generator = np.random.default_rng(0)
    for size, target in ((49_152, 60), (128_256, 150)):
        logits = generator.normal(0, 3, size).astype(np.float32)
        for name, words in (
            ("all allowed", np.full(size // 32, -1, np.int32)),
            ("half allowed", generator.integers(-(2**31), 2**31, size // 32).astype(np.int32)),
        ):
            took = best(lambda: (read_row(logits, words, 8), digest_words(words), count_bits(words)))  # noqa: B023
            print(f"digests of {size:,} logits, {name}: {took:.0f} us (target {target})")


def record_cost(model: Model, *, rounds: int = 5) -> None:
    """Wall time of a generation with and without a record, in turns; and the size of a record."""
    file = Path(tempfile.mkdtemp()) / "run.json"
    options = {"temperature": 1.0, "seed": 3, "max_tokens": 120}
    model.generate(PROMPTS[0], SCHEMA, record=file, **options)
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds):
        for with_record in (False, True):
            started = time.perf_counter()
            model.generate(PROMPTS[0], SCHEMA, record=file if with_record else None, **options)
            times[with_record].append(time.perf_counter() - started)
    ratio = statistics.median(with_it / without for with_it, without in zip(times[True], times[False], strict=True))
    least = min(times[True]) / min(times[False])
    record = RunRecord.from_file(file)
    steps = len(record.document["steps"])
    print(f"a generation with a record, to one without: {ratio:.3f} (median of pairs), {least:.3f} (least times)")
    print(f"a record of {steps} draws: {len(record.text):,} bytes")
    started = time.perf_counter()
    found = replay(record, model)
    seconds = time.perf_counter() - started
    print(f"its replay: exit code {found.exit_code}, {found.num_passes} passes, {seconds:.2f} s")


def mixed_batches(model: Model, *, num_requests: int, temperature: float) -> None:
    """Each of a few requests, many times, in batches of 1 to 16 beside shuffled others: how many texts come."""
    shuffle = random.Random(0)
    texts: dict[str, set[tuple[int, ...]]] = {prompt: set() for prompt in PROMPTS}
    left = num_requests
    while left > 0:
        size = min(shuffle.choice([1, 2, 3, 4, 7, 8, 12, 16]), left)
        prompts = [shuffle.choice(PROMPTS) for _ in range(size)]
        asked = [GenerationRequest(p, SCHEMA, temperature=temperature, seed=7, max_tokens=48) for p in prompts]
        for prompt, outcome in zip(prompts, model.generate_many(asked, batch_size=size), strict=True):
            texts[prompt].add(outcome.result.token_ids)
        left -= size
    counts = ", ".join(str(len(found)) for found in texts.values() if found)
    print(f"distinct texts of {num_requests} generations in mixed batches, temperature {temperature}: {counts}")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", help="a folder; default: the embedded model")
    parser.add_argument("--weights", default="auto")
    parser.add_argument("--requests", type=int, default=60)
    options = parser.parse_args()
    digest_times()
    model = constrained.load(options.model, device="cpu", weights=options.weights, numerics="invariant")
    record_cost(model)
    for temperature in (0.0, 1.0):
        mixed_batches(model, num_requests=options.requests, temperature=temperature)


if __name__ == "__main__":
    main()
