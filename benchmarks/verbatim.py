"""Strings taken from a document of 100,000 words: compiling, the first mask, and masks within strings.

    python -m benchmarks.verbatim --repeat 5

The document is English prose and program text: the help pages of Python and the sources of its library, as far as they
are needed. JSON objects with strings from random places of it are fed in the tokens of the Llama 3 vocabulary. Times
are the element-wise minimum of ``--repeat`` runs with forgotten masks, compiling that of as many compiles; the first
mask is the one behind the first opening quote, when the document is walked for the first time. No other engine takes
such grammars. The last line is JSON.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import json
import random
import time
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
from rich.console import Console
from rich.table import Table

import grammars
from grammars.ir.verbatim import Unit, unit_bounds

from .engines import llama3_encoding
from .hard_cases import summary
from .llama3_vocabulary import llama3_vocabulary

STRING = {"type": "string", "x-verbatim": "words"}
MODULES = ("argparse", "asyncio.base_events", "ast", "csv", "dataclasses", "datetime", "decimal", "difflib", "doctest",
           "email.message", "enum", "http.client", "inspect", "logging", "mailbox", "optparse", "os", "pathlib", "pdb",
           "pickle", "shutil", "smtplib", "socket", "ssl", "statistics", "subprocess", "tarfile", "threading", "typing",
           "unittest.mock", "uuid", "zipfile")  # fmt: skip


def document(num_words: int) -> str:
    """So many words, separated by white space."""
    from pydoc_data.topics import topics

    parts: Iterator[str] = iter(topics.values())
    text = "\n".join(parts)
    for name in MODULES:
        if len(text.split()) >= num_words:
            break
        text += inspect.getsource(__import__(name, fromlist=["_"]))
    words = text.split()
    if len(words) < num_words:
        raise ValueError(f"expected at most {len(words):,} words, got {num_words:,}")
    end = len(text)
    while len(text[:end].split()) > num_words:  # from behind, word by word, but in large steps first
        surplus = len(text[:end].split()) - num_words
        end -= max(1, surplus)
    return text[:end]


def answers(text: str, by: Unit, count: int) -> Iterator[bytes]:
    """JSON objects whose strings are pieces of the text, of 1 to 80 characters and what is left of the last unit."""
    draw = random.Random(0)
    begins, ends = (np.flatnonzero(bounds) for bounds in unit_bounds(text, by))
    for _ in range(count):
        pieces = []
        for _ in range(6):
            begin = int(draw.choice(begins))
            end = (
                int(ends[np.searchsorted(ends, begin + draw.randrange(80))]) if begin + 80 < ends[-1] else int(ends[-1])
            )
            pieces.append(text[begin : end + 1])
        yield json.dumps({"title": pieces[0], "names": pieces[1:]}, ensure_ascii=False).encode()


def schema(by: Unit) -> dict[str, Any]:
    """An object with a verbatim string and a list of them."""
    string = {**STRING, "x-verbatim": by}
    return {
        "type": "object",
        "properties": {"title": string, "names": {"type": "array", "items": string}},
        "required": ["title", "names"],
        "additionalProperties": False,
    }


def measure(text: str, by: Unit, repeat: int, count: int) -> dict[str, Any]:
    """Figures of one unit; times in microseconds, compiling in milliseconds."""
    vocabulary = llama3_vocabulary()
    clock = time.perf_counter_ns
    compiled, worked, first = [], [], []
    for _ in range(repeat):
        gc.collect()
        started, began = clock(), time.process_time_ns()
        grammar = grammars.compile_json_schema(schema(by), vocabulary, source=text, whitespace="spaced")
        compiled.append((clock() - started) / 1e6)
        worked.append((time.process_time_ns() - began) / 1e6)
        matcher = grammar.matcher()
        bitmask = grammars.allocate_token_bitmask(1, vocabulary.size)
        matcher.consume_bytes(b'{"title": "')
        started = clock()
        matcher.fill_next_token_bitmask(bitmask)
        first.append((clock() - started) / 1e6)
    runs = []
    for _ in range(repeat):
        grammar.forget_bitmasks()
        between: list[float] = []
        for answer in answers(text, by, count):
            matcher = grammar.matcher()
            for token_id in llama3_encoding().encode(answer.decode(), disallowed_special=()):
                started = clock()
                matcher.consume(token_id)
                matcher.fill_next_token_bitmask(bitmask)
                between.append((clock() - started) / 1000)
        runs.append(between)
    network = grammar.machine.network
    held = network.verbatim_states.nbytes + network.verbatim_edges.nbytes
    times = np.min(runs, axis=0)
    return {
        "compile_ms": min(compiled),
        "compile_cpu_ms": min(worked),
        "first_mask_ms": min(first),
        "average": float(times.mean()),
        **summary(times),
        "tokens": len(times),
        "bytes_per_document_byte": held / len(text.encode()),
    }


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    text = document(options.words)
    title = f"Verbatim text of {len(text.split()):,} words, {len(text.encode()):,} bytes; masks in us"
    table = Table(title=title)
    columns = (
        "compile_ms",
        "compile_cpu_ms",
        "first_mask_ms",
        "average",
        "p50",
        "p99",
        "max",
        "tokens",
        "bytes_per_document_byte",
    )
    for column in ("by", *columns):
        table.add_column(column.replace("_", " "), justify="left" if column == "by" else "right")
    results: dict[str, dict[str, Any]] = {}
    for by in get_args(Unit):
        results[by] = row = measure(text, by, options.repeat, options.answers)
        table.add_row(by, *(f"{row[column]:,.1f}" for column in columns))
    Console(width=140).print(table)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
