"""The tables of a large vocabulary, kept on disk: reading them takes a tenth of the time that building takes.

One file a vocabulary, named by its digest: a line of header, then the words as they are in memory. The header holds the
digest of the words, so a damaged file, or one of another version, is built again and never used.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..ir.nodes import Int32Array
from .tables import build_tables

__all__ = ["cache_folder", "load_tables", "store_tables", "tables_of"]

FORMAT = "constrained-tables-3"
"""Raise the number when the layout of the tables changes."""

SMALLEST_CACHED = 10_000
"""Tables of fewer tokens are built in milliseconds."""


def cache_folder() -> Path:
    """``CONSTRAINED_CACHE``, else the user's own cache folder."""
    chosen = os.environ.get("CONSTRAINED_CACHE")
    if chosen:
        return Path(chosen) / "tables"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "constrained" / "tables"


def _header(words: Int32Array) -> bytes:
    digest = hashlib.sha256(words.tobytes()).hexdigest()
    return f"{FORMAT} {np.dtype(np.int32).newbyteorder('=').str} {len(words)} {digest}\n".encode()


def load_tables(digest: str) -> Int32Array | None:
    """The tables of the vocabulary with this digest, if they were stored and are undamaged."""
    try:
        data = (cache_folder() / digest).read_bytes()
    except OSError:
        return None
    header, _, body = data.partition(b"\n")
    if len(body) % 4 or not header.startswith(FORMAT.encode()):
        return None
    words = np.frombuffer(bytearray(body), np.int32)
    return words if _header(words) == header + b"\n" else None


def store_tables(digest: str, words: Int32Array) -> None:
    """Keep the tables for the next process; a folder that cannot be written is no fault, only slower next time."""
    folder = cache_folder()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_header(words))
                file.write(words.tobytes())
            os.replace(name, folder / digest)  # whole or not at all: other processes read it meanwhile
        except OSError:
            os.unlink(name)
            raise


def tables_of(tokens: Sequence[bytes | None], eos_token_ids: Sequence[int], digest: str) -> Int32Array:
    """The tables of tokens that ``digest`` names: from disk, or built, and kept if they are large."""
    if len(tokens) < SMALLEST_CACHED:
        return build_tables(tokens, eos_token_ids)
    words = load_tables(digest)
    if words is None:
        words = build_tables(tokens, eos_token_ids)
        store_tables(digest, words)
    return words
