"""The front door of ``grammars``: every public name is there, and none costs anything before it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import grammars


def test_every_public_name_is_there() -> None:
    for name in grammars.__all__:
        assert name == "DEFAULT_LIMITS" or getattr(grammars, name).__name__ == name
    assert set(grammars.__all__) <= set(dir(grammars))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = grammars.nothing


def test_no_module_has_the_name_of_something_public() -> None:
    folder = Path(grammars.__file__).parent
    assert not {path.stem for path in folder.iterdir()} & set(grammars.__all__)


def test_lowering_a_schema_imports_no_kernels() -> None:
    code = """
import sys
import grammars
before = {"numpy", "numba"} & set(sys.modules)
from grammars.frontends.json_schema import lower_json_schema
lower_json_schema({"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-z]+$"}}})
sys.exit(f"imported: {before}" if before else "numba is imported" if "numba" in sys.modules else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
