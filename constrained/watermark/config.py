"""How output is marked: everything but the key itself, which is named and never written here.

>>> config = WatermarkConfig(key_file="key.txt")
>>> WatermarkConfig.model_validate_json(config.model_dump_json()) == config
True
>>> config.scheme, config.context_width, config.num_nonces
('gumbel', 4, 16)
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from .key import WatermarkKey

__all__ = ["Scheme", "WatermarkConfig"]

Scheme = Literal["gumbel", "kgw", "synthid", "lefthash"]
"""``gumbel``: the draw's own noise is a function of the key (no distortion). ``kgw``: a green list is favoured.
``synthid``: a tournament between tokens (no distortion). ``lefthash``: the green list that transformers makes on a CPU
from the token before."""

_VERSION = 1
_MOST_LAYERS = 32  # one bit each of a 32-bit word
_GUMBEL_NONCES = 16


class WatermarkConfig(BaseModel):
    """Scheme, strength, and where the key is; frozen, JSON in and out, unknown fields refused.

    >>> WatermarkConfig(key_file="key.txt", context_width=0)
    Traceback (most recent call last):
    ...
    pydantic_core._pydantic_core.ValidationError: 1 validation error for WatermarkConfig
      expected 1 <= context_width <= 16, got 0: without a context the marks of a text repeat [type=context_width, ...
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    scheme: Scheme = "gumbel"
    """How tokens are marked."""
    key_file: str | None = None
    """A file with the key, as ``constrained watermark keygen`` writes it."""
    key_env: str | None = None
    """Or the name of an environment variable that holds the key."""
    gamma: float = 0.25
    """``kgw`` and ``lefthash``: the share of tokens that is green."""
    delta: float = 2.0
    """``kgw`` and ``lefthash``: what is added to a green token's logit, in nats."""
    layers: int = 30
    """``synthid``: rounds of the tournament."""
    context_width: int = 4
    """How many free tokens before a token decide its marks. ``lefthash`` has 1: the token before."""
    nonces: int | None = None
    """How many variants of the marks there are. The same prompt and key would give one text under ``gumbel``, whatever
    the seed; seed and stream choose the variant. A detector tries all. ``None``: 16 for ``gumbel``, else 1."""
    schema_digest: str = ""
    """Of the output type; filled in by the API. Part of every context, so that marks of one schema say nothing about
    texts of another."""

    @property
    def num_nonces(self) -> int:
        """The number of variants."""
        if self.nonces is not None:
            return self.nonces
        return _GUMBEL_NONCES if self.scheme == "gumbel" else 1

    @property
    def needs_temperature(self) -> bool:
        """Whether nothing is marked where the best token is always taken."""
        return self.scheme in ("gumbel", "synthid")

    def load_key(self) -> WatermarkKey:
        """The key. Raises :class:`~constrained.errors.WatermarkKeyError` where there is none."""
        if self.key_file is not None:
            return WatermarkKey.from_file(self.key_file)
        assert self.key_env is not None
        return WatermarkKey.from_environment(self.key_env)

    def fingerprint(self, key: WatermarkKey) -> str:
        """16 hexadecimal digits that generator and detector share if they mean the same marks.

        What only the generator needs (``delta``) and where the key lies are no part of it; the key's id is.
        """
        settings = {
            "version": _VERSION,
            "scheme": self.scheme,
            "gamma": self.gamma if self.scheme in ("kgw", "lefthash") else None,
            "layers": self.layers if self.scheme == "synthid" else None,
            "context_width": self.context_width,
            "nonces": self.num_nonces,
            "schema_digest": self.schema_digest,
            "key_id": key.key_id,
        }
        return hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=8).hexdigest()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.key_file is None) == (self.key_env is None):
            raise _fault("key", "expected one of key_file and key_env: a watermark's key is never a default")
        checks = (
            ("key_file", self.key_file is None or bool(self.key_file.strip()), "the name of a file"),
            ("key_env", self.key_env is None or bool(self.key_env.strip()), "the name of an environment variable"),
            ("gamma", 0.0 < self.gamma < 1.0, "0 < gamma < 1"),
            ("delta", 0.0 < self.delta <= 50.0, "0 < delta <= 50"),
            ("layers", 1 <= self.layers <= _MOST_LAYERS, f"1 <= layers <= {_MOST_LAYERS}"),
            ("nonces", 1 <= self.num_nonces <= 1024, "1 <= nonces <= 1024"),
        )
        for field, holds, expected in checks:
            if not holds:
                raise _fault(field, f"expected {expected}, got {getattr(self, field)!r}")
        self._check_width()
        return self

    def _check_width(self) -> None:
        width = self.context_width
        if not 1 <= width <= 16:
            why = ": without a context the marks of a text repeat" if width == 0 else ""
            raise _fault("context_width", f"expected 1 <= context_width <= 16, got {width}{why}")
        if self.scheme == "lefthash" and (width != 1 or self.num_nonces != 1):
            raise _fault("context_width", "lefthash is transformers' own: expected context_width=1 and no nonces")


def _fault(kind: str, message: str) -> PydanticCustomError:
    return PydanticCustomError(kind, "{message}", {"message": message})
