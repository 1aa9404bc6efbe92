"""One spelling for each value, so that equal values have equal digests; and files that appear whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["DIGEST", "canonical_text", "digest_of_bytes", "digest_of_value", "write_atomically"]

DIGEST = "blake2b-256"
"""The digest of files and of records."""


def canonical_text(value: Any) -> str:
    """JSON with sorted names, no blanks, and nothing but ASCII.

    >>> canonical_text({"b": [1, 0.5], "a": "é"})
    '{"a":"\\\\u00e9","b":[1,0.5]}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def digest_of_bytes(parts: Iterable[bytes | memoryview]) -> str:
    """64 hexadecimal digits of the parts, one after the other."""
    hasher = hashlib.blake2b(digest_size=32)
    for part in parts:
        hasher.update(part)
    return hasher.hexdigest()


def digest_of_value(value: Any) -> str:
    """That of the canonical text."""
    return digest_of_bytes([canonical_text(value).encode()])


def write_atomically(path: Path, text: str) -> None:
    """Put a file in place by one rename: it is whole, or what was there stays. Its folder must exist."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    """What the process takes away from the rights of new files; there is no way to read it but to set it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
