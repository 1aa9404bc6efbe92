"""Masks of grammars: SQL, Python expressions, arithmetic, thinking before an answer, tool calls; beside other engines.

    python -m benchmarks.grammars --engines constrained,llguidance --repeat 3

The Llama 3 vocabulary; every engine on one thread, in this process, in turn. Times are the element-wise minimum of
``--repeat`` fresh compiles: the first mask with compiling, and the time between masks. The last line is JSON, with our
share of each peer's average and first mask.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from rich.console import Console
from rich.table import Table

from .engines import ENGINES
from .grammar_cases import cases
from .hard_cases import best_of, figures_of, measure, token_ids_of
from .llama3_vocabulary import llama3_vocabulary


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--engines", default="constrained,llguidance", help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--cases", default="", help="only those whose name contains this")
    parser.add_argument("--seconds", type=float, default=20.0, help="time-out of one engine on one case")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()

    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    engines = [ENGINES[name](llama3_vocabulary()) for name in options.engines.split(",")]
    table = Table(title="Grammars: first mask in ms (compiling included), between masks in us")
    for column in ("case", "engine", "first", "average", "p50", "p99", "max", "result"):
        table.add_column(column, justify="left" if column in ("case", "engine", "result") else "right")
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for case in cases():
        if options.cases not in case.name:
            continue
        token_ids = token_ids_of(case)
        rows: dict[str, dict[str, Any]] = {}
        for engine in engines:
            timings = [measure(engine, case, token_ids, options.seconds) for _ in range(options.repeat)]
            rows[engine.name] = row = figures_of(best_of(timings))
            row["average"] = row.get("total", 0.0) / max(1, row["count"])
            cells = [f"{row.get(key, 0.0):,.1f}" for key in ("average", "p50", "p99", "max")]
            verdict = f"{row['verdict']} {row['reason'][:60]}".strip()
            table.add_row(case.name, engine.name, f"{row['first'] / 1000:,.2f}", *cells, verdict)
        ours = rows.get("constrained")
        for row in rows.values():
            if ours is not None and row is not ours and row["verdict"] == ours["verdict"] == "passed":
                row["our share"] = {key: round(ours[key] / row[key], 3) for key in ("first", "average")}
        results[case.name] = rows
    Console(width=160).print(table)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
