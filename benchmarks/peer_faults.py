"""Faults of engines, found by `constrained.testing` on public and random schemas.

    python -m benchmarks.peer_faults --engine xgrammar --engine llguidance --schemas 300 --random 100 --out faults.jsonl

Schemas come from MaskBench's development set (``CONSTRAINED_DATA``), a sample by seed, and from `strategies.schemas`.
Each runs in a process of its own limits; a line of JSON an outcome goes to ``--out``, and a table to stdout.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from constrained.testing.adapters import ENGINE_NAMES
from constrained.testing.isolation import Task, run_isolated
from constrained.testing.strategies import schemas

LONGEST_SCHEMA = 4_000
"""Characters; longer ones take most of the time and show little more."""


def maskbench_schemas(count: int) -> Iterator[tuple[str, str]]:
    """Names and texts of a sample of the development set, the same each time."""
    folder = os.environ.get("CONSTRAINED_DATA")
    if folder is None:
        sys.exit("CONSTRAINED_DATA: expected a folder with maskbench_dev.jsonl.gz, got nothing")
    with gzip.open(Path(folder) / "maskbench_dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines]
    texts = [(entry["name"], json.dumps(entry["schema"], ensure_ascii=False)) for entry in read]
    short = [(name, text) for name, text in texts if len(text) <= LONGEST_SCHEMA]
    yield from random.Random(9).sample(short, min(count, len(short)))


def random_schemas(count: int) -> Iterator[tuple[str, str]]:
    """Schemas over all keywords of all drafts, the same each time."""
    drawn: list[str] = []

    @seed(9)
    @settings(max_examples=count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(schemas())
    def draw(schema: object) -> None:
        drawn.append(json.dumps(schema, ensure_ascii=False))

    if count:
        draw()
    yield from ((f"random-{index}", text) for index, text in enumerate(drawn[:count]))


def main() -> None:
    """Run the engines and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append", choices=ENGINE_NAMES, required=True)
    parser.add_argument("--schemas", type=int, default=300)
    parser.add_argument("--random", type=int, default=100)
    parser.add_argument("--examples", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0, help="for a schema and an engine")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    subjects = [*maskbench_schemas(arguments.schemas), *random_schemas(arguments.random)]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    with arguments.out.open("w", encoding="utf-8") as out:
        for engine in arguments.engine:
            tasks = [
                Task(
                    subject=name,
                    kind="schema",
                    text=text,
                    engine=engine,
                    examples=arguments.examples,
                    max_seconds=arguments.seconds,
                )
                for name, text in subjects
            ]
            for outcome in run_isolated(tasks, grace=30.0):
                out.write(json.dumps(asdict(outcome)) + "\n")
                out.flush()
                found = counts[engine]
                found["schemas"] += 1
                found["refused"] += bool(outcome.refused)
                found["with a fault"] += bool(outcome.faults)
                for fault in outcome.faults:
                    found[fault.law] += 1
    for engine, found in counts.items():
        print(engine, dict(found))


if __name__ == "__main__":
    main()
