"""Rendering: one line a value, nothing of it changed."""

from __future__ import annotations

import io
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from constrained_cli.interrupts import interrupt_deferred
from constrained_cli.render import LineWriter, Reporter, compact_json
from hypothesis import given
from hypothesis import strategies as st

JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON_VALUES, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_compact_json_only_drops_whitespace_between_tokens(value: Any, indent: Any, ascii_only: bool) -> None:
    written = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert compact_json(written) == json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only)


def test_numbers_and_escapes_stay_as_they_were_written() -> None:
    text = '{ "a" : [1.50, 1e5, 123456789012345678901234567890.0] ,\n "b": "\\u00e9 \\" \\\\" }'
    assert compact_json(text) == '{"a":[1.50,1e5,123456789012345678901234567890.0],"b":"\\u00e9 \\" \\\\"}'


def test_a_file_is_replaced_with_the_first_line_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old\n", encoding="utf-8")
    stdout = io.BytesIO()
    with LineWriter(stdout, path=path):
        pass
    assert path.read_text(encoding="utf-8") == "old\n"
    with LineWriter(stdout, path=path) as writer:
        writer.write("é1")
        assert path.read_text(encoding="utf-8") == "é1\n"
        writer.write("2")
    assert path.read_text(encoding="utf-8") == "é1\n2\n"
    assert stdout.getvalue() == b""
    with LineWriter(stdout) as writer:
        writer.write("é1")
    assert stdout.getvalue() == "é1\n".encode()


def test_messages_go_to_stderr_and_no_bar_is_drawn_off_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with Reporter(total=2, results=io.BytesIO()) as reporter:
        reporter.begin("[bold]a[/bold]")
        reporter.say("a: [no] markup")
        reporter.finish_one()
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == "a: [no] markup\n"


def test_an_interrupt_waits_for_the_end_of_the_block_and_a_second_one_does_not() -> None:
    steps: list[str] = []

    def work(times: int) -> None:
        with interrupt_deferred():
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
            steps.append("finished")
        steps.append("after")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        work(1)
    assert steps == ["finished"]
    with pytest.raises(KeyboardInterrupt):
        work(2)
    assert steps == ["finished"]
    work(0)
    assert steps == ["finished", "finished", "after"]
    assert signal.getsignal(signal.SIGINT) is before
