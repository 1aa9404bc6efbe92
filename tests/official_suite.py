"""The official JSON Schema test suite: where it is, and how to get it.

python -m tests.official_suite

It travels in the source distribution of the package jsonschema, which pip fetches as a file (the package is neither
installed nor run). Its digest is checked, and the suite's tests and remote documents are unpacked into the user's cache
folder (``$CONSTRAINED_CACHE``), once. A folder of ``$CONSTRAINED_DATA`` comes first, where it has the suite.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from constrained.model.embedded import cache_folder

__all__ = ["WHY_NOT", "find_suite", "require_suite"]

_SDIST = "jsonschema-4.26.0"
_PACKAGE = "jsonschema==4.26.0"
_SHA256 = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
_PARTS = ("LICENSE", "tests", "remotes")
_PIP_SECONDS = 300

WHY_NOT = "the official suite is not here; get it by: python -m tests.official_suite"


def find_suite() -> Path | None:
    """The folder of the suite (it holds ``tests`` and ``remotes``), where there is one."""
    given = os.environ.get("CONSTRAINED_DATA")
    places = [Path(given) / "json-schema-test-suite"] if given else []
    return next((place for place in [*places, _cached()] if (place / "tests").is_dir()), None)


def require_suite() -> Path:
    """The same; fetched if it is not there. Raises RuntimeError with what was tried."""
    found = find_suite()
    if found is None:
        found = _cached()
        found.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{found.name}-", dir=found.parent) as scratch:
            made = _unpacked(_fetched(Path(scratch)), Path(scratch))
            try:
                made.rename(found)
            except OSError:  # another process was faster
                if not (found / "tests").is_dir():
                    raise
    return found


def _cached() -> Path:
    return cache_folder() / "data" / f"json-schema-test-suite-{_SDIST}"


def _fetched(scratch: Path) -> Path:
    """The source distribution in ``scratch``, by the user's own pip and its settings (index, proxy)."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary=jsonschema", "--no-input"]
    command += ["--disable-pip-version-check", "--retries=2", "--quiet", f"--dest={scratch}", _PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_SECONDS, check=False)
    archive = scratch / f"{_SDIST}.tar.gz"
    if done.returncode or not archive.is_file():
        said = "\n    ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise RuntimeError(
            f"the official JSON Schema test suite could not be fetched.\n  tried: {' '.join(command[1:])}\n"
            f"  got: pip ended with code {done.returncode}:\n    {said}\n  what to do: connect to a package index; or "
            "put the suite's tests and remotes into $CONSTRAINED_DATA/json-schema-test-suite"
        )
    return archive


def _unpacked(archive: Path, scratch: Path) -> Path:
    """The parts that the tests read, in a folder inside ``scratch``."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != _SHA256:
        raise RuntimeError(f"{archive.name}: its sha256 is {digest}, expected {_SHA256}; it is not what it says")
    made = scratch / "made"
    made.mkdir()
    with tarfile.open(archive) as file:
        file.extractall(scratch / "all", filter="data")
    for part in _PARTS:
        shutil.move(scratch / "all" / _SDIST / "json" / part, made / part)
    return made


if __name__ == "__main__":
    try:
        print(f"the official JSON Schema test suite: {require_suite()}", file=sys.stderr)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        sys.exit(str(error))
