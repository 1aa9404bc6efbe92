"""Which sequence of draws belongs to what: by the thing itself, never by its place in a batch."""

from __future__ import annotations

import hashlib

__all__ = ["sample_stream", "stream_of_document"]


def stream_of_document(document: str) -> int:
    """The stream of a document: a hash of its text, so that it is drawn alike alone and among others.

    >>> stream_of_document("tea") == stream_of_document("tea") != stream_of_document("coffee")
    True
    """
    return int.from_bytes(hashlib.blake2b(document.encode(), digest_size=8, person=b"document").digest(), "little")


def sample_stream(base: int, *, sample: int, attempt: int) -> int:
    """The stream of one of several samples, and of its later attempts.

    >>> sample_stream(0, sample=3, attempt=0)
    3
    """
    return (base + sample + (attempt << 32)) % 2**64
