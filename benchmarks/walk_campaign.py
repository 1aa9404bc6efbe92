"""Random walks over the masks of random schemas: dead ends, roll-backs, and the validity of what was finished.

    python -m benchmarks.walk_campaign --tokens 1000000 --seed 0

Schemas come from `constrained.testing.strategies.schemas`: all keywords of all drafts. Each is walked by two policies
(see `constrained.testing.walks`), with a roll-back of one token where nothing is allowed; `jsonschema` judges what
ends. JSON is written in all bounded styles (with ``--whitespace any`` numbers have every spelling, and one that has
begun long may fit no bound any more). A walk that 400 roll-backs do not help is an unrecovered dead end. The last line
is JSON; the exit code is 1 where a finished text is not valid or a dead end was not recovered.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from constrained.testing.judge import AGREED_FORMATS, JsonschemaJudge, formats_of
from constrained.testing.strategies import schemas
from constrained.testing.walks import POLICIES, random_walk, walking_vocabulary
from grammars import GrammarError, UnsatisfiableGrammar, UnsupportedSchema, compile_json_schema

MOST_TOKENS, MOST_ROLL_BACKS = 150, 400
SCHEMAS_A_ROUND = 200
STYLES = ["indent=2", "spaced", "compact", "flexible"]


def drawn(seed: int) -> list[Any]:
    """Schemas, the same for the same seed."""
    found: list[Any] = []

    @seeded(seed)
    @settings(
        max_examples=SCHEMAS_A_ROUND, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(schemas())
    def draw(schema: Any) -> None:
        found.append(schema)

    draw()
    return found


def walk(schema: Any, styles: list[str], random: Random, counts: Counter[str], faults: list[str]) -> None:
    """Two walks over the masks of a schema, written in one of the styles."""
    asserted = formats_of(schema) <= AGREED_FORMATS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grammar = compile_json_schema(
                schema,
                walking_vocabulary(),
                whitespace=random.choice(styles),
                property_order=random.choice(("any", "schema")),  # type: ignore[arg-type]
                formats="assert" if asserted else "annotate",
            )
    except UnsatisfiableGrammar:
        counts["schemas that allow nothing"] += 1
        return
    except (UnsupportedSchema, GrammarError) as error:
        counts[f"refused by name: {type(error).__name__}"] += 1
        return
    counts["schemas"] += 1
    judge = JsonschemaJudge(schema, formats=asserted)
    for policy in random.sample(sorted(POLICIES), 2):
        walked = random_walk(
            grammar.matcher(), random, policy=POLICIES[policy], max_tokens=MOST_TOKENS, max_rollbacks=MOST_ROLL_BACKS
        )
        counts["walks"] += 1
        counts["tokens"] += len(walked.token_ids) + walked.num_rollbacks
        counts["roll-backs"] += walked.num_rollbacks
        counts["finished"] += walked.finished
        if walked.finished and not judge.takes(walked.text, repeated_names=True):
            counts["finished and not valid"] += 1
            faults.append(f"not valid: {json.dumps(schema)}: {walked.text!r}")
        if not walked.finished and len(walked.token_ids) < MOST_TOKENS:
            counts["dead ends that were not recovered"] += 1
            faults.append(f"dead end: {json.dumps(schema)}: {walked.text!r}")


def main() -> None:
    """Walk until there are enough tokens."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whitespace", action="append", help="may be given several times; all bounded ones by default")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    faults: list[str] = []
    started, number = time.perf_counter(), arguments.seed
    while counts["tokens"] < arguments.tokens:
        random = Random(number)
        for schema in drawn(number):
            walk(schema, arguments.whitespace or STYLES, random, counts, faults)
            if counts["tokens"] >= arguments.tokens:
                break
        number += 1
        print(f"{counts['tokens']:,} tokens, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    print(*faults, sep="\n")
    per_thousand = 1000 * counts["roll-backs"] / counts["tokens"]
    print(json.dumps({**counts, "roll-backs per 1,000 tokens": round(per_thousand, 2)}))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
