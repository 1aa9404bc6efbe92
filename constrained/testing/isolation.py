"""Tests in a process of their own: what an engine does to it (a crash, a hang) is an outcome, not an end.

The worker reads one task a line from standard input, as JSON, and answers with one outcome a line on standard output.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import IO, Any

from .faults import Fault, command_for
from .fuzz import Outcome

__all__ = ["Task", "main", "run_isolated"]

_READY = ["ready"]
_START = 600.0
"""Seconds that a worker may take to load its engine: on a busy machine libraries are slow to import."""
_GRACE = 60.0
"""Seconds beyond a task's own limit before its worker is given up: a schema's last step may take long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One language for one engine."""

    subject: str
    kind: str
    text: str
    engine: str
    examples: int
    seed: int = 0
    max_seconds: float = 60.0


def run_isolated(tasks: Iterable[Task], *, grace: float = _GRACE) -> Iterator[Outcome]:
    """The outcomes of tasks, in their order. A worker that dies, or that does not answer in time, is a crash."""
    worker: _Worker | None = None
    try:
        for task in tasks:
            worker = worker if worker is not None and worker.is_alive else _Worker()
            answer = worker.ask(task, seconds=task.max_seconds + grace)
            if isinstance(answer, str):
                worker.end()
                yield _crashed(task, answer)
            else:
                yield answer
    finally:
        if worker is not None:
            worker.end()


def _crashed(task: Task, why: str) -> Outcome:
    command = command_for(
        task.engine, task.kind, task.text, subject=task.subject, seed=task.seed, examples=task.examples
    )
    fault = Fault(
        law="an implementation does not crash",
        expected="an answer",
        got=why,
        engine=task.engine,
        language=task.text,
        seed=task.seed,
        command=command,
    )
    outcome = Outcome(subject=task.subject, engine=task.engine, version="", crashes=1, faults=[fault])
    outcome.seconds = task.max_seconds
    return outcome


class _Worker:
    """A process that runs this module."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "constrained.testing.isolation"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._unread = b""

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, task: Task, *, seconds: float) -> Outcome | str:
        """The outcome, or why there is none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(asdict(task)).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return "the process ended before it was asked"
        answer = self.line(_START)  # the engine is loaded: only then the time runs
        if answer == _READY:
            answer = self.line(seconds)
        return answer if isinstance(answer, str) else _read(answer)

    def line(self, seconds: float) -> Any:
        """What the worker says next, or why it says nothing."""
        assert self.process.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self._unread:  # read by hand: what a file object has buffered is not there to be waited for
            left = max(until - time.monotonic(), 0.0)
            if not select.select([self.process.stdout], [], [], left)[0]:
                return f"no answer in {seconds:.0f} s"
            read = os.read(self.process.stdout.fileno(), 1 << 16)
            if not read:
                code = self.process.wait()
                return f"the process ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}"
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                _close(pipe)


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # what was still to be written to a dead process


def _read(answer: dict[str, Any]) -> Outcome | str:
    if "error" in answer:
        raise ValueError(answer["error"])
    faults = [Fault(**{**fault, "token_ids": tuple(fault["token_ids"])}) for fault in answer.pop("faults")]
    return Outcome(**answer, faults=faults)


def main() -> None:
    """The worker: answers until its input ends. What engines print goes nowhere near the answers."""
    from grammars import GrammarError, warm_up

    from .adapters import Engine, Language, engine_of
    from .fuzz import fuzz
    from .walks import walking_vocabulary

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warm_up()  # values are drawn by our engine, whatever is tested
    engines: dict[str, Engine] = {}
    for line in sys.stdin:
        task = Task(**json.loads(line))
        try:
            if task.engine not in engines:
                engines[task.engine] = engine_of(task.engine, walking_vocabulary())
            answers.write(json.dumps(_READY) + "\n")
            answers.flush()
            outcome = fuzz(
                Language(task.kind, task.text),  # type: ignore[arg-type]
                engines[task.engine],
                subject=task.subject,
                examples=task.examples,
                seed=task.seed,
                max_seconds=task.max_seconds,
            )
            answer = asdict(outcome)
        except (GrammarError, ValueError, ImportError) as error:
            answer = {"error": f"{task.subject}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
