"""The vocabulary of Llama 3 (128,256 tokens), for benchmarks: fetched once, kept in the user's cache folder.

    from benchmarks.llama3_vocabulary import llama3_vocabulary

The tokens come from the rank file in the PyPI wheel `llama-models` 0.3.0 (Llama 3 Community License), taken by
`pip download --no-deps`; wheel and file are checked by sha256. The environment variable CONSTRAINED_CACHE names another
cache folder. Run as a script, it prints the path of the file and the time that reading it takes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import platformdirs

from grammars.vocabulary import Vocabulary

WHEEL = "llama-models==0.3.0"
WHEEL_SHA256 = "7f77f78ff13fca09f70d76a376aff6414cd901623fb9d57e69c2f8367a73032f"
MEMBER = "llama_models/llama3/tokenizer.model"
MEMBER_SHA256 = "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55"


def llama3_vocabulary() -> Vocabulary:
    """The 128,000 tokens and 256 special ids of Llama 3; the first call downloads 6.6 MB."""
    return Vocabulary.from_tiktoken(llama3_ranks())


def llama3_ranks() -> Path:
    """The path of the rank file, fetched if it is not in the cache."""
    cache = Path(os.environ.get("CONSTRAINED_CACHE") or platformdirs.user_cache_dir("constrained"))
    path = cache / "llama3" / "tokenizer.model"
    if not path.is_file() or _sha256(path.read_bytes()) != MEMBER_SHA256:
        _write_whole(path, _fetch_member())
    return path


def _fetch_member() -> bytes:
    print(f"fetching {WHEEL} (6.6 MB, once)", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, WHEEL]
        subprocess.run(command, check=True, stdout=sys.stderr)
        (wheel,) = Path(folder).glob("*.whl")
        _expect(wheel.read_bytes(), WHEEL_SHA256, wheel.name)
        with zipfile.ZipFile(wheel) as archive:
            member = archive.read(MEMBER)
    _expect(member, MEMBER_SHA256, MEMBER)
    return member


def _write_whole(path: Path, data: bytes) -> None:
    """Write beside the path and rename, so that nobody ever reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    try:
        os.replace(file.name, path)
    except OSError:
        os.unlink(file.name)
        raise


def _expect(data: bytes, sha256: str, name: str) -> None:
    if _sha256(data) != sha256:
        raise RuntimeError(f"{name}: expected sha256 {sha256}, got {_sha256(data)}; refusing to use it")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    path = llama3_ranks()
    start = time.perf_counter()
    vocabulary = Vocabulary.from_tiktoken(path)
    print(f"{path}: {vocabulary!r} read in {(time.perf_counter() - start) * 1000:.0f} ms")


if __name__ == "__main__":
    main()
