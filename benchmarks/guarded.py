"""Schemas that need guards: time to first mask and between masks, and how often a random walk must go back.

    python -m benchmarks.guarded --data maskbench_dev.jsonl.gz --engines constrained,llguidance --walks 4

Of the schemas of the data those are taken whose grammar asks guards: apart those that ask only whether the names of an
object differ, and the others. Instances are put into the order of their schema and fed token by token, as in
`benchmarks.masks`. The walks sample from our masks over a small vocabulary, by the policies of `constrained.testing`
in turn, and take the last token back where none is allowed. Target: p99 between masks of at most 2 ms. The last line
is JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from random import Random
from typing import Any

import grammars
from constrained.testing.walks import POLICIES, random_walk, walking_vocabulary
from grammars.ir.nodes import Kind

from .engines import llama3_encoding, make_engines
from .masks import WARM_UP, Outcome, TimedOut, attempt, best_of, parser_of_engines, read_rows, report, time_limit
from .schema_order import as_text

NAMES_ALONE = "asks only whether names differ"
OTHERS = "asks other guards"


def guards_asked(grammar: grammars.CompiledGrammar) -> set[str]:
    """The kinds of guards that a grammar asks somewhere."""
    steps = grammar.machine.network.steps
    asked = {int(row[1]) for row in steps if int(row[0]) == Kind.GUARD}
    return {type(grammar.ir.guards[guard]).__name__ for guard in asked}


def walk(grammar: grammars.CompiledGrammar, count: int) -> Counter[str]:
    """Walks by each policy in turn: tokens, roll-backs, how many walks finished, and how many got stuck."""
    figures: Counter[str] = Counter()
    random = Random(0)
    for number in range(count):
        policy = POLICIES[sorted(POLICIES)[number % len(POLICIES)]]
        done = random_walk(grammar.matcher(), random, policy=policy, max_tokens=250)
        figures += Counter(walks=1, tokens=len(done.token_ids), rollbacks=done.num_rollbacks, finished=done.finished)
        figures["stuck"] += not done.finished and len(done.token_ids) < 250
    return figures


def classify(rows: list[dict[str, Any]], walks: int, seconds: float) -> dict[str, list[dict[str, Any]]]:
    """The rows that ask guards by kind of guard, each with the figures of its walks."""
    found: dict[str, list[dict[str, Any]]] = {NAMES_ALONE: [], OTHERS: []}
    for row in rows:
        try:
            with time_limit(seconds):
                grammar = grammars.compile_json_schema(row["schema"], walking_vocabulary())
                asked = guards_asked(grammar)
                if asked:
                    row["guards"] = sorted(asked)
                    row["walks"] = walk(grammar, walks)
                    found[NAMES_ALONE if asked <= {"DistinctNames", "DistinctFewNames"} else OTHERS].append(row)
        except (grammars.GrammarError, TimedOut) as error:
            print(f"{row['name']}: left out: {type(error).__name__}: {error}"[:200], file=sys.stderr)
    return found


def measure(rows: list[dict[str, Any]], names: list[str], repeat: int, seconds: float) -> dict[str, list[Outcome]]:
    """What the engines did with each row."""
    engines = make_engines(names)
    encoding = llama3_encoding()
    for engine in engines:  # machine code, lazy tables: not the subject here
        attempt(engine, WARM_UP, [(True, encoding.encode('{"a": "b"}'))], 600)
    results: dict[str, list[Outcome]] = {engine.name: [] for engine in engines}
    for row in rows:
        texts = [(test["valid"], as_text(row["schema"], test["data"])) for test in row["tests"]]
        tests = [(valid, encoding.encode(text, disallowed_special=())) for valid, text in texts]
        rounds: dict[str, list[Outcome]] = {engine.name: [] for engine in engines}
        for turn in range(repeat):
            for engine in engines if turn % 2 == 0 else engines[::-1]:
                rounds[engine.name].append(attempt(engine, row["schema"], tests, seconds))
        for name, outcomes in rounds.items():
            results[name].append(best_of(outcomes))
    return results


def slowest(rows: list[dict[str, Any]], outcomes: list[Outcome], count: int) -> list[tuple[str, float, list[str]]]:
    """The names of the rows with the longest times between masks, those times in microseconds, and their guards."""
    longest = [
        (row["name"], round(max(one.between, default=0.0), 1), row["guards"])
        for row, one in zip(rows, outcomes, strict=True)
    ]
    return sorted(longest, key=lambda one: -one[1])[:count]


def main() -> None:
    """Run the benchmark from the command line."""
    parser = parser_of_engines(__doc__)
    parser.add_argument("--walks", type=int, default=4, help="random walks a schema")
    parser.add_argument("--seconds", type=float, default=20.0, help="time-out a schema and engine")
    options = parser.parse_args()

    started = time.time()
    for schema in (WARM_UP, {"uniqueItems": True}):  # machine code is made outside the time limit
        walk(grammars.compile_json_schema(schema, walking_vocabulary()), len(POLICIES))
    figures: dict[str, Any] = {}
    for title, rows in classify(
        read_rows(options.data, options.limit, options.seed), options.walks, options.seconds
    ).items():
        names = options.engines.split(",")
        results = measure(rows, names, options.repeat, options.seconds)
        walked = sum((row["walks"] for row in rows), Counter[str]())
        rate = round(1_000 * walked["rollbacks"] / max(walked["tokens"], 1), 2)
        times = report(results, list(range(len(rows))), title)
        print(f"{title}: {rate} roll-backs in 1,000 tokens of {walked['walks']} walks, {walked['stuck']} stuck")
        going_back = Counter({row["name"]: row["walks"]["rollbacks"] for row in rows if row["walks"]["rollbacks"]})
        figures[title] = {
            "schemas": len(rows),
            "guards": Counter(guard for row in rows for guard in row["guards"]),
            "verdicts": {name: Counter(one.verdict for one in outcomes) for name, outcomes in results.items()},
            "times": times,
            "walks": {**walked, "rollbacks_per_1000_tokens": rate, "most": going_back.most_common(8)},
            "slowest": slowest(rows, results["constrained"], 8) if "constrained" in results else [],
        }
    print(json.dumps({**figures, "seconds": round(time.time() - started, 1)}))


if __name__ == "__main__":
    main()
