"""The Triton kernels under Triton's interpreter, held against tensor operations.

The interpreter is chosen when Triton is imported, so the tests run in a process of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("interpreted.py")


@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed (it comes for x86-64 Linux)")
@pytest.mark.parametrize("kernel", ["attention", "mask"])
def test_kernels_agree_with_tensor_operations(kernel: str) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), kernel],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("agreed on")
