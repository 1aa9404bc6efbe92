"""Grammars that bring mask engines down: compile and first mask, time between masks, and whether it stays flat.

    python -m benchmarks.hard_cases --engines constrained,llguidance,xgrammar --seconds 60 --repeat 3

The Llama 3 vocabulary; every engine on one thread. A time-out can be kept only by ending a process (compiled code
listens to no signal), so each engine runs in a process of its own, and they take turns, one at a time; what warms up
(machine code, vocabulary tables) is done before. Times are the element-wise minimum of ``--repeat`` fresh compiles.
``flat`` is the median time between masks in the last quarter of the text, divided by that in the first quarter. Where
an engine does not come to the end of the text, our share of its times is taken over the tokens that it came to. The
last line is JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from grammars.automaton.memory import NUM_CONFIGURATIONS, NUM_STACKS, NUM_STATES

from .engines import ENGINES, Engine, OurSession, Refused, Session, llama3_encoding
from .hard_grammars import CASES, HardCase
from .llama3_vocabulary import llama3_vocabulary

START_SECONDS = 300  # imports, vocabulary tables, compiling kernels
GRACE_SECONDS = 5  # between tokens an engine stops by itself; inside a call it must be ended


@dataclass
class Timing:
    """One engine on one case: times in microseconds, sizes of our machine."""

    verdict: str  # passed, refused, timed out, crashed, stopped (a token or the end of the text was refused)
    first: float = 0.0
    between: list[float] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    reason: str = ""


def token_ids_of(case: HardCase) -> list[int]:
    """The text of a case in tokens."""
    if case.byte_by_byte:
        single = {token: token_id for token_id, token in enumerate(llama3_vocabulary().tokens) if token}
        return [single[bytes([byte])] for byte in case.text]
    return list(llama3_encoding().encode(case.text.decode(), disallowed_special=()))


def measure(engine: Engine, case: HardCase, token_ids: list[int], seconds: float) -> Timing:
    """Compile once and feed the text."""
    clock = time.perf_counter_ns
    gc.collect()
    started = clock()
    deadline = started + int(seconds * 1e9)
    try:
        session = case.compile(engine)
        session.fill()
    except Refused as error:
        return Timing("refused", reason=str(error).split("\n")[0][:200])
    timing = Timing("passed", first=(clock() - started) / 1000)
    for number, token_id in enumerate(token_ids):
        started = clock()
        try:
            consumed = session.consume(token_id)
            if consumed:
                session.fill()
        except Exception as error:  # how an engine gives up in the middle is a result here, and is printed
            timing.verdict, timing.reason = "stopped", f"at token {number}: {type(error).__name__}: {error}"[:200]
            return timing
        if not consumed:
            timing.verdict, timing.reason = "stopped", f"token {number} of {len(token_ids)} was refused"
            return timing
        timing.between.append((clock() - started) / 1000)
        if clock() > deadline:
            timing.verdict, timing.reason = "timed out", f"{seconds:g} s, at token {number} of {len(token_ids)}"
            return timing
    timing.sizes = sizes_of(session)
    if not session.accepts_end():
        timing.verdict, timing.reason = "stopped", "the text is not complete"
    return timing


def sizes_of(session: Session) -> dict[str, int]:
    """How large our machine grew; nothing for peers."""
    if not isinstance(session, OurSession):
        return {}
    memory = session.compiled.machine.memory
    words = {"states": NUM_STATES, "configurations": NUM_CONFIGURATIONS, "stack sets": NUM_STACKS}
    return {name: int(memory[word]) for name, word in words.items()}


def work(name: str, connection: Connection) -> None:
    """The process of one engine: case numbers and time-outs in, timings out."""
    engine = ENGINES[name](llama3_vocabulary())
    warm_up = engine.compile({"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}}})
    warm_up.fill()
    for token_id in llama3_encoding().encode('{"a": "b"'):
        warm_up.consume(token_id)
        warm_up.fill()
    connection.send("ready")
    while True:
        number, seconds = connection.recv()
        connection.send(measure(engine, CASES[number], token_ids_of(CASES[number]), seconds))


class Worker:
    """Runs one engine in a process, which a time-out or a crash ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.process: BaseProcess | None = None
        self.connection: Connection

    def run(self, case: int, seconds: float) -> Timing:
        """One measurement; starts a process where there is none."""
        if self.process is None:
            self.start()
        self.connection.send((case, seconds))
        try:
            if self.connection.poll(seconds + GRACE_SECONDS):
                timing: Timing = self.connection.recv()
                return timing
        except EOFError:
            self.stop()
            return Timing("crashed", reason="the process ended")
        self.stop()
        return Timing("timed out", reason=f"more than {seconds:g} s in one call")

    def start(self) -> None:
        """Start the process and wait until it is warm."""
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(self.name, theirs), daemon=True)
        self.process.start()
        theirs.close()
        if not self.connection.poll(START_SECONDS):
            raise TimeoutError(f"{self.name}: not ready after {START_SECONDS} s")
        self.connection.recv()

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None


def best_of(timings: list[Timing]) -> Timing:
    """The element-wise minimum of several runs, as far as all of them came."""
    best = timings[-1]
    count = min(len(timing.between) for timing in timings)
    if all(timing.first for timing in timings):
        best.first = min(timing.first for timing in timings)
        best.between = np.min([timing.between[:count] for timing in timings], axis=0).tolist()
    return best


def figures_of(timing: Timing) -> dict[str, Any]:
    """What is reported of one engine on one case; times in microseconds."""
    figures = asdict(timing)
    between = np.array(figures.pop("between"))
    figures["count"] = len(between)
    if len(between):
        quarter = max(1, len(between) // 4)
        flat = np.median(between[-quarter:]) / np.median(between[:quarter])
        figures.update(summary(between), total=float(between.sum()), flat=float(flat))
    return figures


def summary(between: npt.NDArray[np.float64]) -> dict[str, float]:
    """Percentiles and maximum."""
    p50, p99, largest = np.percentile(between, (50, 99, 100))
    return {"p50": float(p50), "p99": float(p99), "max": float(largest)}


def shares(ours: Timing, theirs: Timing) -> dict[str, float]:
    """Our times divided by a peer's, over the tokens that both came to."""
    parts = {"first": ours.first / theirs.first} if ours.first and theirs.first else {}
    count = min(len(ours.between), len(theirs.between))
    if count:
        mine, other = summary(np.array(ours.between[:count])), summary(np.array(theirs.between[:count]))
        parts.update({key: mine[key] / other[key] for key in mine})
    return {key: round(value, 4) for key, value in parts.items()}


def add_rows(table: Table, case: HardCase, figures: dict[str, dict[str, Any]]) -> None:
    """The lines of one case, one an engine."""
    for number, (name, row) in enumerate(figures.items()):
        cells = [case.name if not number else "", name, f"{row['first'] / 1000:,.2f}" if row["first"] else "-"]
        cells += [f"{row[key]:,.1f}" if key in row else "-" for key in ("p50", "p99", "max")]
        cells.append(f"{row['flat']:.2f}" if "flat" in row else "-")
        cells.append(" ".join(f"{share:.3f}" for share in row.get("our share", {}).values()))
        sizes = ", ".join(f"{count:,} {what}" for what, count in row["sizes"].items())
        verdict = f"{row['verdict']}: {row['reason'][:70]}" if row["reason"] else row["verdict"]
        table.add_row(*cells, f"{verdict}; {sizes}" if sizes else verdict)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--engines", default="constrained,llguidance,xgrammar", help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--cases", default="", help="only those whose name contains one of these, separated by ';'")
    parser.add_argument("--seconds", type=float, default=60.0, help="time-out of one engine on one case")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    workers = [Worker(name) for name in options.engines.split(",")]
    parts = options.cases.split(";")
    table = Table(title="Hard cases: first mask in ms (compiling included), between masks in us")
    for column in ("case", "engine", "first", "p50", "p99", "max", "flat", "our share: first p50 p99 max", "result"):
        table.add_column(column, justify="right" if column in ("first", "p50", "p99", "max", "flat") else "left")
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for number, case in enumerate(CASES):
        if not any(part in case.name for part in parts):
            continue
        rounds: dict[str, list[Timing]] = {worker.name: [] for worker in workers}
        for _ in range(options.repeat):
            for worker in workers:
                if not rounds[worker.name] or rounds[worker.name][-1].verdict != "timed out":
                    rounds[worker.name].append(worker.run(number, options.seconds))
        best = {name: best_of(timings) for name, timings in rounds.items()}
        results[case.name] = {name: figures_of(timing) for name, timing in best.items()}
        for name in best:
            if "constrained" in best and name != "constrained":
                results[case.name][name]["our share"] = shares(best["constrained"], best[name])
        add_rows(table, case, results[case.name])
        print(f"{case.name}: {' '.join(timings[-1].verdict for timings in rounds.values())}", file=sys.stderr)
    for worker in workers:
        worker.stop()
    Console(width=200).print(table)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
