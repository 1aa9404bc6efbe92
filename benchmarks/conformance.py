"""Whether engines enforce real JSON Schemas: taken or refused, valid instances rejected, invalid ones accepted.

    python -m benchmarks.conformance --engines constrained,llguidance,xgrammar

Each line of the data is ``{"name", "schema", "tests": [{"valid", "data"}]}``. An instance is put into the order of its
schema (``--order given`` leaves it), written by ``json.dumps`` and fed token by token. A schema passes when every valid
instance is accepted to its end and every invalid one is refused somewhere. Every failure is listed with its cause in
the file that ``--failures`` names. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .engines import ENGINES, Engine, Refused, llama3_encoding, make_engines
from .masks import WARM_UP, TimedOut, read_rows, time_limit
from .schema_order import as_text

Tokens = list[tuple[bool, list[int]]]
UNSATISFIABLE = "the schema allows no value at all"
"""What we say of schemas without a valid value; it is the right answer where no instance is valid."""


def judge(engine: Engine, schema: Any, tests: Tokens, seconds: float) -> dict[str, Any]:
    """What the engine makes of one schema: a verdict, its reason, and seconds of compiling."""
    started = time.perf_counter()
    result: dict[str, Any] = {"verdict": "passed", "reason": "", "valid_rejected": [], "invalid_accepted": []}
    try:
        with time_limit(seconds):
            session = engine.compile(schema)
            result["seconds"] = time.perf_counter() - started
            for index, (valid, token_ids) in enumerate(tests):
                if index:
                    session = session.again()
                accepted = all(map(session.consume, token_ids)) and session.accepts_end()
                if accepted != valid:
                    result["valid_rejected" if valid else "invalid_accepted"].append(index)
    except TimedOut:
        result.update(verdict="timed out", reason=f"more than {seconds} s")
    except Refused as error:
        right = UNSATISFIABLE in str(error) and not any(valid for valid, _ in tests)
        result.update(verdict="passed" if right else "refused", reason=str(error))
    except Exception as error:  # a crash of any engine is a result here, and is printed
        result.update(verdict="crashed", reason=f"{type(error).__name__}: {error}")
    else:
        for kind in ("valid_rejected", "invalid_accepted"):
            if result[kind]:
                result["verdict"] = kind.replace("_", " ")
    result.setdefault("seconds", time.perf_counter() - started)
    return result


def refused_keywords(reason: str) -> list[str]:
    """The keywords that one of our refusals names, each once."""
    return sorted(set(re.findall(r"^  [^\n]*?: ([^: ]+): ", reason, re.MULTILINE))) or [reason.split("\n")[0][:60]]


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts over all schemas of one engine."""
    verdicts = Counter(result["verdict"] for result in results)
    keywords = Counter(
        keyword
        for result in results
        if result["verdict"] == "refused"
        for keyword in refused_keywords(result["reason"])
    )
    seconds = sorted(result["seconds"] for result in results)
    return {
        "schemas": len(results),
        "passing_percent": round(100 * verdicts["passed"] / max(1, len(results)), 2),
        **{verdict.replace(" ", "_"): count for verdict, count in verdicts.most_common()},
        "valid_instances_rejected": sum(len(result["valid_rejected"]) for result in results),
        "invalid_instances_accepted": sum(len(result["invalid_accepted"]) for result in results),
        "refused_by": dict(keywords.most_common(40)),
        "compile_ms_p50": round(1000 * seconds[len(seconds) // 2], 3),
        "compile_ms_max": round(1000 * seconds[-1], 1),
    }


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    folder = os.environ.get("CONSTRAINED_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(folder) / "maskbench_dev.jsonl.gz")
    parser.add_argument("--limit", type=int, help="a random sample of so many schemas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engines", default="constrained", help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--order", choices=("schema", "given"), default="schema", help="of the keys of an instance")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds a schema")
    parser.add_argument("--failures", type=Path, help="where to write every schema that does not pass, one a line")
    options = parser.parse_args()
    if not options.data.exists():
        sys.exit(f"{options.data}: no such file; give --data, or the folder in CONSTRAINED_DATA")
    warnings.simplefilter("ignore")  # of formats that nobody knows
    rows = read_rows(options.data, options.limit, options.seed)
    names = options.engines.split(",")
    engines = make_engines(names)
    tokenizer = llama3_encoding()
    for engine in engines:
        engine.compile(WARM_UP)  # machine code is made outside the time limit
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for row in rows:
        tests: Tokens = []
        for test in row["tests"]:
            data = test["data"]
            text = as_text(row["schema"], data) if options.order == "schema" else json.dumps(data, ensure_ascii=False)
            tests.append((test["valid"], tokenizer.encode(text, disallowed_special=())))
        for name, engine in zip(names, engines, strict=True):
            results[name].append(judge(engine, row["schema"], tests, options.timeout))
    figures = {name: summary(outcomes) for name, outcomes in results.items()}
    if options.failures:
        with options.failures.open("w", encoding="utf-8") as lines:
            for name, outcomes in results.items():
                for row, outcome in zip(rows, outcomes, strict=True):
                    if outcome["verdict"] != "passed":
                        lines.write(json.dumps({"engine": name, "schema": row["name"], **outcome}) + "\n")
    show(figures)
    print(json.dumps({"data": options.data.name, "order": options.order, "engines": figures}))


def show(figures: dict[str, dict[str, Any]]) -> None:
    """Print one table, an engine a column."""
    table = Table(title="schemas by verdict")
    table.add_column("")
    for name in figures:
        table.add_column(name, justify="right")
    keys = dict.fromkeys(key for one in figures.values() for key in one if key != "refused_by")
    for key in keys:
        table.add_row(key.replace("_", " "), *(str(one.get(key, 0)) for one in figures.values()))
    console = Console(width=120)
    console.print(table)
    for name, one in figures.items():
        if name == "constrained" and one["refused_by"]:
            console.print(
                f"{name} refuses by: " + ", ".join(f"{key} {count}" for key, count in one["refused_by"].items())
            )


if __name__ == "__main__":
    main()
