"""Bitmasks of a batch of 256 rows in different states, each needing a walk, by one thread and by two.

    python -m benchmarks.batch                     # 256 rows, the Llama-3 vocabulary
    python -m benchmarks.batch --rows 64 --threads 4 --rounds 9

Every row stands in another state of one large grammar, and all cached bitmasks are dropped before each round. The last
line is one JSON object; ``speed_up`` is the median over the rounds of the time of one thread to that of several.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Sequence

import grammars

from .llama3_vocabulary import llama3_vocabulary

__all__ = ["main"]


def different_states(grammar: grammars.CompiledGrammar, rows: int, seed: int) -> list[grammars.Matcher]:
    """Matchers that stand in ``rows`` different configurations, along one random walk over bytes."""
    generator = random.Random(seed)
    found: dict[int, grammars.Matcher] = {}
    matcher = grammar.matcher()
    while len(found) < rows:
        choices = [byte for byte in range(32, 127) if matcher.fork().consume_bytes(bytes([byte]))]
        matcher.consume_bytes(bytes([generator.choice(choices)]))
        found.setdefault(matcher.configuration, matcher.fork())
    return list(found.values())


def measure(grammar: grammars.CompiledGrammar, matchers: Sequence[grammars.Matcher], threads: int) -> float:
    """Seconds to fill all rows, none of whose bitmasks is known."""
    bitmask = grammars.allocate_token_bitmask(len(matchers), grammar.vocabulary.size)
    with grammars.BatchFiller(threads=threads) as filler:
        filler.fill(matchers, bitmask)  # the threads' own machines are made, and their transitions computed
        grammar.forget_bitmasks()
        started = time.perf_counter()
        filler.fill(matchers, bitmask)
        return time.perf_counter() - started


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    pattern = "(([a-m][a-z]+[0-9]*[ ,;]|[n-z]x?[a-z]+)[.]){1,400}"
    grammar = grammars.compile_regex(pattern, llama3_vocabulary())
    matchers = different_states(grammar, options.rows, options.seed)
    rounds = []
    for _ in range(options.rounds):
        alone, together = (measure(grammar, matchers, threads) for threads in (1, options.threads))
        rounds.append((alone, together))
        print(f"one thread {1e3 * alone:.1f} ms, {options.threads} threads {1e3 * together:.1f} ms", flush=True)
    figures = {
        "benchmark": "batch",
        "rows": options.rows,
        "threads": options.threads,
        "one_thread_ms": round(1e3 * statistics.median(alone for alone, _ in rounds), 2),
        "threads_ms": round(1e3 * statistics.median(together for _, together in rounds), 2),
        "speed_up": round(statistics.median(alone / together for alone, together in rounds), 2),
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
