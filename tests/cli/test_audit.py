"""``constrained audit``, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run


def test_an_audit_tells_that_nothing_differs(run: Run, tiny_model: Path) -> None:
    shown = run("audit", "-m", str(tiny_model), "--tokens", "20")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[-1] == "invariant"
    assert "time, invariant to native: decode of 1 " in shown.stdout
    told = json.loads(run("audit", "-m", str(tiny_model), "--tokens", "20", "--weights", "int8", "--json").stdout)
    assert told["invariant"]["is_invariant"]
    assert told["native"] is None
