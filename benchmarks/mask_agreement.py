"""Are our token bitmasks llguidance's? Every difference must have a cause with a name.

    python -m benchmarks.mask_agreement --positions 10000

Valid instances of MaskBench schemas that both engines take are written in a layout that both can be asked for, and fed
to both token by token; at sampled positions the bitmasks are compared bit by bit. How a difference gets its cause is
told in `mask_differences.py`. Exits with 1 if one has none, or if fewer than half of the positions agree in every bit.
The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grammars import allowed_token_ids

from .engines import Refused
from .followers import SEPARATORS, Lab
from .mask_differences import UNEXPLAINED, Difference, Explainer
from .mask_documents import Position
from .masks import read_rows
from .schema_order import in_schema_order


@dataclass
class Tally:
    """What was compared, and what came of it."""

    counts: Counter[str] = field(default_factory=Counter)
    by_cause: Counter[str] = field(default_factory=Counter)  # positions at which a cause was met
    examples: dict[str, list[Difference]] = field(default_factory=dict)

    def note(self, differences: list[Difference]) -> None:
        """Add one position."""
        self.counts["positions"] += 1
        self.counts["equal"] += not differences
        for cause in {difference.cause for difference in differences}:
            self.by_cause[cause] += 1
        for difference in differences:
            self.examples.setdefault(difference.cause, []).append(difference)


class Comparison:
    """Compares one schema after the other."""

    def __init__(self, *, per_schema: int, seed: int) -> None:
        self.lab = Lab()
        self.explainer = Explainer(self.lab)
        self.tally = Tally()
        self.per_schema = per_schema
        self.random = random.Random(seed)

    def compare_schema(self, row: dict[str, Any], layout: str) -> None:
        """Compare at sampled positions of the schema's valid instances."""
        schema = row["schema"]
        try:
            ours, theirs = self.lab.ours(schema, layout), self.lab.theirs(schema, layout)
        except Refused:
            self.tally.counts["schemas refused by either"] += 1
            return
        self.tally.counts["schemas compared"] += 1
        texts = [self.text_of(schema, test["data"], layout) for test in row["tests"] if test["valid"]]
        instances = [self.lab.encoding.encode(text, disallowed_special=()) for text in texts]
        places = [(i, at) for i, token_ids in enumerate(instances) for at in range(len(token_ids) + 1)]
        chosen = set(self.random.sample(places, min(self.per_schema, len(places))))
        for index, token_ids in enumerate(instances):
            start = Position(
                schema, row["name"], layout, token_ids, b"", texts[index].encode(), ours.fork(), theirs.fork()
            )
            self.follow(start, {at for i, at in chosen if i == index})
        self.explainer.forget()

    def text_of(self, schema: Any, instance: Any, layout: str) -> str:
        """The instance as both engines write it: keys in the schema's order."""
        ordered = in_schema_order(schema, instance)
        return json.dumps(ordered, ensure_ascii=False, separators=SEPARATORS[layout])

    def follow(self, position: Position, chosen: set[int]) -> None:
        """Walk one instance; compare where chosen, and where either engine refuses the next token."""
        for at in range(len(position.token_ids) + 1):
            token_id = position.token_ids[at] if at < len(position.token_ids) else None
            if at in chosen:
                self.tally.note(self.differences(position))
            if token_id is None:
                return
            taken = position.ours.consume(token_id), position.theirs.consume(token_id)
            if taken != (True, True):
                self.tally.counts["instances left early"] += 1
                return
            token = self.lab.vocabulary.tokens[token_id] or b""
            position.text += token
            position.rest = position.rest[len(token) :]

    def differences(self, position: Position) -> list[Difference]:
        """All ways in which the bitmasks differ here."""
        ours, theirs = position.ours.bitmask(), position.theirs.bitmask()
        found: list[Difference] = []
        if position.theirs.gave_up:
            cause = f"llguidance gave up: {position.theirs.gave_up.splitlines()[0][:60]}"
            return [Difference(position.schema_name, position.layout, "", position.text, b"", cause=cause)]
        for wider, more in ((position.ours.name, ours & ~theirs), (position.theirs.name, theirs & ~ours)):
            token_ids = [int(token_id) for token_id in allowed_token_ids(more)]
            found.extend(self.explainer.explain(position, wider, token_ids))
        return found


def report(tally: Tally, examples: int) -> None:
    """Print what was found."""
    counts = tally.counts
    share = counts["equal"] / max(1, counts["positions"])
    print(", ".join(f"{count:,} {what}" for what, count in counts.items()), f"({share:.1%} of positions equal)")
    table = Table(title="Differences by cause")
    for column in ("cause", "positions", "example"):
        table.add_column(column, justify="right" if column == "positions" else "left", overflow="fold")
    for cause, number in tally.by_cause.most_common():
        first = tally.examples[cause][0]
        table.add_row(
            escape(cause), f"{number:,}", escape(f"{first.before[-30:]!r} + {first.added!r} ({first.schema_name})")
        )
    Console(width=160).print(table)
    for difference in tally.examples.get(UNEXPLAINED, [])[:examples]:
        print(difference)


def main() -> None:
    """Run the comparison from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    folder = os.environ.get("CONSTRAINED_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(folder) / "maskbench_dev.jsonl.gz")
    parser.add_argument("--positions", type=int, default=10_000)
    parser.add_argument("--per-schema", type=int, default=20, help="positions sampled of one schema")
    parser.add_argument("--layouts", default="compact,spaced", help=f"in turn, of {', '.join(SEPARATORS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=20, help="unexplained differences to print")
    options = parser.parse_args()

    rows = read_rows(options.data, None, options.seed)
    random.Random(options.seed).shuffle(rows)
    layouts = options.layouts.split(",")
    comparison = Comparison(per_schema=options.per_schema, seed=options.seed)
    tally = comparison.tally
    for number, row in enumerate(rows):
        comparison.compare_schema(row, layouts[number % len(layouts)])
        if sys.stderr.isatty():
            print(f"\r{tally.counts['positions']}/{options.positions}", end="", file=sys.stderr)
        if tally.counts["positions"] >= options.positions:
            break
    report(tally, options.examples)
    print(json.dumps({**tally.counts, "causes": dict(tally.by_cause)}))
    enough = 2 * tally.counts["equal"] >= tally.counts["positions"]
    if tally.by_cause[UNEXPLAINED] or not enough or tally.counts["positions"] < options.positions:
        sys.exit(1)


if __name__ == "__main__":
    main()
