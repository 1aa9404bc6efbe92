"""Token bitmasks on real JSON Schemas: time to first mask, time between masks, and whether the masks are right.

    python -m benchmarks.masks --data maskbench_dev.jsonl.gz --limit 200 --engines constrained,llguidance,xgrammar

Each line of the data is ``{"name", "schema", "tests": [{"valid", "data"}]}``. Every schema is compiled afresh by every
engine, in one process on one thread, engines alternating; with ``--repeat N`` the element-wise minimum of N rounds
counts. Time between masks is one ``consume`` plus one ``fill``. An instance is fed as ``json.dumps`` writes it.
Percentiles are taken over all schemas an engine takes, and over those that all engines take. The last line is JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .engines import ENGINES, Engine, Refused, llama3_encoding, make_engines

WARM_UP = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}}}
PERCENTILES = {"p50": 50, "p90": 90, "p99": 99}


class TimedOut(Exception):
    """A schema took longer than the limit."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimedOut` in the block after so many seconds (as soon as Python code runs again)."""

    def stop(*_: object) -> None:
        raise TimedOut

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Outcome:
    """What one engine did with one schema; times in microseconds."""

    verdict: str  # passed, refused, timed out, crashed, valid rejected, invalid accepted
    first: float = 0.0
    between: list[float] = field(default_factory=list)
    reason: str = ""


def run(engine: Engine, schema: Any, tests: list[tuple[bool, list[int]]]) -> Outcome:
    """Compile one schema and feed it all instances."""
    clock = time.perf_counter_ns
    started = clock()
    session = engine.compile(schema)
    session.fill()
    outcome = Outcome("passed", first=(clock() - started) / 1000)
    for index, (valid, token_ids) in enumerate(tests):
        if index:
            session = session.again()
            session.fill()
        accepted = True
        for token_id in token_ids:
            started = clock()
            accepted = session.consume(token_id)
            if not accepted:
                break
            session.fill()
            outcome.between.append((clock() - started) / 1000)
        accepted = accepted and session.accepts_end()
        if accepted != valid and outcome.verdict != "invalid accepted":
            outcome.verdict = "valid rejected" if valid else "invalid accepted"
    return outcome


def attempt(engine: Engine, schema: Any, tests: list[tuple[bool, list[int]]], seconds: float) -> Outcome:
    """As :func:`run`, with refusals, time-outs and crashes as outcomes."""
    try:
        with time_limit(seconds):
            return run(engine, schema, tests)
    except TimedOut:
        return Outcome("timed out", reason=f"more than {seconds} s")
    except Refused as error:
        return Outcome("refused", reason=str(error).split("\n")[0][:200])
    except Exception as error:  # a crash of any engine is a result here, and is printed
        return Outcome("crashed", reason=f"{type(error).__name__}: {error}"[:200])


def best_of(outcomes: list[Outcome]) -> Outcome:
    """The element-wise minimum of the times of several rounds."""
    best = outcomes[0]
    if all(len(outcome.between) == len(best.between) for outcome in outcomes):
        best.first = min(outcome.first for outcome in outcomes)
        best.between = np.min([outcome.between for outcome in outcomes], axis=0).tolist()
    return best


def summary(values: list[float]) -> dict[str, float]:
    """Average, percentiles and maximum."""
    if not values:
        return {}
    array = np.array(values)
    percentiles = {name: float(np.percentile(array, at)) for name, at in PERCENTILES.items()}
    return {"avg": float(array.mean()), **percentiles, "max": float(array.max()), "count": len(values)}


def report(results: dict[str, list[Outcome]], chosen: list[int], title: str) -> dict[str, Any]:
    """Print one table over the chosen schemas; the same as a dict."""
    table = Table(title=f"{title} ({len(chosen)} schemas), microseconds")
    figures: dict[str, Any] = {}
    for column in ("engine", "", "avg", "p50", "p90", "p99", "max", "count"):
        table.add_column(column, justify="left" if column in ("engine", "") else "right")
    for name, outcomes in results.items():
        taken = [outcomes[index] for index in chosen if outcomes[index].first]
        figures[name] = {
            "first_mask": summary([outcome.first for outcome in taken]),
            "between_masks": summary([time for outcome in taken for time in outcome.between]),
        }
        for kind, row in figures[name].items():
            numbers = (f"{row.get(key, 0):,.1f}" for key in ("avg", *PERCENTILES, "max"))
            table.add_row(name, kind.replace("_", " "), *numbers, str(row.get("count", 0)))
    Console(width=120).print(table)
    return figures


def ratios(figures: dict[str, Any], peer: str) -> dict[str, float]:
    """Our figures divided by a peer's."""
    ours, theirs = figures["constrained"], figures[peer]
    return {
        f"{kind}_{key}": round(ours[kind][key] / theirs[kind][key], 3)
        for kind in ours
        for key in ("avg", *PERCENTILES, "max")
        if ours[kind] and theirs[kind]
    }


def read_rows(path: Path, limit: int | None, seed: int) -> list[dict[str, Any]]:
    """The schemas, all or a random sample."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return random.Random(seed).sample(rows, limit) if limit and limit < len(rows) else rows


def parser_of_engines(document: str | None) -> argparse.ArgumentParser:
    """The options that all have who run engines over schemas; ``document``: the docstring of the script."""
    parser = argparse.ArgumentParser(description=document.split("\n")[0] if document else "")
    folder = os.environ.get("CONSTRAINED_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(folder) / "maskbench_dev.jsonl.gz")
    parser.add_argument("--limit", type=int, help="a random sample of so many schemas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engines", default="constrained,llguidance", help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--repeat", type=int, default=1)
    return parser


def main() -> None:
    """Run the benchmark from the command line."""
    parser = parser_of_engines(__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="time-out a schema and engine")
    parser.add_argument("--reasons", action="store_true", help="print why schemas were refused or judged wrongly")
    options = parser.parse_args()

    rows = read_rows(options.data, options.limit, options.seed)
    engines = make_engines(options.engines.split(","))
    encoding = llama3_encoding()
    for engine in engines:  # machine code, lazy tables: not the subject here
        attempt(engine, WARM_UP, [(True, encoding.encode('{"a": "b"}'))], 600)
    results: dict[str, list[Outcome]] = {engine.name: [] for engine in engines}
    for number, row in enumerate(rows):
        texts = [(test["valid"], json.dumps(test["data"], ensure_ascii=False)) for test in row["tests"]]
        tests = [(valid, encoding.encode(text, disallowed_special=())) for valid, text in texts]
        rounds: dict[str, list[Outcome]] = {engine.name: [] for engine in engines}
        for turn in range(options.repeat):
            for engine in engines if turn % 2 == 0 else engines[::-1]:
                rounds[engine.name].append(attempt(engine, row["schema"], tests, options.seconds))
        for name, outcomes in rounds.items():
            results[name].append(best_of(outcomes))
            if options.reasons and results[name][-1].verdict != "passed":
                last = results[name][-1]
                print(f"{name}: {row['name']}: {last.verdict}: {last.reason}", file=sys.stderr)
        if sys.stderr.isatty() and number % 10 == 0:
            print(f"\r{number}/{len(rows)}", end="", file=sys.stderr)
    verdicts = {name: dict(Counter(outcome.verdict for outcome in outcomes)) for name, outcomes in results.items()}
    for name, counts in verdicts.items():
        print(f"{name}: {', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))} of {len(rows)}")
    everything = report(results, list(range(len(rows))), "all schemas each engine takes")
    common = [index for index in range(len(rows)) if all(outcomes[index].first for outcomes in results.values())]
    shared = report(results, common, "schemas that all engines take")
    peers = [name for name in results if name != "constrained"]
    compared = {peer: ratios(shared, peer) for peer in peers if "constrained" in results}
    for peer, values in compared.items():
        print(f"ratio to {peer}: {', '.join(f'{key} {value}' for key, value in values.items())}")
    counts = {"schemas": len(rows), "common": len(common), "verdicts": verdicts}
    print(json.dumps({**counts, "all": everything, "shared": shared, "ratios": compared}))


if __name__ == "__main__":
    main()
