"""The command as a process: start-up, pipes, signals, terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import Run, command

PATIENCE = 240  # seconds: the first run of all compiles kernels, on a machine that may be busy
FIELDS = "paid: bool, size: 'small' | 'large'"
MANY = "".join(f'{{"text": "order {number}"}}\n' for number in range(500))


@pytest.fixture
def extract_many(tiny_model: Path, tmp_path: Path) -> list[str]:
    """The command line that extracts from 500 documents."""
    (tmp_path / "many.jsonl").write_text(MANY, encoding="utf-8")
    return command(["extract", str(tmp_path / "many.jsonl"), "--fields", FIELDS, "--model", str(tiny_model)])


def test_help_and_usage_errors_import_nothing_heavy() -> None:
    code = """
import sys
from click.testing import CliRunner
from constrained_cli.main import cli
for arguments in (["--help"], ["extract", "--help"], ["generate", "--help"], ["extract", "x"], ["--version"]):
    CliRunner().invoke(cli, arguments)
heavy = {"torch", "numba", "numpy", "transformers", "pydantic", "rich"} & set(sys.modules)
sys.exit(f"imported: {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_schema_is_refused_before_torch_is_imported() -> None:
    code = """
import sys
from click.testing import CliRunner
from constrained_cli.main import cli
result = CliRunner().invoke(cli, ["extract", "x", "--schema", '{"$ref": "https://no.example/a"}'])
sys.exit(result.output if result.exit_code != 2 or "torch" in sys.modules else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout.startswith("constrained, version 0.")
    assert "extract" in run("--help").stdout


@pytest.mark.parametrize(
    ("redirection", "exit_code", "message"),
    [(">&-", 1, "standard output is closed"), ("> /dev/full", 1, "No space left on device"), ("2>&-", 0, "")],
)
def test_streams_that_take_nothing_end_it_without_a_traceback(
    tiny_model: Path, tmp_path: Path, redirection: str, exit_code: int, message: str
) -> None:
    (tmp_path / "a.txt").write_text("An order.", encoding="utf-8")
    line = shlex.join(command(["extract", str(tmp_path / "a.txt"), "--fields", FIELDS, "--model", str(tiny_model)]))
    done = subprocess.run(["bash", "-c", f"{line} {redirection}"], capture_output=True, text=True, check=False)
    assert done.returncode == exit_code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_module_that_prints_does_not_spoil_the_output(tiny_model: Path, tmp_path: Path) -> None:
    source = """
import os, sys
from pydantic import BaseModel
print("one")
os.write(1, b"two\\n")
os.system("echo three")

class Answer(BaseModel):
    paid: bool

    def model_post_init(self, context):
        os.write(1, b"four\\n")
"""
    (tmp_path / "printing_types.py").write_text(source, encoding="utf-8")
    arguments = ["extract", "-", "--schema", "printing_types:Answer", "--model", str(tiny_model)]
    done = subprocess.run(
        command(arguments), input="An order.", cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)) == ["paid"]
    assert {"one", "two", "three", "four"} <= set(done.stderr.split())


def document(number: int) -> bytes:
    return f'{{"text": "order {number}"}}\n'.encode()


def hear_interrupts() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def extract_fed(tiny_model: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command, reading JSON Lines from a pipe that the test feeds: it waits whenever the test wants it to."""
    arguments = ["extract", "-", "--text-field", "text", "--fields", FIELDS, "--model", str(tiny_model)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command(arguments), bufsize=0, preexec_fn=hear_interrupts, **pipes) as process:
        yield process
        process.kill()


def test_a_closed_pipe_ends_it_quietly(extract_fed: subprocess.Popen[bytes]) -> None:
    assert extract_fed.stdin is not None
    assert extract_fed.stdout is not None
    assert extract_fed.stderr is not None
    extract_fed.stdin.write(document(0))
    first = extract_fed.stdout.readline()
    extract_fed.stdout.close()
    extract_fed.stdin.write(document(1))
    assert list(json.loads(first)) == ["paid", "size"]
    assert extract_fed.stderr.read() == b""
    assert extract_fed.wait(timeout=PATIENCE) == 141


def test_an_interrupt_keeps_what_was_finished(extract_fed: subprocess.Popen[bytes]) -> None:
    assert extract_fed.stdin is not None
    assert extract_fed.stdout is not None
    assert extract_fed.stderr is not None
    for number in range(3):
        extract_fed.stdin.write(document(number))
    lines = [extract_fed.stdout.readline() for _ in range(3)]
    extract_fed.send_signal(signal.SIGINT)
    messages = extract_fed.stderr.read()
    assert extract_fed.wait(timeout=PATIENCE) == 130
    assert all(json.loads(line) for line in lines)
    assert extract_fed.stdout.read() == b""
    assert messages.decode() == "interrupted; 3 documents were finished and are written\n"


def test_a_killed_process_leaves_the_finished_lines_in_its_file(extract_many: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    process = subprocess.Popen([*extract_many, "--out", str(out)])
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not (out.exists() and out.read_bytes().count(b"\n") >= 3):
        time.sleep(0.02)
    process.kill()
    process.wait(timeout=PATIENCE)
    lines = out.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 3
    assert all(json.loads(line) for line in lines)


@pytest.mark.parametrize("results_too", [False, True], ids=["stderr", "stdout and stderr"])
def test_a_bar_is_drawn_on_a_terminal_and_results_are_whole_lines(
    tiny_model: Path, tmp_path: Path, results_too: bool
) -> None:
    (tmp_path / "a.txt").write_text("An order.", encoding="utf-8")
    leader, follower = pty.openpty()
    files = [str(tmp_path / "a.txt"), str(tmp_path / "gone.txt"), str(tmp_path / "a.txt")]
    process = subprocess.Popen(
        command(["extract", *files, "--fields", FIELDS, "--model", str(tiny_model)]),
        stdout=follower if results_too else subprocess.PIPE,
        stderr=follower,
    )
    os.close(follower)
    with ThreadPoolExecutor(1) as reader:  # nothing may wait for the terminal to be read
        screen_read = reader.submit(_read_all, leader)
        out, _ = process.communicate(timeout=PATIENCE)
        screen = screen_read.result(timeout=PATIENCE)
    assert process.returncode == 1
    assert "gone.txt: No such file or directory" in screen
    assert "/3" in screen
    written = _shown_lines(screen) if results_too else out.decode().splitlines()
    values = [json.loads(line) for line in written if line.startswith("{")]
    assert [list(value) for value in values] == [["paid", "size"]] * 2


def _shown_lines(screen: str) -> list[str]:
    """What stays on the terminal: lines without the sequences that move the cursor and erase."""
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rpartition("\r")[2] for line in screen.split("\r\n")]


def _read_all(descriptor: int) -> str:
    data = b""
    while True:
        try:
            piece = os.read(descriptor, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        data += piece
    os.close(descriptor)
    return data.decode()
