"""The key of a watermark: a secret from a file or an environment variable, never a default.

Whoever has it can find the marks, and forge them.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ..errors import WatermarkKeyError

__all__ = ["WatermarkKey"]

_LEAST_DIGITS, _MOST_DIGITS = 32, 128
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]+")
_NUMBER = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class WatermarkKey:
    """A secret of 16 to 64 bytes; its text is that many bytes in hexadecimal digits.

    A whole number of up to 19 digits is a key too, for ``lefthash`` only: it is transformers' ``hashing_key``.

    >>> key = WatermarkKey.from_text("00112233445566778899aabbccddeeff")
    >>> key.key_id
    'ae9fab59'
    >>> "0011" in repr(key)
    False
    """

    secret: bytes = field(repr=False)
    number: int | None = field(default=None, repr=False)

    @classmethod
    def generate(cls) -> Self:
        """A new key of 32 random bytes."""
        return cls(secrets.token_bytes(32))

    @classmethod
    def from_text(cls, text: str, *, where: str = "the key") -> Self:
        """From its text. Raises :class:`~constrained.errors.WatermarkKeyError`, without the text, if that is none."""
        digits = text.strip()
        if _NUMBER.fullmatch(digits):
            return cls(digits.encode(), int(digits))
        is_whole = _HEXADECIMAL.fullmatch(digits) and len(digits) % 2 == 0
        if not is_whole or not _LEAST_DIGITS <= len(digits) <= _MOST_DIGITS:
            raise WatermarkKeyError(
                f"{where}: expected {_LEAST_DIGITS} to {_MOST_DIGITS} hexadecimal digits, an even number of them, got "
                f"{len(digits)} characters; `constrained watermark keygen` makes a key"
            )
        return cls(bytes.fromhex(digits))

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """From a text file that holds the key and nothing else."""
        try:
            text = Path(path).read_text(encoding="ascii")
        except OSError as error:
            raise WatermarkKeyError(
                f"the watermark's key file {str(path)!r} cannot be read: {error.strerror or error}; "
                "`constrained watermark keygen` makes one"
            ) from error
        except UnicodeDecodeError:
            raise WatermarkKeyError(f"the watermark's key file {str(path)!r}: expected hexadecimal digits") from None
        return cls.from_text(text, where=f"the watermark's key file {str(path)!r}")

    @classmethod
    def from_environment(cls, name: str) -> Self:
        """From an environment variable."""
        text = os.environ.get(name)
        if text is None:
            raise WatermarkKeyError(
                f"the environment variable {name} is not set; expected the watermark's key in it: hexadecimal digits, "
                "as `constrained watermark keygen` prints them"
            )
        return cls.from_text(text, where=f"the environment variable {name}")

    @property
    def text(self) -> str:
        """What a key file holds."""
        return self.secret.hex() if self.number is None else str(self.number)

    @property
    def key_id(self) -> str:
        """8 hexadecimal digits that name the key and do not give it away."""
        return hashlib.blake2b(self.secret, digest_size=4, person=b"wm-key-id").hexdigest()

    def require_secret(self) -> bytes:
        """The secret, for schemes of our own. Raises :class:`~constrained.errors.WatermarkKeyError` for a number."""
        if self.number is not None:
            raise WatermarkKeyError(
                "the watermark's key is a number, which only lefthash takes (transformers' hashing_key); expected "
                f"{_LEAST_DIGITS} to {_MOST_DIGITS} hexadecimal digits"
            )
        return self.secret

    def require_number(self) -> int:
        """transformers' ``hashing_key``. Raises :class:`~constrained.errors.WatermarkKeyError` for another key."""
        if self.number is None:
            raise WatermarkKeyError(
                "lefthash: expected a key that is a whole number (transformers' hashing_key), got hexadecimal digits"
            )
        return self.number
